#!/usr/bin/env python3
"""Trains side by side with PyTorch: the same initial weights and batches, then prints the largest
relative difference of the losses.

    compare_curve.py --export build/release/bin/export_curve [--preset nano] [--steps 50] [--muon]

Runs on the processor; tests/gpu does the same on a card. Needs torch, for --muon 2.9 or newer.
"""
import argparse
import subprocess
import tempfile

import torch

from peer_curve import load_run, peer_losses

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
parser.add_argument("--export", required=True)
parser.add_argument("--preset", default="nano")
parser.add_argument("--steps", type=int, default=50)
parser.add_argument("--muon", action="store_true", help="torch.optim.Muon for the layers' matrices")
options = parser.parse_args()

with tempfile.TemporaryDirectory() as folder:
    subprocess.run([options.export, "--preset", options.preset, "--steps", str(options.steps),
                    "--device", "cpu", *(["--muon"] if options.muon else []), folder], check=True)
    curve, weights = load_run(folder)

steps = curve["steps"]
worst = max(abs(peer / ours["loss"] - 1) for peer, ours in zip(peer_losses(curve, weights), steps))
print(f"PyTorch {torch.__version__}: {len(steps)} steps of {options.preset}{' by Muon' * options.muon}, "
      f"loss {steps[0]['loss']:.4f} to {steps[-1]['loss']:.4f}, "
      f"largest relative difference {worst:.2e}")
