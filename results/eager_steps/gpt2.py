"""GPT-2: models/modern/gpt2_net.cc's decoder."""

import math

from eager_steps.language_model import attended, decoding_step, language_model, sequence_step

SIZES = {"vocabulary": 50257, "positions": 1024, "layers": 12, "heads": 12, "width": 768}


def decoder(torch, vocabulary, positions, layers, heads, width):
    nn = torch.nn
    functional = nn.functional

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.c_attn = nn.Linear(width, 3 * width)
            self.c_proj = nn.Linear(width, width)

        def forward(self, x, cache, first):
            batch, tokens, _ = x.shape
            q, k, v = (
                part.view(batch, tokens, heads, width // heads).transpose(1, 2)
                for part in self.c_attn(x).split(width, dim=2)
            )
            y = attended(torch, q, k, v, cache, first)
            return self.c_proj(y.transpose(1, 2).reshape(batch, tokens, width))

    class Dense(nn.Module):
        def __init__(self):
            super().__init__()
            self.c_fc = nn.Linear(width, 4 * width)
            self.c_proj = nn.Linear(4 * width, width)

        def forward(self, x):
            return self.c_proj(functional.gelu(self.c_fc(x), approximate="tanh"))

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.ln_1 = nn.LayerNorm(width)
            self.attn = Attention()
            self.ln_2 = nn.LayerNorm(width)
            self.mlp = Dense()

        def forward(self, x, cache, first):
            x = x + self.attn(self.ln_1(x), cache, first)
            return x + self.mlp(self.ln_2(x))

    class Decoder(language_model(torch)):
        def __init__(self):
            super().__init__()
            self.wte = nn.Embedding(vocabulary, width)
            self.wpe = nn.Embedding(positions, width)
            self.h = nn.ModuleList(Block() for _ in range(layers))
            self.ln_f = nn.LayerNorm(width)
            for name, parameter in self.named_parameters():
                if parameter.dim() > 1:
                    shortcuts = 2 * layers if name.endswith("c_proj.weight") else 1
                    nn.init.normal_(parameter, 0, 0.02 / math.sqrt(shortcuts))
                elif name.endswith("bias"):
                    nn.init.zeros_(parameter)

        def new_cache(self, batch, tokens, dtype):
            return self.empty_cache(layers, (batch, heads, tokens, width // heads), dtype)

        def states(self, ids, cache=None, first=0):
            """Of tokens [N, T] after `first` others in the cache, to which they are added."""
            x = self.wte(ids) + self.wpe(
                torch.arange(first, first + ids.shape[1], device=ids.device)
            )
            for layer, block in enumerate(self.h):
                x = block(x, cache and cache[layer], first)
            return self.ln_f(x)

    return Decoder()


def optimizer(torch, net):
    """Weight decay for matrices only."""
    matrices = [parameter for parameter in net.parameters() if parameter.dim() > 1]
    vectors = [parameter for parameter in net.parameters() if parameter.dim() == 1]
    groups = [
        {"params": matrices, "weight_decay": 0.1},
        {"params": vectors, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=6e-4, betas=(0.9, 0.95))


def gpt2(tokens, torch, mode, batch=4):
    """A training step on, or the prefill of, sequences of `tokens` tokens."""
    net = decoder(torch, **SIZES)
    ids, labels = torch.randint(SIZES["vocabulary"], (2, batch, tokens))
    return sequence_step(torch, mode, net, ids, labels, optimizer(torch, net))


def gpt2_decode(torch, mode, batch=4, tokens=512):
    net = decoder(torch, **SIZES)
    ids = torch.randint(SIZES["vocabulary"], (batch, tokens + 1))
    return decoding_step(torch, mode, net, ids)
