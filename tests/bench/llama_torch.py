"""A plain Llama-style transformer in PyTorch, as one would write it by hand, with Athanor's parameters.

Used by the scripts beside it as an independent reference and as the peer to be timed.
"""
from unittest import mock

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model
        width, heads, kv_heads = model["width"], model["heads"], model["kv_heads"]
        self.head_dim = width // heads
        self.query, self.key = heads * self.head_dim, kv_heads * self.head_dim
        gated = model["activation"] == "swiglu"
        ffn = model["ffn"]
        self.attention_norm = nn.RMSNorm(width, eps=model["norm_epsilon"])
        self.qkv = nn.Linear(width, self.query + 2 * self.key, bias=False)
        self.attention_out = nn.Linear(self.query, width, bias=False)
        self.mlp_norm = nn.RMSNorm(width, eps=model["norm_epsilon"])
        self.up = nn.Linear(width, 2 * ffn if gated else ffn, bias=model["biases"])
        self.down = nn.Linear(ffn, width, bias=model["biases"])

    def rotate(self, x, cosines, sines):
        first, second = x.chunk(2, dim=-1)
        return torch.cat((first * cosines - second * sines, second * cosines + first * sines), -1)

    def forward(self, x, cosines, sines):
        batch, time, _ = x.shape
        qkv = self.qkv(self.attention_norm(x))
        q, k, v = qkv.split((self.query, self.key, self.key), dim=-1)
        q, k, v = (part.view(batch, time, -1, self.head_dim).transpose(1, 2) for part in (q, k, v))
        q, k = self.rotate(q, cosines, sines), self.rotate(k, cosines, sines)
        repeat = self.query // self.key
        # On cards there are kernels that read each key head for all its query heads.
        shared = repeat > 1 and q.is_cuda
        if repeat > 1 and not shared:
            k, v = k.repeat_interleave(repeat, 1), v.repeat_interleave(repeat, 1)
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=shared)
        x = x + self.attention_out(attended.transpose(1, 2).reshape(batch, time, -1))
        inner = self.up(self.mlp_norm(x))
        activation = self.model["activation"]
        if activation == "swiglu":
            gate, value = inner.chunk(2, dim=-1)
            inner = F.silu(gate) * value
        elif activation == "gelu":
            inner = F.gelu(inner, approximate="tanh")
        elif activation == "silu":
            inner = F.silu(inner)
        else:
            inner = F.relu(inner).square()
        return x + self.down(inner)


class Llama(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.embedding = nn.Embedding(model["vocabulary"], model["width"])
        self.layers = nn.ModuleList(Block(model) for _ in range(model["layers"]))
        self.final_norm = nn.RMSNorm(model["width"], eps=model["norm_epsilon"])
        self.head = nn.Linear(model["width"], model["vocabulary"], bias=False)
        if model["tied"]:
            self.head.weight = self.embedding.weight
        half = model["width"] // model["heads"] // 2
        rates = model["rope_base"] ** (-torch.arange(half, dtype=torch.float64) / half)
        angles = torch.arange(model["context"], dtype=torch.float64)[:, None] * rates
        self.register_buffer("cosines", angles.cos().float(), persistent=False)
        self.register_buffer("sines", angles.sin().float(), persistent=False)

    def forward(self, tokens, targets):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x, self.cosines, self.sines)
        logits = self.head(self.final_norm(x))
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())

    def optimizer(self, train, fused=None):
        """AdamW with decay on matrices only, or Muon for the layers' matrices and AdamW for the rest."""
        if train.get("optimizer") == "muon":
            return MuonBesideAdamW(self, train)
        return self.adamw(train, list(self.parameters()), fused)

    @staticmethod
    def adamw(train, parameters, fused=None):
        groups = [
            {"params": [p for p in parameters if p.ndim > 1], "weight_decay": train["weight_decay"]},
            {"params": [p for p in parameters if p.ndim == 1], "weight_decay": 0.0},
        ]
        return torch.optim.AdamW(groups, lr=train["learning_rate"], eps=train["epsilon"],
                                 betas=(train["beta1"], train["beta2"]), fused=fused)


class MuonBesideAdamW:
    """torch.optim.Muon in FP32, with queries, keys, values, gate and up as matrices of their own."""

    def __init__(self, model, train):
        self.parts = []  # (whole parameter, first row, the part as a parameter over the same memory)
        for layer in model.layers:
            ffn = layer.down.in_features
            rows = [(layer.qkv, [layer.query, layer.key, layer.key]), (layer.attention_out, None),
                    (layer.up, [ffn] * (layer.up.out_features // ffn)), (layer.down, None)]
            for linear, parts in rows:
                first = 0
                for part in linear.weight.data.split(parts or [linear.out_features]):
                    self.parts.append((linear.weight, first, nn.Parameter(part)))
                    first += len(part)
        self.muon = torch.optim.Muon([part for _, _, part in self.parts], lr=train["learning_rate"],
                                     weight_decay=train["weight_decay"], momentum=train["muon_momentum"],
                                     adjust_lr_fn="match_rms_adamw")
        whole = {id(parameter) for parameter, _, _ in self.parts}
        self.rest = Llama.adamw(train, [p for p in model.parameters() if id(p) not in whole])
        self.model = model
        self.param_groups = self.muon.param_groups + self.rest.param_groups

    def zero_grad(self, set_to_none=True):
        self.model.zero_grad(set_to_none)

    def step(self):
        for parameter, first, part in self.parts:
            part.grad = parameter.grad[first:first + len(part)]
        # Its iteration has BF16 written into it; the processor's is FP32.
        with mock.patch.object(torch, "bfloat16", torch.float32):
            self.muon.step()
        self.rest.step()
