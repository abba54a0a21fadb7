#!/usr/bin/env python3
"""Times training steps against PyTorch eager, interleaved A B A B in one run.

    compare_speed.py --bench build/release/bin/bench_training [--presets nano small] [--rounds 5]

PyTorch's threading settings are tried first and its best one is the peer. Each round starts both
programs anew, one after the other, and the ratio is taken within the round. Needs torch.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

SETTINGS = {
    "default": {},
    "passive wait": {"OMP_WAIT_POLICY": "PASSIVE"},
    "active wait": {"OMP_WAIT_POLICY": "ACTIVE"},
    "bound threads": {"OMP_PROC_BIND": "close", "OMP_PLACES": "cores"},
}
STEPS = {"nano": 30, "spark": 30, "small": 6, "tinygpt2": 2}


def peer_steps(spec, steps, threads):
    """Runs in a process of its own: prints the median tokens/s and the peak resident bytes."""
    import resource

    import torch

    from llama_torch import Llama

    torch.set_num_threads(threads)
    torch.manual_seed(1)
    model, train = spec["model"], spec["train"]
    peer = Llama(model)
    optimizer = peer.optimizer(train)
    shape = (train["micro_batch"], model["context"])
    rates = []
    for step in range(steps + 3):
        tokens = torch.randint(0, model["vocabulary"], shape)
        targets = torch.randint(0, model["vocabulary"], shape)
        start = time.perf_counter()
        loss = peer(tokens, targets)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(peer.parameters(), train["clip_norm"])
        optimizer.step()
        loss.item()
        rates.append(shape[0] * shape[1] / (time.perf_counter() - start))
    print(json.dumps({"tokens_per_second": statistics.median(rates[3:]),
                      "peak_resident_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
                      "version": torch.__version__}))


def run_peer(spec, steps, threads, setting):
    environment = {**os.environ, **SETTINGS[setting], "OMP_NUM_THREADS": str(threads)}
    output = subprocess.run(
        [sys.executable, __file__, "--peer", json.dumps(spec), "--steps", str(steps),
         "--threads", str(threads)],
        env=environment, check=True, capture_output=True, text=True).stdout
    return json.loads(output)


def run_ours(bench, preset, steps, threads):
    output = subprocess.run([bench, "--preset", preset, "--steps", str(steps), "--threads", str(threads)],
                            check=True, capture_output=True, text=True).stdout
    return json.loads(output)


def compare(options, preset):
    root = pathlib.Path(__file__).resolve().parent.parent.parent
    spec = json.loads((root / "resources" / "presets" / f"{preset}.json").read_text())["spec"]
    defaults = {"activation": "swiglu", "tied": True, "biases": False, "rope_base": 10000.0,
                "norm_epsilon": 1e-5}
    spec["model"] = {**defaults, **spec["model"]}
    spec["train"] = {"weight_decay": 0.1, "epsilon": 1e-8, "beta1": 0.9, "beta2": 0.95,
                     "clip_norm": 1.0, **spec["train"]}
    steps = STEPS.get(preset, 3)
    best = max(SETTINGS, key=lambda setting: run_peer(spec, steps, options.threads, setting)[
        "tokens_per_second"])
    ratios, ours, peer = [], None, None
    for _ in range(options.rounds):
        ours = run_ours(options.bench, preset, steps, options.threads)
        peer = run_peer(spec, steps, options.threads, best)
        ratios.append(ours["tokens_per_second"] / peer["tokens_per_second"])
        print(f"  {preset}: {ours['tokens_per_second']:,.0f} against {peer['tokens_per_second']:,.0f} "
              f"tokens/s, {ratios[-1]:.2f}x; {ours['gflops']:.0f} GFLOP/s, "
              f"{100 * ours['share_of_probe']:.0f} % of {ours['probe_gflops']:.0f}", flush=True)
    memory = ours["peak_resident_bytes"] / peer["peak_resident_bytes"]
    print(f"{preset}: {statistics.median(ratios):.2f}x PyTorch {peer['version']} eager "
          f"({min(ratios):.2f} to {max(ratios):.2f}; its best setting: {best}; "
          f"{options.threads} threads); peak memory {100 * memory:.0f} % of its "
          f"{peer['peak_resident_bytes'] / 2**20:,.0f} MiB", flush=True)


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
parser.add_argument("--bench")
parser.add_argument("--presets", nargs="+", default=["nano", "small"])
parser.add_argument("--rounds", type=int, default=5)
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--peer", help=argparse.SUPPRESS)
parser.add_argument("--steps", type=int, help=argparse.SUPPRESS)
arguments = parser.parse_args()
if arguments.peer:
    peer_steps(json.loads(arguments.peer), arguments.steps, arguments.threads)
else:
    for name in arguments.presets:
        compare(arguments, name)
