#!/usr/bin/env python3
"""Trains side by side with PyTorch: the same initial weights and batches, then prints the largest
relative difference of the losses.

    compare_curve.py --export build/release/bin/export_curve [--preset nano] [--steps 50]

Needs torch, numpy and safetensors.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile

import torch
from safetensors.torch import load_file

from llama_torch import Llama

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
parser.add_argument("--export", required=True)
parser.add_argument("--preset", default="nano")
parser.add_argument("--steps", type=int, default=50)
options = parser.parse_args()

with tempfile.TemporaryDirectory() as folder:
    subprocess.run([options.export, "--preset", options.preset, "--steps", str(options.steps), folder],
                   check=True)
    curve = json.loads((pathlib.Path(folder) / "curve.json").read_text())
    weights = load_file(pathlib.Path(folder) / "initial.safetensors")

model, train = curve["spec"]["model"], curve["spec"]["train"]
peer = Llama(model)
targets = dict(peer.named_parameters())
with torch.no_grad():
    for name, value in weights.items():
        bias = name.endswith("_bias")
        target = targets[name.removesuffix("_bias") + (".bias" if bias else ".weight")]
        target.copy_(value)
optimizer = peer.optimizer(train)
worst = 0.0
for batch, ours in zip(curve["batches"], curve["steps"]):
    for group in optimizer.param_groups:
        group["lr"] = ours["learning_rate"]
    shape = (train["micro_batch"], model["context"])
    loss = peer(torch.tensor(batch["tokens"]).view(shape), torch.tensor(batch["targets"]).view(shape))
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(peer.parameters(), train["clip_norm"])
    optimizer.step()
    worst = max(worst, abs(loss.item() / ours["loss"] - 1))
print(f"PyTorch {torch.__version__}: {len(curve['steps'])} steps of {options.preset}, "
      f"loss {curve['steps'][0]['loss']:.4f} to {curve['steps'][-1]['loss']:.4f}, "
      f"largest relative difference {worst:.2e}")
