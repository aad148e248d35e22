"""Llama and Granite's mixture of experts: models/modern/llama_net.cc's decoder, with the ops of transformers'
LlamaForCausalLM and GraniteMoeForCausalLM."""

import math

from eager_steps.experts import experts_layer, load_balancing_loss
from eager_steps.language_model import (
    attended,
    decoding_step,
    language_model,
    rms_norm,
    sequence_step,
)

LLAMA = {
    "vocabulary": 49152,
    "layers": 30,
    "width": 576,
    "heads": 9,
    "kv_heads": 3,
    "head_width": 64,
    "dense": 1536,
    "positions": 8192,
    "base": 1e5,
    "deviation": 1 / 24,
}
LLAMA_1B = {
    "vocabulary": 128256,
    "layers": 16,
    "width": 2048,
    "heads": 32,
    "kv_heads": 8,
    "head_width": 64,
    "dense": 8192,
    "positions": 8192,
    "base": 5e5,
    "scaling": {"factor": 32, "low": 1, "high": 4, "positions": 8192},
    "deviation": 0.02,
}

GRANITE = {"embedding": 12, "residual": 0.22, "attention": 1 / 64, "logits": 1 / 6}
MOE = {
    "vocabulary": 49155,
    "layers": 24,
    "width": 1024,
    "heads": 16,
    "kv_heads": 8,
    "head_width": 64,
    "dense": 512,
    "positions": 4096,
    "base": 1e4,
    "deviation": 0.02,
    "epsilon": 1e-6,
    "multipliers": GRANITE,
    "experts": 32,
    "chosen": 8,
}
MOE_6 = MOE | {"layers": 6}


def rotary_table(torch, head_width, positions, base, scaling=None):
    """cos and sin of the angles of all positions, [positions, head_width] each."""
    rates = base ** (-torch.arange(0, head_width, 2, dtype=torch.float64) / head_width)
    if scaling:
        turns = scaling["positions"] * rates / (2 * math.pi)
        kept = ((turns - scaling["low"]) / (scaling["high"] - scaling["low"])).clamp(0, 1)
        rates = rates * (kept + (1 - kept) / scaling["factor"])
    half = torch.outer(torch.arange(positions, dtype=torch.float64), rates)
    angles = torch.cat((half, half), 1)
    return angles.cos().float(), angles.sin().float()


def llama_decoder(
    torch,
    vocabulary,
    layers,
    width,
    heads,
    kv_heads,
    head_width,
    dense,
    positions,
    base,
    deviation,
    scaling=None,
    epsilon=1e-5,
    multipliers=None,
    experts=0,
    chosen=0,
):
    """With `experts`, each layer has a mixture of them, of which a token takes `chosen`."""
    nn = torch.nn
    RmsNorm = rms_norm(torch)
    factors = multipliers or {}

    def times(x, name):
        return x * factors[name] if name in factors else x

    def rotated(x, cos, sin):
        first, second = x.chunk(2, -1)
        return x * cos + torch.cat((-second, first), -1) * sin

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.q_proj = nn.Linear(width, heads * head_width, bias=False)
            self.k_proj = nn.Linear(width, kv_heads * head_width, bias=False)
            self.v_proj = nn.Linear(width, kv_heads * head_width, bias=False)
            self.o_proj = nn.Linear(heads * head_width, width, bias=False)

        def forward(self, x, angles, cache, first):
            batch, tokens, _ = x.shape
            q, k, v = (
                project(x).view(batch, tokens, -1, head_width).transpose(1, 2)
                for project in (self.q_proj, self.k_proj, self.v_proj)
            )
            cos, sin = (table.to(q.dtype) for table in angles)
            q, k = rotated(q, cos, sin), rotated(k, cos, sin)
            y = attended(torch, q, k, v, cache, first, factors.get("attention"))
            return self.o_proj(y.transpose(1, 2).reshape(batch, tokens, -1))

    class Gated(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate_proj = nn.Linear(width, dense, bias=False)
            self.up_proj = nn.Linear(width, dense, bias=False)
            self.down_proj = nn.Linear(dense, width, bias=False)

        def forward(self, x):
            return self.down_proj(nn.functional.silu(self.gate_proj(x)) * self.up_proj(x))

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.input_layernorm = RmsNorm(width, epsilon)
            self.self_attn = Attention()
            self.post_attention_layernorm = RmsNorm(width, epsilon)
            self.mlp = experts_layer(torch, width, dense, experts, chosen) if experts else Gated()

        def forward(self, x, angles, cache, first):
            attended = self.self_attn(self.input_layernorm(x), angles, cache, first)
            x = x + times(attended, "residual")
            return x + times(self.mlp(self.post_attention_layernorm(x)), "residual")

    class Decoder(language_model(torch)):
        def __init__(self):
            super().__init__()
            self.wte = nn.Embedding(vocabulary, width)
            self.h = nn.ModuleList(Block() for _ in range(layers))
            self.norm = RmsNorm(width, epsilon)
            for name, table in zip(
                ("cos", "sin"), rotary_table(torch, head_width, positions, base, scaling)
            ):
                self.register_buffer(name, table)
            for parameter in self.parameters():
                if parameter.dim() > 1:
                    nn.init.normal_(parameter, 0, deviation)

        def new_cache(self, batch, tokens, dtype):
            return self.empty_cache(layers, (batch, kv_heads, tokens, head_width), dtype)

        def states(self, ids, cache=None, first=0):
            """Of tokens [N, T] after `first` others in the cache, to which they are added."""
            x = times(self.wte(ids), "embedding")
            angles = [table[first : first + ids.shape[1]] for table in (self.cos, self.sin)]
            for layer, block in enumerate(self.h):
                x = block(x, angles, cache and cache[layer], first)
            return self.norm(x)

        def logits(self, states):
            return times(super().logits(states), "logits")

        def balanced_loss(self, ids, labels):
            """The loss and how unevenly the experts were chosen."""
            return self.loss(ids, labels) + 0.01 * load_balancing_loss(
                torch, [block.mlp for block in self.h]
            )

    return Decoder()


def llama(sizes, torch, mode, batch=None):
    """A training step on sequences of 256 tokens, or the prefill of one of 512."""
    tokens = 512 if mode == "infer" else 256
    batch = batch or (1 if mode == "infer" else 4)
    net = llama_decoder(torch, **sizes)
    ids, labels = torch.randint(sizes["vocabulary"], (2, batch, tokens))
    optimizer = torch.optim.AdamW(net.parameters(), lr=3e-3, betas=(0.9, 0.95), weight_decay=0.01)
    return sequence_step(torch, mode, net, ids, labels, optimizer)


def llama_decode(sizes, default_batch, torch, mode, batch=None, tokens=512):
    net = llama_decoder(torch, **sizes)
    ids = torch.randint(sizes["vocabulary"], (batch or default_batch, tokens + 1))
    return decoding_step(torch, mode, net, ids)


def moe(sizes, torch, mode, batch=None):
    """A training step on sequences of 256 tokens, or the prefill of one of 512."""
    tokens = 512 if mode == "infer" else 256
    batch = batch or (1 if mode == "infer" else 4)
    net = llama_decoder(torch, **sizes)
    ids, labels = torch.randint(sizes["vocabulary"], (2, batch, tokens))
    optimizer = torch.optim.AdamW(net.parameters(), lr=4e-4, betas=(0.9, 0.95), weight_decay=0.1)
    return sequence_step(torch, mode, net, ids, labels, optimizer, net.balanced_loss)
