#!/usr/bin/env python3
"""Checks what ptxas reported of the kernels when the plug-in was built: none may keep registers in memory.

Usage: scripts/check_kernels.py [--build FOLDER] [--table]
--table prints registers and shared memory of each kernel as docs/kernels.md has them.
"""
import argparse
import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ENTRY = re.compile(r"Compiling entry function '([^']+)' for 'sm_(\d+)'")
MEMORY = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers")
SHARED = re.compile(r"(\d+) bytes smem")

Kernel = collections.namedtuple("Kernel", "file stack spills registers shared")


def read_report(path):
    """{(mangled name, architecture): Kernel}"""
    kernels = {}
    key = None
    memory = (0, 0)
    for line in path.read_text().splitlines():
        if match := ENTRY.search(line):
            key = (match[1], int(match[2]))
        elif match := MEMORY.search(line):
            memory = (int(match[1]), int(match[2]) + int(match[3]))
        elif (match := USED.search(line)) and key:
            shared = SHARED.search(line)
            kernels[key] = Kernel(path.name.removesuffix(".o.ptxas"), *memory, int(match[1]),
                                  int(shared[1]) if shared else 0)
            key = None
    return kernels


def plain_names(mangled):
    """'add_norm_kernel<true>' of each."""
    output = subprocess.run(["c++filt"], input="\n".join(mangled), capture_output=True, text=True,
                            check=True).stdout.splitlines()
    names = {}
    for raw, name in zip(mangled, output):
        name = name.removeprefix("void ").replace("athanor::cuda::", "").replace("athanor::", "")
        name = name.replace("(anonymous namespace)::", "")
        names[raw] = re.sub(r"\((?!Activation|Keeping)[^<>]*\)$", "", name)
    return names


def print_table(kernels, names):
    """One row for all kinds of a kernel: the most of each."""
    architectures = sorted({architecture for _, architecture in kernels})
    rows = collections.defaultdict(list)
    for raw, name in names.items():
        rows[kernels[raw, architectures[0]].file, name.split("<")[0]].append(raw)
    print("| File | Kernel | Kinds | " + " | ".join(f"sm_{a}" for a in architectures) + " | Static shared |")
    print("| --- | --- | ---: |" + " ---: |" * (len(architectures) + 1))
    for (file, name), kinds in sorted(rows.items()):
        most = [max(kernels[raw, a].registers for raw in kinds) for a in architectures]
        shared = max(kernels[raw, a].shared for raw in kinds for a in architectures)
        print(f"| {file} | `{name}` | {len(kinds)} | {' | '.join(map(str, most))} | {shared} B |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    kernels = {}
    for report in sorted(options.build.rglob("*.cu.o.ptxas")):
        kernels.update(read_report(report))
    if not kernels:
        print("No kernels were compiled for cards here: there is no nvcc, or the plug-in was not built.")
        return 0
    names = plain_names(sorted({raw for raw, _ in kernels}))
    if options.table:
        print_table(kernels, names)
        return 0
    failed = 0
    for (raw, architecture), kernel in sorted(kernels.items()):
        if kernel.stack or kernel.spills:
            failed += 1
            print(f"{kernel.file}: {names[raw]} on sm_{architecture} keeps {kernel.stack} bytes in memory, "
                  f"{kernel.spills} of them moved from registers and back")
    architectures = sorted({architecture for _, architecture in kernels})
    print(f"Kernels: {len(names)} for {', '.join(f'sm_{a}' for a in architectures)}; "
          f"{failed} keep registers in memory")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
