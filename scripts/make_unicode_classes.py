#!/usr/bin/env python3
"""Writes engine/data/unicode_ranges.cpp from the Unicode Character Database.

Needs the package unicodedata2 of the database's version, which is what the patterns of `tokenizers` and `tiktoken` use,
and `tokenizers` for what its normalizers, of an older version, leave alone:
  pip install unicodedata2==16.0.0 tokenizers==0.23.3 && scripts/make_unicode_classes.py
"""
import pathlib

import unicodedata2
from tokenizers import normalizers

# As in engine/data/unicode_classes.h.
LETTER, NUMBER, SPACE, MARK, UPPER, LOWER, SETTLED = 1, 2, 4, 8, 16, 32, 64
SPACES = {*range(0x9, 0xE), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000}
CLASSES = {"Lu": LETTER | UPPER, "Lt": LETTER | UPPER, "Ll": LETTER | LOWER, "Lm": LETTER | UPPER | LOWER,
           "Lo": LETTER | UPPER | LOWER, "Mn": MARK, "Mc": MARK, "Me": MARK, "Nd": NUMBER, "Nl": NUMBER, "No": NUMBER}

HEADER = """// SPDX-License-Identifier: GPL-3.0-or-later
// Written by scripts/make_unicode_classes.py from Unicode %s.
#include "engine/data/unicode_classes.h"

namespace athanor {

// clang-format off
const std::array<UnicodeRange, kUnicodeRanges> kUnicode_ranges = {{
"""


def settled_characters():
    """Those whose normalization or combining class `tokenizers` does not know."""
    found = set()
    decomposed = normalizers.NFKD().normalize_str
    reordered = normalizers.NFD().normalize_str
    for code in (*range(0x80, 0xD800), *range(0xE000, 0x110000)):
        character = chr(code)
        if decomposed(character) != unicodedata2.normalize("NFKD", character):
            found.add(code)
            parts = unicodedata2.decomposition(character).split()
            if not parts[0].startswith("<"):
                found.update(int(part, 16) for part in parts if int(part, 16) > 0xFFFF)
        elif unicodedata2.combining(character):
            for mark in "\u0345\u0301\u0316\u0334\u093c\u094d":
                text = "a" + mark + character
                if reordered(text) != unicodedata2.normalize("NFD", text):
                    found.add(code)
    return found


def main():
    ranges, last = [], None
    settled = settled_characters()
    print(f"{len(settled)} characters are not normalized")
    for code in range(0x110000):
        value = SPACE if code in SPACES else CLASSES.get(unicodedata2.category(chr(code)), 0)
        value |= SETTLED if code in settled else 0
        if value != last:
            ranges.append(f"{{{code:#x},{value}}},")
            last = value
    lines, line = [], ""
    for entry in ranges:
        if len(line) + len(entry) > 119:
            lines.append(line)
            line = ""
        line += entry
    lines.append(line)
    text = HEADER % unicodedata2.unidata_version + "\n".join(lines) + "\n}};\n// clang-format on\n\n}  // namespace athanor\n"
    root = pathlib.Path(__file__).resolve().parent.parent
    (root / "engine/data/unicode_ranges.cpp").write_text(text)
    print(f"{len(ranges)} ranges: kUnicodeRanges in engine/data/unicode_classes.h must be that number")


if __name__ == "__main__":
    main()
