# SPDX-License-Identifier: GPL-3.0-or-later
"""Small models of every kind that can be imported, as transformers makes them, with weights that follow from
their names, so that a test can make the same ones without transformers."""
import json
import pathlib

import numpy
import torch
import transformers

VOCABULARY = 320
SHAPE = {"vocab_size": VOCABULARY, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2,
         "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64, "bos_token_id": None,
         "eos_token_id": 256, "pad_token_id": None}

MODELS = {
    "llama": (transformers.LlamaForCausalLM, transformers.LlamaConfig(**SHAPE, tie_word_embeddings=True)),
    "llama-biases": (transformers.LlamaForCausalLM, transformers.LlamaConfig(
        **SHAPE, head_dim=24, mlp_bias=True, tie_word_embeddings=False, rope_theta=500000.0)),
    "mistral": (transformers.MistralForCausalLM, transformers.MistralConfig(
        **SHAPE, sliding_window=None, tie_word_embeddings=False)),
    "qwen2": (transformers.Qwen2ForCausalLM, transformers.Qwen2Config(**SHAPE, tie_word_embeddings=True)),
    "qwen3": (transformers.Qwen3ForCausalLM, transformers.Qwen3Config(
        **SHAPE, head_dim=32, tie_word_embeddings=False)),
    "arcee": (transformers.ArceeForCausalLM, transformers.ArceeConfig(
        **SHAPE, hidden_act="relu2", tie_word_embeddings=False)),
    "arcee-gelu": (transformers.ArceeForCausalLM, transformers.ArceeConfig(
        **SHAPE, hidden_act="gelu_pytorch_tanh", mlp_bias=True, tie_word_embeddings=True)),
}


def name_hash(name):
    """FNV-1a, 32 bits."""
    value = 0x811C9DC5
    for byte in name.encode():
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return value


def numbers_of(name, shape):
    """Element i: bits 8 to 31 of (hash + i) · 2654435761 as a number from −0.5 to 0.5, smaller in norms, about 1."""
    count = int(numpy.prod(shape))
    words = (numpy.arange(count, dtype=numpy.uint64) + name_hash(name)) * 2654435761 % 2**32
    values = ((words >> 8).astype(numpy.float32) * numpy.float32(2**-24) - numpy.float32(0.5)).astype(numpy.float32)
    if "norm" in name:
        values = numpy.float32(1) + values * numpy.float32(0.25)
    return values.reshape(shape)


def make(name):
    kind, config = MODELS[name]
    torch.manual_seed(0)
    model = kind(config).eval().float()
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            parameter.copy_(torch.from_numpy(numbers_of(key, tuple(parameter.shape)).copy()))
    return model


def logits_of(model, tokens):
    with torch.no_grad():
        return model(torch.tensor([tokens])).logits[0].float().numpy()


def config_text(model, folder):
    model.config.save_pretrained(folder)
    return json.loads((pathlib.Path(folder) / "config.json").read_text())
