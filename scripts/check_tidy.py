#!/usr/bin/env python3
"""Runs clang-tidy over every source file of the build in build/tidy, both cores at work.
With arguments, over those in these folders alone: check_tidy.py engine gui

A file that passed is not checked again until it, a header of the project that it includes, the checks
or clang-tidy itself change; what passed is remembered in $XDG_CACHE_HOME/athanor-tidy.
"""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "tidy"
MOC = BUILD / "moc"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "athanor-tidy"
INCLUDE = re.compile(rb'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def project_files(source, seen):
    """`source` and the project's headers it includes, however deep."""
    if source in seen or not source.is_file():
        return
    seen.add(source)
    for name in INCLUDE.findall(source.read_bytes()):
        for folder in (ROOT, source.parent):
            project_files((folder / name.decode()).resolve(), seen)


def fingerprint(source, common):
    files = set()
    project_files(source, files)
    # Checks of a folder's own, below the root's.
    nested = (folder / ".clang-tidy" for folder in source.parents if folder.is_relative_to(ROOT))
    files.update(file for file in nested if file.is_file() and file.parent != ROOT)
    digest = hashlib.sha256(common)
    for file in sorted(files):
        digest.update(str(file.relative_to(ROOT)).encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


def check(source, common):
    mark = CACHE / fingerprint(source, common)
    if mark.exists():
        return ""
    result = subprocess.run(
        ["clang-tidy", "-p", str(BUILD), "--quiet", f"--extra-arg=-I{MOC}", str(source)],
        capture_output=True, text=True)
    if result.returncode != 0:
        return result.stdout + result.stderr
    mark.touch()
    return ""


def write_moc_files(sources):
    """A source that ends by including its own moc output cannot be read without it."""
    settings = next(BUILD.rglob("AutogenInfo.json"))
    moc = json.loads(settings.read_text())["QT_MOC_EXECUTABLE"]
    MOC.mkdir(exist_ok=True)
    for source in sources:
        if f'#include "{source.stem}.moc"' in source.read_text():
            subprocess.run([moc, str(source), "-o", str(MOC / f"{source.stem}.moc")], check=True)


def main():
    subprocess.run(["cmake", "--preset", "tidy", "--log-level=NOTICE"], cwd=ROOT, check=True,
                   stdout=subprocess.DEVNULL)
    database = json.loads((BUILD / "compile_commands.json").read_text())
    sources = sorted({pathlib.Path(entry["file"]).resolve() for entry in database})
    sources = [source for source in sources
               if source.is_relative_to(ROOT) and not source.is_relative_to(BUILD)
               and source.suffix not in (".S", ".cu")]
    folders = [ROOT / folder for folder in sys.argv[1:]] or [ROOT]
    sources = [source for source in sources if any(source.is_relative_to(folder) for folder in folders)]
    write_moc_files(sources)

    CACHE.mkdir(parents=True, exist_ok=True)
    version = subprocess.run(["clang-tidy", "--version"], check=True, capture_output=True).stdout
    common = version + (ROOT / ".clang-tidy").read_bytes()
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for problem in pool.map(lambda source: check(source, common), sources):
            if problem:
                failed += 1
                print(problem, flush=True)
    print(f"clang-tidy: {len(sources) - failed} of {len(sources)} files pass")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
