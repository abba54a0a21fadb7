#!/usr/bin/env python3
"""Writes engine/data/unicode_ranges.cpp from the Unicode Character Database.

Needs the package unicodedata2 of the database's version, which is what the patterns of `tokenizers` and `tiktoken` use,
and `tokenizers` for what its normalizers, of an older version, leave alone:
  pip install unicodedata2==16.0.0 tokenizers==0.23.3 && scripts/make_unicode_classes.py
"""
import itertools
import pathlib

import unicodedata2
from tokenizers import normalizers

# As in engine/data/unicode_classes.cpp.
CATEGORIES = ("Cn Cc Cf Co Cs Ll Lm Lo Lt Lu Mc Me Mn Nd Nl No Pc Pd Pe Pf Pi Po Ps Sc Sk Sm So Zl Zp Zs").split()
SETTLED = 32

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
    settled = settled_characters()
    print(f"{len(settled)} characters are not normalized")
    values = [CATEGORIES.index(unicodedata2.category(chr(code))) + (SETTLED if code in settled else 0)
              for code in range(0x110000)]
    ranges = [f"{{{len(list(group))},{value}}}," for value, group in itertools.groupby(values)]
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
