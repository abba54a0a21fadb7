#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Training steps on a card beside PyTorch's: the same initial weights, batches and learning rates.

    card_curve.py --export bin/export_curve [--preset nano] [--steps 100] [--json FILE]

Ours: BF16 with an FP32 master. PyTorch: BF16 autocast over FP32 parameters. Each step's loss may differ by
what tests/engine/backend/cuda/test_cuda_training.cpp derives from the roundings to BF16; PyTorch with a rate a
quarter too high has to be told from ours by it. Without PyTorch the losses have to fall, and that is all.
"""
import argparse
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile


def tolerance(curve, first, now):
    """See the comment on tolerance() there: the same formula."""
    unit, roundings_a_layer = 2.0**-9, 11
    model, train = curve["spec"]["model"], curve["spec"]["train"]
    share = unit * math.sqrt(2 * roundings_a_layer * model["layers"])
    logits = math.sqrt(max(0.0, 2 * (first - math.log(model["vocabulary"]))))
    tokens = train["micro_batch"] * train["gradient_accumulation"] * model["context"]
    return 4 * share * (math.sqrt(2) * max(logits, 1.0) / math.sqrt(tokens) + abs(first - now))


def worst_share(curve, ours, peer):
    """The largest difference as a share of what is allowed, and its step."""
    shares = [abs(a - b) / tolerance(curve, peer[0], b) for a, b in zip(ours, peer)]
    worst = max(shares)
    return worst, shares.index(worst) + 1


def print_losses(ours, peers):
    names = list(peers)
    print("step        ours" + "".join(f"{name:>16}" for name in names))
    for step in range(len(ours)):
        if step < 5 or (step + 1) % 10 == 0 or step + 1 == len(ours):
            print(f"{step + 1:4}{ours[step]:12.5f}" + "".join(f"{peers[name][step]:16.5f}" for name in names))


def compare(curve, weights, ours, device):
    from peer_curve import peer_losses

    peers = {"PyTorch BF16": peer_losses(curve, weights, device, bf16=True),
             "PyTorch FP32": peer_losses(curve, weights, device),
             "rate x 1.25": peer_losses(curve, weights, device, bf16=True, rate_factor=1.25)}
    print_losses(ours, peers)
    shares = {name: worst_share(curve, ours, peer) for name, peer in peers.items()}
    for name, (share, step) in shares.items():
        print(f"{name}: at most {share:.3f} of the tolerance, at step {step}")
    # FP32 for what BF16 itself costs: weights that are not rounded are not among what is allowed.
    passed = shares["PyTorch BF16"][0] <= 1
    if not passed:
        print("FAILED: further from PyTorch than roundings take it")
    if shares["rate x 1.25"][0] <= 1:
        print("the comparison would not notice a rate that is a quarter too high: too few steps")
    return passed, {"losses": peers,
                    "worst_share": {name: share for name, (share, _) in shares.items()}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--export", required=True)
    parser.add_argument("--preset", default="nano")
    parser.add_argument("--models", help="a file of models of which --preset is one")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--libraries", default="", help="folders of libraries for export_curve alone")
    parser.add_argument("--json")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        command = [options.export, "--preset", options.preset, "--steps", str(options.steps), "--learnable",
                   "--device", options.device, folder]
        if options.models:
            command += ["--models", options.models]
        environment = dict(os.environ)
        if options.libraries:
            environment["LD_LIBRARY_PATH"] = options.libraries
        if subprocess.run(command, env=environment).returncode != 0:
            print("FAILED: our own steps did not run")
            return 1
        curve = json.loads((pathlib.Path(folder) / "curve.json").read_text())
        ours = [step["loss"] for step in curve["steps"]]
        results = {"device": curve["device"], "preset": options.preset, "ours": ours}
        try:
            import torch

            from peer_curve import load_run

            weights = load_run(folder)[1]
        except ImportError as problem:
            torch, weights = None, None
            print(f"not compared with PyTorch: {problem}")
    # Few steps are all warm-up.
    passed = all(math.isfinite(loss) for loss in ours) and (len(ours) < 20 or ours[-1] < ours[0])
    print(f"{curve['device']}: {len(ours)} steps of {options.preset}, loss {ours[0]:.4f} to {ours[-1]:.4f}")
    if not passed:
        print("FAILED: the loss did not fall")
    if torch is not None:
        same, compared = compare(curve, weights, ours, "cuda" if torch.cuda.is_available() else "cpu")
        passed = passed and same
        results |= {"torch": torch.__version__, **compared}
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(results, indent=1))
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
