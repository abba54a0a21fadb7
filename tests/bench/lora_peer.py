#!/usr/bin/env python3
"""Steps of adapters that lora_steps wrote, taken once more by PEFT: the same model, first adapters, batches and
rates.

    lora_peer.py FOLDER     needs torch, transformers and peft

Prints each step's loss by both and their relative difference; fails where one is above 1e-3.
"""
import json
import pathlib
import sys

import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM

MOST = 1e-3


def main():
    folder = pathlib.Path(sys.argv[1])
    curve = json.loads((folder / "curve.json").read_text())
    train, context = curve["train"], curve["context"]
    model = AutoModelForCausalLM.from_pretrained(folder / "model", dtype=torch.float32)
    model = PeftModel.from_pretrained(model, folder / "adapter", is_trainable=True)
    model.train()
    trained = [p for p in model.parameters() if p.requires_grad]
    print(f"{sum(p.numel() for p in trained)} of {sum(p.numel() for p in model.parameters())} numbers are trained")
    optimizer = torch.optim.AdamW(
        trained,
        lr=train["learning_rate"],
        betas=(train["beta1"], train["beta2"]),
        eps=train["epsilon"],
        weight_decay=train["weight_decay"],
    )
    worst = 0
    for number, (batch, step) in enumerate(zip(curve["batches"], curve["steps"]), 1):
        tokens = torch.tensor(batch["tokens"]).view(-1, context)
        targets = torch.tensor(batch["targets"]).view(-1)
        for group in optimizer.param_groups:
            group["lr"] = step["learning_rate"]
        logits = model(input_ids=tokens).logits
        loss = torch.nn.functional.cross_entropy(logits.view(-1, logits.shape[-1]), targets, ignore_index=-1)
        optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(trained, train["clip_norm"] or float("inf"))
        optimizer.step()
        difference = abs(step["loss"] / loss.item() - 1)
        worst = max(worst, difference)
        print(
            f"{number:4} {step['loss']:.6f} {loss.item():.6f} {difference:.1e}"
            f"   norm {step['gradient_norm']:.5f} {norm.item():.5f}"
        )
    print(f"largest relative difference {worst:.1e}")
    return 1 if worst > MOST else 0


if __name__ == "__main__":
    sys.exit(main())
