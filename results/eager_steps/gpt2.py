"""GPT-2: models/modern/gpt2_net.cc's decoder."""

import functools
import math

from eager_steps.step import Inference, Training

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
            if cache is not None:
                keys, values = cache
                keys[:, :, first : first + tokens] = k
                values[:, :, first : first + tokens] = v
                k, v = keys[:, :, : first + tokens], values[:, :, : first + tokens]
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=tokens > 1)
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

    class Decoder(nn.Module):
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
            """The keys and values of each layer, with places for `tokens` tokens."""
            shape = (batch, heads, tokens, width // heads)
            device = self.wte.weight.device
            return [
                tuple(torch.empty(shape, dtype=dtype, device=device) for _ in range(2))
                for _ in range(layers)
            ]

        def states(self, ids, cache=None, first=0):
            """Of tokens [N, T] after `first` others in the cache, to which they are added."""
            x = self.wte(ids) + self.wpe(
                torch.arange(first, first + ids.shape[1], device=ids.device)
            )
            for layer, block in enumerate(self.h):
                x = block(x, cache and cache[layer], first)
            return self.ln_f(x)

        def forward(self, ids, cache=None, first=0):
            """The logits after each token."""
            return functional.linear(self.states(ids, cache, first), self.wte.weight)

        def prefill(self, ids, cache=None):
            """The logits after the last token."""
            return functional.linear(self.states(ids, cache)[:, -1], self.wte.weight)

        def decode(self, last, cache, first):
            """The logits after the tokens `last` [N, 1], which follow `first` tokens in the cache."""
            return self(last, cache, first)[:, -1]

        def loss(self, ids, labels):
            return functional.cross_entropy(self(ids).flatten(0, 1), labels.flatten())

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


def filled_cache(torch, net, context):
    """The cache of the tokens [N, T], with a place for one more, in the precision of the steps."""
    device = context.device.type
    dtype = torch.get_default_dtype()
    if torch.is_autocast_enabled(device):
        dtype = torch.get_autocast_dtype(device)
    batch, tokens = context.shape
    cache = net.new_cache(batch, tokens + 1, dtype)
    net.prefill(context, cache)
    return cache


def gpt2(tokens, torch, mode, batch=4):
    """A training step on, or the prefill of, sequences of `tokens` tokens."""
    net = decoder(torch, **SIZES)
    ids, labels = torch.randint(SIZES["vocabulary"], (2, batch, tokens))
    if mode == "infer":
        return Inference(torch, net.prefill, ids)

    def prepare():
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)

    return Training(torch, net, optimizer(torch, net), lambda: net.loss(ids, labels), prepare)


def gpt2_decode(torch, mode, batch=4, tokens=512):
    """One token after `tokens` others in a cache, which the first step fills. There is no training step."""
    assert mode == "infer"
    net = decoder(torch, **SIZES)
    ids = torch.randint(SIZES["vocabulary"], (batch, tokens + 1))
    cache = functools.cache(lambda: filled_cache(torch, net, ids[:, :-1]))
    return Inference(torch, lambda last: net.decode(last, cache(), tokens), ids[:, -1:])
