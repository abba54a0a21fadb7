#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Puts what the programs of run.sh found into one table and one JSON file.

    report.py FOLDER [--json FILE]

FOLDER has the programs' JSON files and steps.tsv: name, outcome, seconds of each step.
"""
import argparse
import json
import pathlib

GIB = 2**30


def read(path):
    return json.loads(path.read_text()) if path.is_file() else None


def gather(folder):
    steps = []
    for line in (folder / "steps.tsv").read_text().splitlines():
        name, outcome, seconds = line.split("\t")
        steps.append({"step": name, "outcome": outcome, "seconds": int(seconds)})
    models = []
    for path in sorted(folder.glob("steps-*.json")):
        model = path.stem.removeprefix("steps-")
        models.append({"id": model, "ours": read(path),
                       "torch": {mode: read(folder / f"torch-{model}-{mode}.json") for mode in ("eager", "compile")}})
    return {"steps": steps, "operations": read(folder / "operations.json"), "curve": read(folder / "curve.json"),
            "kernels": read(folder / "kernels.json"), "torch_operations": read(folder / "torch-operations.json"),
            "models": models}


def ratio(part, whole):
    return f"{part / whole:.2f}" if part and whole else "-"


def table(heads, rows):
    """Columns as wide as needed; all but the first to the right."""
    if not rows:
        return
    cells = [heads, *[[str(cell) for cell in row] for row in rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(heads))]
    print()
    for row in cells:
        print(row[0].ljust(widths[0]) + "".join("  " + cell.rjust(width)
                                                for cell, width in zip(row[1:], widths[1:])))


def same_row(rows, ours, fields):
    return next((row for row in rows or [] if all(row[field] == ours[field] for field in fields)), {})


def print_card(kernels):
    print(f"\n{kernels['device']}, {kernels['detail']}")
    print(f"measured: copy within its memory {kernels['copy_bytes_per_second'] / 1e9:,.0f} GB/s, "
          f"BF16 product {kernels['peak_flops_per_second'] / 1e12:,.1f} TFLOP/s")
    rated = kernels.get("rated")
    if rated:
        print(f"rated as {rated['card']}: {rated['bytes_per_second'] / 1e9:,.0f} GB/s, "
              f"{rated['flops_per_second'] / 1e12:,.1f} TFLOP/s")


def print_kernels(kernels, torch):
    torch = torch or {}
    copy = kernels["copy_bytes_per_second"]
    table(["kernel", "ms", "GB/s", "of copy"],
          [[row["name"], f"{row['seconds'] * 1e3:.3f}", f"{row['bytes_per_second'] / 1e9:,.0f}",
            ratio(row["bytes_per_second"], copy)] for row in kernels["kernels"]])
    rows = []
    for row in kernels["attention"]:
        peer = same_row(torch.get("attention"), row, ("sequence", "heads", "kv_heads", "head_dim"))
        cells = [f"{row['sequence']} tokens, {row['heads']}/{row['kv_heads']} heads of {row['head_dim']}"]
        for direction in ("forward", "backward"):
            rate = row[f"{direction}_flops_per_second"]
            cells += [f"{rate / 1e12:.1f}", ratio(rate, kernels["peak_flops_per_second"]),
                      ratio(peer.get(f"{direction}_seconds"), row[f"{direction}_seconds"])]
        rows.append(cells)
    table(["attention, causal", "fwd TF/s", "of peak", "x SDPA", "bwd TF/s", "of peak", "x SDPA"], rows)
    rows = []
    for row in kernels["products"]:
        peer = same_row(torch.get("products"), row, ("name", "direction"))
        rows.append([f"{row['name']} {row['rows']}x{row['in']}x{row['out']} {row['direction']}",
                     f"{row['seconds'] * 1e3:.3f}", f"{row['flops_per_second'] / 1e12:.1f}",
                     ratio(row["library_seconds"], row["seconds"]), ratio(peer.get("seconds"), row["seconds"])])
    table(["matrix product", "ms", "TF/s", "x cuBLASLt", "x torch"], rows)


def rate_of(peer):
    if not peer:
        return "-"
    return peer.get("problem") or f"{peer['tokens_per_second']:,.0f}"


def print_models(models, kernels):
    kernels = kernels or {}
    rated = kernels.get("rated", {}).get("flops_per_second")
    speed, memory = [], []
    for model in models:
        ours, torch = model["ours"], model["torch"]
        rate, train = ours["tokens_per_second"], ours["train"]
        best = max([peer.get("tokens_per_second", 0) for peer in torch.values() if peer], default=0)
        flops = rate * ours["flops_per_token"]
        speed.append([ours["title"],
                      f"{train['micro_batch']}x{train['gradient_accumulation']}x{ours['model']['context']}",
                      f"S{train['recompute_level']}", f"{rate:,.0f}", ratio(rate, ours["launched_tokens_per_second"]),
                      ratio((ours.get("fp8") or {}).get("tokens_per_second"), rate),
                      ratio(flops, kernels.get("peak_flops_per_second")), ratio(flops, rated),
                      rate_of(torch["eager"]), rate_of(torch["compile"]), ratio(rate, best)])
        peaks = [peer["peak_bytes"] for peer in torch.values() if peer and "peak_bytes" in peer]
        memory.append([ours["title"], *[f"{ours[field] / GIB:.3f}" for field in
                                        ("planned_bytes", "allocated_bytes", "taken_bytes", "recording_bytes",
                                         "process_bytes")],
                       f"{min(peaks) / GIB:.3f}" if peaks else "-"])
    table(["training", "batch", "level", "tokens/s", "x launched", "FP8 x", "MFU measured", "MFU rated", "eager", "compile",
           "x best"], speed)
    table(["GiB", "planned", "allocated", "taken", "recording", "process", "PyTorch"], memory)


FOOT = """
x: how many times as fast as the other. Batch: sequences x micro-batches a step x tokens. Level: what layers keep (S0: all).
MFU: tokens/s x (6P + 6 x layers x context x query width: causal attention) over the BF16 product measured here, and
over the rated peak of resources/cards.csv. PyTorch: BF16 autocast, fused AdamW, SDPA, no recomputing, same batch.
Launched: each kernel given to the card by itself, instead of recorded micro-batches. Recording: what that took of it.
Taken: what cudaMemGetInfo has less than before. Process: what NVML says of this process, CUDA's own share included.
FP8 x: how many times as fast the same run is with its blocks' products in FP8. It counts for little by itself: judge
by the time to a loss."""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    results = gather(options.folder)
    if results["kernels"]:
        print_card(results["kernels"])
        print_kernels(results["kernels"], results["torch_operations"])
    if results["models"]:
        print_models(results["models"], results["kernels"])
    print(FOOT)
    table(["step", "outcome", "seconds"], [[step["step"], step["outcome"], step["seconds"]]
                                           for step in results["steps"]])
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
