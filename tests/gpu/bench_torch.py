#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What PyTorch does on the same card, in the shapes that our own programs have just measured.

    bench_torch.py operations --ours kernels.json --json FILE
    bench_torch.py steps --ours steps.json --mode eager|compile [--steps 5] --json FILE

Training: BF16 autocast over FP32 parameters, fused AdamW, SDPA attention, no recomputing. Exits with 77, saying
why, where PyTorch or its card is missing.
"""
import argparse
import json
import pathlib
import statistics
import sys
import time

NOT_RUN = 77

try:
    import torch
    import torch.nn.functional as F
except ImportError as missing:
    print(f"not run: PyTorch is not installed ({missing})")
    sys.exit(NOT_RUN)


class Timer:
    """Seconds of one of several calls in a row: the best of three rounds."""

    def __init__(self, device):
        self.device = device

    def wait(self):
        if self.device == "cuda":
            torch.cuda.synchronize()

    def once(self, work, times):
        self.wait()
        begin = time.perf_counter()
        for _ in range(times):
            work()
        self.wait()
        return (time.perf_counter() - begin) / times

    def best(self, work):
        self.once(work, 2)
        times = min(2000, max(1, int(0.05 / max(self.once(work, 2), 1e-7))))
        return min(self.once(work, times) for _ in range(3))


def measure_products(rows, timer):
    results = []
    for row in rows:
        if row["direction"] == "all":
            continue

        def numbers(*shape):
            return torch.randn(shape, device=timer.device, dtype=torch.bfloat16)

        x, weight, d_y = numbers(row["rows"], row["in"]), numbers(row["out"], row["in"]), numbers(
            row["rows"], row["out"])
        if row["direction"] == "forward":
            seconds = timer.best(lambda: torch.matmul(x, weight.t()))
        else:
            # In BF16, where our gradients of weights are summed up in FP32.
            seconds = timer.best(lambda: (torch.matmul(d_y, weight), torch.matmul(d_y.t(), x)))
        results.append({"name": row["name"], "direction": row["direction"], "seconds": seconds})
    return results


def measure_attention(rows, timer):
    results = []
    for row in rows:
        batch = row["tokens"] // row["sequence"]

        def heads(count):
            return torch.randn((batch, count, row["sequence"], row["head_dim"]), device=timer.device,
                               dtype=torch.bfloat16, requires_grad=True)

        query, key, value = heads(row["heads"]), heads(row["kv_heads"]), heads(row["kv_heads"])

        def forward():
            return F.scaled_dot_product_attention(query, key, value, is_causal=True,
                                                  enable_gqa=row["heads"] != row["kv_heads"])

        with torch.no_grad():
            forward_seconds = timer.best(forward)
        out = forward()
        d_out = torch.randn_like(out)
        backward_seconds = timer.best(
            lambda: torch.autograd.grad(out, (query, key, value), d_out, retain_graph=True))
        results.append({**{name: row[name] for name in ("sequence", "heads", "kv_heads", "head_dim")},
                        "forward_seconds": forward_seconds, "backward_seconds": backward_seconds})
    return results


def measure_operations(ours, timer):
    return {"products": measure_products(ours["products"], timer),
            "attention": measure_attention(ours["attention"], timer)}


def measure_steps(ours, device, mode, steps):
    from llama_torch import Llama

    model, train = ours["model"], ours["train"]
    torch.manual_seed(1)
    peer = Llama(model).to(device)
    optimizer = peer.optimizer(train, fused=device == "cuda")
    run = torch.compile(peer) if mode == "compile" else peer
    shape = (train["micro_batch"], model["context"])
    tokens, targets = (torch.randint(0, model["vocabulary"], shape, device=device) for _ in range(2))
    seconds = []
    for _ in range(steps + 2):
        begin = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        for _ in range(train["gradient_accumulation"]):
            with torch.autocast(device, torch.bfloat16):
                loss = run(tokens, targets)
            (loss / train["gradient_accumulation"]).backward()
            loss.item()
        torch.nn.utils.clip_grad_norm_(peer.parameters(), train["clip_norm"])
        optimizer.step()
        if device == "cuda":
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - begin)
    per_step = shape[0] * shape[1] * train["gradient_accumulation"]
    results = {"title": ours["title"], "mode": mode, "first_step_seconds": seconds[0],
               "step_seconds": seconds[2:], "tokens_per_second": per_step / statistics.median(seconds[2:])}
    if device == "cuda":
        results["peak_bytes"] = torch.cuda.max_memory_reserved()
    print(f"PyTorch {mode}, {ours['title']}: {results['tokens_per_second']:,.0f} tokens/s, "
          f"{results.get('peak_bytes', 0) / 2**30:.2f} GiB reserved; first step {seconds[0]:.1f} s", flush=True)
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=["operations", "steps"])
    parser.add_argument("--ours", required=True)
    parser.add_argument("--mode", choices=["eager", "compile"], default="eager")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--json", required=True)
    parser.add_argument("--on-processor", action="store_true", help="where there is no card: times of no meaning")
    options = parser.parse_args()
    if not torch.cuda.is_available() and not options.on_processor:
        print(f"not run: PyTorch {torch.__version__} finds no card")
        return NOT_RUN
    device = "cpu" if options.on_processor else "cuda"
    ours = json.loads(pathlib.Path(options.ours).read_text())
    try:
        results = (measure_operations(ours, Timer(device)) if options.what == "operations" else
                   measure_steps(ours, device, options.mode, options.steps))
    except torch.cuda.OutOfMemoryError:
        print(f"PyTorch {options.mode}, {ours.get('title', '')}: out of memory")
        results = {"title": ours.get("title", ""), "mode": options.mode, "problem": "out of memory"}
    except Exception as problem:  # Of compilers, most often: no failure of ours.
        print(f"not run: PyTorch {options.mode} failed: {str(problem).strip().splitlines()[:1]}")
        return NOT_RUN
    results["torch"] = torch.__version__
    pathlib.Path(options.json).write_text(json.dumps(results, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
