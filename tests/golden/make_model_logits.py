#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes model_logits.json beside this script: for each small model of peer_models.py its config.json as
transformers (pip install torch transformers) writes it, and the logits after the last of a few tokens."""
import json
import pathlib
import tempfile

import peer_models

TOKENS = [256, 72, 101, 108, 108, 111, 44, 32, 119, 300, 7, 255]


def main():
    made = []
    for name in peer_models.MODELS:
        model = peer_models.make(name)
        with tempfile.TemporaryDirectory() as folder:
            config = peer_models.config_text(model, folder)
        logits = peer_models.logits_of(model, TOKENS)[-1]
        made.append({"name": name, "config": config, "tokens": TOKENS,
                     "logits": [float(f"{value:.8g}") for value in logits]})
    path = pathlib.Path(__file__).parent / "model_logits.json"
    path.write_text("[\n" + ",\n".join(json.dumps(model) for model in made) + "\n]\n")


if __name__ == "__main__":
    main()
