#!/usr/bin/env python3
"""Speed of Athanor's tokenizer beside `tiktoken` and `tokenizers`, interleaved, and of training one.

Run by the Python of tests/golden/compare_tokenizers.py's environment, after that script:
  <work>/venv/bin/python tests/bench/tokenizer_speed.py [--gpt2 FOLDER] [--train-megabytes 100] TEXT...

Encoding is on one thread each and counted in processor seconds, so that a busy machine does not decide; training is on
all threads and counted in both.
"""
import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import time

os.environ.setdefault("RAYON_NUM_THREADS", "1")
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/golden"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))


def split_documents(data, size=100_000):
    """Documents of about `size` bytes that end at a line's end."""
    documents = []
    while data:
        cut = data.find(b"\n", size)
        cut = len(data) if cut < 0 else cut + 1
        documents.append(data[:cut])
        data = data[cut:]
    return documents


def our_seconds(tokenizer, file, options):
    program = [str(ROOT / "build/release/bin/token_ids"), str(tokenizer), str(file), *options]
    return json.loads(subprocess.run(program, check=True, capture_output=True, text=True).stdout)["cpu_seconds"]


def peer_seconds(encode, texts):
    started = time.process_time()
    for text in texts:
        encode(text)
    return time.process_time() - started


def encoding(name, tokenizer, options, peers, documents, work, rounds):
    from compare_tokenizers import write_documents
    file = work / "bench.documents"
    write_documents(file, documents)
    texts = [document.decode() for document in documents]
    megabytes = sum(map(len, documents)) / 1e6
    times = {key: [] for key in ["athanor", *peers]}
    for _ in range(rounds):
        times["athanor"].append(our_seconds(tokenizer, file, options))
        for peer, encode in peers.items():
            times[peer].append(peer_seconds(encode, texts))
    ours = statistics.median(times["athanor"])
    print(f"{name}: Athanor {megabytes / ours:.1f} MB/s", end="")
    for peer in peers:
        theirs = statistics.median(times[peer])
        ratios = [b / a for a, b in zip(times["athanor"], times[peer])]
        print(f"; {peer} {megabytes / theirs:.2f} MB/s, {theirs / ours:.1f}x ({min(ratios):.1f} to {max(ratios):.1f})",
              end="")
    print(flush=True)


def child_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


PEER_TRAINING = """
import sys
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
tokenizer = Tokenizer(models.BPE())
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
trainer = trainers.BpeTrainer(vocab_size=16384, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                              special_tokens=["<|endoftext|>"], show_progress=False)
tokenizer.train([sys.argv[1]], trainer)
"""


def training(data, megabytes, work, rounds):
    file = work / "training.txt"
    text = data
    while len(text) < megabytes * 1_000_000:
        text += data
    file.write_bytes(text[:int(megabytes * 1e6)].decode(errors="ignore").encode())
    environment = {key: value for key, value in os.environ.items() if key != "RAYON_NUM_THREADS"}
    programs = {
        "Athanor": [str(ROOT / "build/release/bin/athanorctl"), "tokenizer", "train", "--data", str(file), "--out",
                    str(work / "trained"), "--vocabulary", "16384", "--sample", "1000"],
        "tokenizers": [sys.executable, "-c", PEER_TRAINING, str(file)]}
    for _ in range(rounds):
        for name, program in programs.items():
            started, before = time.perf_counter(), child_seconds()
            subprocess.run(program, check=True, env=environment, stdout=subprocess.DEVNULL)
            print(f"training 16,384 tokens on {megabytes:g} MB: {name} {time.perf_counter() - started:.1f} s, "
                  f"{child_seconds() - before:.1f} processor seconds", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", nargs="+", type=pathlib.Path)
    parser.add_argument("--gpt2", type=pathlib.Path)
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("/tmp/athanor-tokenizers"))
    parser.add_argument("--megabytes", type=float, default=10)
    parser.add_argument("--train-megabytes", type=float, default=0)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    import peer_tokenizers as peers
    data = b"".join(text.read_bytes() for text in options.texts)
    if options.train_megabytes > 0:
        training(data, options.train_megabytes, options.work, 2)
    documents = split_documents(data[:int(options.megabytes * 1e6)].decode(errors="ignore").encode())
    for peer in peers.peer_tokenizers(options.work, options.gpt2, []):
        if peer.name == "gpt2":
            gpt2 = peer
        elif peer.name == "gpt2-hf":
            encoding("gpt2", peer.file, (), {"tiktoken": gpt2.encode, "tokenizers": peer.encode}, documents, options.work,
                     options.rounds)
        elif peer.name in ("cl100k", "qwen2"):
            encoding(peer.name, peer.file, peer.options, {"tiktoken": peer.encode}, documents, options.work, options.rounds)
        elif peer.name in ("qwen2-hf", "smollm2"):
            encoding(peer.name, peer.file, (), {"tokenizers": peer.encode}, documents, options.work, options.rounds)
        if peer.name == "smollm2":
            break


if __name__ == "__main__":
    main()
