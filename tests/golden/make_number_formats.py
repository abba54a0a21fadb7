#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Random blocks of every format in which GGUF files store numbers, with what the `gguf` package (pip
install gguf) makes of them, as number_formats.json beside this script. --check BLOCKS compares that many
blocks of each format with the program's own reader instead: stdin of `test_number_format --widen FORMAT`.
"""
import argparse
import json
import os
import pathlib
import subprocess

import numpy
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType
from gguf.quants import dequantize

FORMATS = ["F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K"]
# Where a block's F16 scales lie.
SCALES = {"F16": [0], "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q2_K": [80, 82],
          "Q3_K": [108], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208]}
FIXED = 20240607


def random_blocks(name, count, generator):
    kind = GGMLQuantizationType[name]
    block_elements, block_bytes = GGML_QUANT_SIZES[kind]
    if name in ("F32", "BF16"):
        values = generator.standard_normal(count * 32, dtype=numpy.float32)
        values = values.view(numpy.uint32)
        halves = (values >> 16).astype(numpy.uint16)
        return values.tobytes() if name == "F32" else halves.tobytes()
    blocks = generator.integers(0, 256, (count, block_bytes), dtype=numpy.uint8)
    for place in SCALES[name]:
        scale = (generator.standard_normal(count) * 0.01).astype(numpy.float16)
        blocks[:, place:place + 2] = scale.view(numpy.uint8).reshape(count, 2)
    return blocks.tobytes()


def numbers_of(name, blocks):
    if name == "F32":
        return numpy.frombuffer(blocks, numpy.float32)
    rows = numpy.frombuffer(blocks, numpy.uint8)
    if name == "F16":
        return rows.view(numpy.float16).astype(numpy.float32)
    return numpy.asarray(dequantize(rows, GGMLQuantizationType[name]), dtype=numpy.float32)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", type=int, metavar="BLOCKS")
    parser.add_argument("--program", default="build/release/tests/test_number_format")
    options = parser.parse_args()
    generator = numpy.random.default_rng(FIXED)
    if options.check:
        for name in FORMATS:
            blocks = random_blocks(name, options.check, generator)
            answer = subprocess.run([options.program, "--widen", name.lower()], input=blocks, check=True,
                                    capture_output=True, env={**os.environ, "QT_QPA_PLATFORM": "offscreen"}).stdout
            found = numpy.frombuffer(answer, numpy.uint32)
            wanted = numbers_of(name, blocks).view(numpy.uint32)
            same = len(found) == len(wanted) and bool((found == wanted).all())
            print(f"{name:5} {len(wanted):9} numbers {'the same bits' if same else 'DIFFER'}")
            if not same:
                raise SystemExit(1)
        return
    samples = []
    for name in FORMATS:
        blocks = random_blocks(name, 2, generator)
        samples.append({"format": name.lower(), "blocks": blocks.hex(), "numbers": numbers_of(name, blocks).tobytes().hex()})
    path = pathlib.Path(__file__).parent / "number_formats.json"
    path.write_text("[\n" + ",\n".join(json.dumps(sample) for sample in samples) + "\n]\n")


if __name__ == "__main__":
    main()
