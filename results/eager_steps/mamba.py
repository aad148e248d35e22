"""Mamba: models/modern/mamba_net.cc's network, with the ops of transformers' MambaForCausalLM without its extra packages:
a loop over the positions."""

import math

from eager_steps.language_model import decoding_step, language_model, rms_norm, sequence_step

MAMBA = {
    "vocabulary": 50280,
    "layers": 24,
    "width": 768,
    "inner": 1536,
    "states": 16,
    "taps": 4,
    "rank": 48,
}


def mamba_net(torch, vocabulary, layers, width, inner, states, taps, rank):
    nn, functional = torch.nn, torch.nn.functional
    RmsNorm = rms_norm(torch)

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            bound = taps**-0.5
            self.conv_weight = nn.Parameter(torch.empty(inner, taps).uniform_(-bound, bound))
            self.conv_bias = nn.Parameter(torch.empty(inner).uniform_(-bound, bound))
            steps = torch.empty(inner).uniform_(math.log(0.001), math.log(0.1)).exp()
            self.dt_bias = nn.Parameter(steps.expm1().log())
            self.A_log = nn.Parameter(torch.arange(1.0, states + 1).log().repeat(inner, 1))
            self.D = nn.Parameter(torch.ones(inner))
            self.norm = RmsNorm(width)
            self.in_proj = nn.Linear(width, 2 * inner, bias=False)
            self.x_proj = nn.Linear(inner, rank + 2 * states, bias=False)
            self.dt_proj = nn.Linear(rank, inner, bias=False)
            self.out_proj = nn.Linear(inner, width, bias=False)

        def forward(self, x, cache):
            inputs, gate = self.in_proj(self.norm(x)).transpose(1, 2).chunk(2, 1)  # [N, inner, T]
            tokens = inputs.shape[2]
            padding = taps - 1
            if cache:
                inputs, padding = torch.cat((cache["window"], inputs), 2), 0
            u = functional.conv1d(
                inputs, self.conv_weight.unsqueeze(1), self.conv_bias, padding=padding, groups=inner
            )
            u = functional.silu(u[:, :, :tokens])
            delta, b, c = self.x_proj(u.transpose(1, 2)).split([rank, states, states], -1)
            delta = functional.softplus(self.dt_proj(delta) + self.dt_bias).transpose(1, 2)
            y, state = self.scan(u, delta, b, c, cache["state"] if cache else None)
            if cache == {}:
                cache.update(window=inputs[:, :, 1 - taps :], state=state)
            return x + self.out_proj((y * functional.silu(gate)).transpose(1, 2))

        def scan(self, u, delta, b, c, state):
            """u and delta [N, inner, T], b and c [N, T, states] to y [N, inner, T] and the last states."""
            rates = -self.A_log.exp()
            decay = (delta.unsqueeze(3) * rates.unsqueeze(1)).exp()  # [N, inner, T, states]
            driven = (delta * u).unsqueeze(3) * b.unsqueeze(1)
            h = torch.zeros_like(driven[:, :, 0]) if state is None else state
            read = []
            for now, (a, x) in enumerate(zip(decay.unbind(2), driven.unbind(2))):
                h = a * h + x
                read.append((h @ c[:, now].unsqueeze(2).to(h.dtype)).squeeze(2))
            return torch.stack(read, 2) + u * self.D.unsqueeze(1), h

    class Mamba(language_model(torch)):
        def __init__(self):
            super().__init__()
            self.wte = nn.Embedding(vocabulary, width)
            self.h = nn.ModuleList(Block() for _ in range(layers))
            self.norm = RmsNorm(width)
            nn.init.normal_(self.wte.weight, 0, 0.02)
            for block in self.h:
                nn.init.kaiming_uniform_(block.out_proj.weight, math.sqrt(5))
                block.out_proj.weight.data /= math.sqrt(layers)

        def new_cache(self, batch, tokens, dtype):
            return [{} for _ in range(layers)]

        def states(self, ids, cache=None, first=0):
            """Of tokens [N, T], after those that the cache knows. The cache keeps what it first knew."""
            x = self.wte(ids)
            for layer, block in enumerate(self.h):
                x = block(x, cache[layer] if cache else None)
            return self.norm(x)

    return Mamba()


def mamba(torch, mode, batch=None):
    """A training step on sequences of 256 tokens, or the prefill of one of 512."""
    tokens = 512 if mode == "infer" else 256
    batch = batch or (1 if mode == "infer" else 4)
    net = mamba_net(torch, **MAMBA)
    ids, labels = torch.randint(MAMBA["vocabulary"], (2, batch, tokens))
    matrices, vectors = [], []
    for name, parameter in net.named_parameters():
        decays = parameter.dim() > 1 and not name.endswith("A_log")
        (matrices if decays else vectors).append(parameter)
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0}]
    optimizer = torch.optim.AdamW(groups, lr=3e-3, betas=(0.9, 0.95))
    return sequence_step(torch, mode, net, ids, labels, optimizer)


def mamba_decode(torch, mode, batch=None, tokens=512):
    net = mamba_net(torch, **MAMBA)
    ids = torch.randint(MAMBA["vocabulary"], (batch or 4, tokens + 1))
    return decoding_step(torch, mode, net, ids)
