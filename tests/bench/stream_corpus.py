#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Streams a large file of records through reading and tokenizing, and tells speed and memory.

Usage: tests/bench/stream_corpus.py [--gigabytes 10] [--folder /tmp] [--packed gz|zst|none] [--duplicates KIND]
Writes the file first (deleted afterwards), then prepares it for a run of one step with a tokenizer trained on it, as
"athanorctl train" does. Watched is the peak of the anonymous and of the whole resident memory while it prepares.
"""
import argparse
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def words(generator):
    letters = "etaoinshrdlucmfwypvbgkjqxz"
    return ["".join(generator.choices(letters, weights=range(26, 0, -1), k=generator.randint(2, 9)))
            for _ in range(20000)]


def write_records(path, size):
    """Records of some kilobytes; blocks of words come again, their order and the numbers between do not."""
    generator = random.Random(7)
    vocabulary = words(generator)
    blocks = [" ".join(generator.choices(vocabulary, k=60)) + ".\n" for _ in range(4096)]
    written = count = 0
    with open(path, "w", encoding="utf-8", buffering=1 << 22) as file:
        while written < size:
            text = "".join(f"{generator.getrandbits(24)} {block}" for block in generator.choices(blocks, k=8))
            line = json.dumps({"id": count, "title": f"Document {count}", "text": text}) + "\n"
            file.write(line)
            written += len(line)
            count += 1
    return count


def memory_of(process):
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    fields = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    return [int(fields[name].split()[0]) / 1024 for name in ("RssAnon", "VmRSS")]


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--gigabytes", type=float, default=10)
    options.add_argument("--folder", default=tempfile.gettempdir())
    options.add_argument("--packed", choices=["none", "gz", "zst"], default="none")
    options.add_argument("--duplicates", default="keep")
    options = options.parse_args()
    place = pathlib.Path(tempfile.mkdtemp(prefix="athanor-stream-", dir=options.folder))
    try:
        data = place / "records.jsonl"
        count = write_records(data, int(options.gigabytes * 1e9))
        print(f"{data.stat().st_size / 1e9:.2f} GB in {count} records", flush=True)
        if options.packed != "none":
            subprocess.run([{"gz": "gzip", "zst": "zstd"}[options.packed], "-q", "-1", str(data)], check=True)
            data.unlink(missing_ok=True)
            data = next(place.glob("records.jsonl.*"))
        command = [ROOT / "build/release/bin/athanorctl", "train", "--preset", "spark", "--data", data, "--home",
                   place / "home", "--steps", "1", "--duplicates", options.duplicates, "--json"]
        peaks = [0, 0]
        start = time.monotonic()
        with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True) as process:
            preparing = True

            def watch():
                while preparing and process.poll() is None:
                    try:
                        peaks[:] = map(max, peaks, memory_of(process))
                    except (OSError, KeyError):
                        return
                    time.sleep(0.05)

            watcher = threading.Thread(target=watch)
            watcher.start()
            last = {}
            began = {}
            for line in process.stdout:
                event = json.loads(line)
                if event["event"] == "corpus":
                    last = event
                    began.setdefault(event["stage"], time.monotonic() - start)
                if event["event"] == "started":
                    preparing = False
                    seconds = time.monotonic() - start
            watcher.join()
        if process.returncode != 0:
            sys.exit("athanorctl failed")
        print(f"prepared in {seconds:.0f} s ({options.gigabytes * 1000 / seconds:.1f} MB/s); stages began after "
              + ", ".join(f"{name} {after:.0f} s" for name, after in began.items()))
        print(f"peak while preparing: {peaks[0]:.0f} MiB anonymous, {peaks[1]:.0f} MiB resident")
        print({name: last[name] for name in ("documents", "tokens", "duplicates", "bad_records")})
    finally:
        shutil.rmtree(place)


if __name__ == "__main__":
    main()
