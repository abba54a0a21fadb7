# SPDX-License-Identifier: GPL-3.0-or-later
"""A run that export_curve wrote, trained once more with PyTorch: the same initial weights, batches and rates."""
import contextlib
import json
import math
import pathlib
import struct

import torch

from llama_torch import Llama

DTYPES = {"F32": torch.float32, "F64": torch.float64, "BF16": torch.bfloat16}


def load_weights(path):
    """A safetensors file (its format: 8 bytes of length, JSON, numbers), without that package."""
    data = pathlib.Path(path).read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    weights = {}
    for name, entry in json.loads(data[8:8 + length]).items():
        if name == "__metadata__":
            continue
        first, end = entry["data_offsets"]
        numbers = torch.frombuffer(bytearray(data[8 + length + first:8 + length + end]),
                                   dtype=DTYPES[entry["dtype"]])
        weights[name] = numbers.view(entry["shape"])
    return weights


def load_run(folder):
    """Its curve.json and initial weights."""
    folder = pathlib.Path(folder)
    return json.loads((folder / "curve.json").read_text()), load_weights(folder / "initial.safetensors")


def peer_losses(curve, weights, device="cpu", bf16=False, rate_factor=1.0):
    """The losses of all steps; with `bf16` under autocast, over FP32 parameters."""
    model, train = curve["spec"]["model"], curve["spec"]["train"]
    peer = Llama(model).to(device)
    targets = dict(peer.named_parameters())
    with torch.no_grad():
        for name, value in weights.items():
            bias = name.endswith("_bias")
            targets[name.removesuffix("_bias") + (".bias" if bias else ".weight")].copy_(value)
    optimizer = peer.optimizer(train)
    shape = (train["micro_batch"], model["context"])
    cast = torch.autocast(device, torch.bfloat16) if bf16 else contextlib.nullcontext()
    accumulated = train["gradient_accumulation"]
    losses = []
    for step, ours in enumerate(curve["steps"]):
        for group in optimizer.param_groups:
            group["lr"] = ours["learning_rate"] * rate_factor
        optimizer.zero_grad(set_to_none=True)
        sum_of_losses = 0.0
        for batch in curve["batches"][step * accumulated:(step + 1) * accumulated]:
            tokens, wanted = (torch.tensor(batch[name], device=device).view(shape) for name in ("tokens", "targets"))
            with cast:
                loss = peer(tokens, wanted) / accumulated
            loss.backward()
            sum_of_losses += loss.item()
        torch.nn.utils.clip_grad_norm_(peer.parameters(), train["clip_norm"] or math.inf)
        optimizer.step()
        losses.append(sum_of_losses)
    return losses
