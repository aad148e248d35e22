"""The Transformer: models/tbd/transformer_net.cc's network."""

import math

from eager_steps.step import Inference, Training

SIZES = {
    "vocabulary": 37000,
    "positions": 32,
    "layers": 6,
    "heads": 8,
    "width": 512,
    "hidden": 2048,
}
PADDING, END, DROPOUT = 0, 1, 0.1


def transformer_net(torch, vocabulary, positions, layers, heads, width, hidden):
    nn = torch.nn
    functional = nn.functional

    def attention(q, k, v, mask=None, causal=False, dropout=0.0):
        """Of states [N, T, width] and [N, S, width]. The mask is True where a position is seen."""
        q, k, v = (part.unflatten(2, (heads, -1)).transpose(1, 2) for part in (q, k, v))
        y = functional.scaled_dot_product_attention(q, k, v, mask, dropout, causal)
        return y.transpose(1, 2).flatten(2)

    class SelfAttention(nn.Module):
        def __init__(self):
            super().__init__()
            self.in_proj = nn.Linear(width, 3 * width)
            self.out_proj = nn.Linear(width, width)

        def forward(self, x, mask=None):
            """Without a mask, a position sees itself and those before it."""
            q, k, v = self.in_proj(x).chunk(3, 2)
            dropout = DROPOUT if self.training else 0.0
            return self.out_proj(attention(q, k, v, mask, mask is None, dropout))

        def decode(self, x, cache, t):
            """Position t, [N, 1, width], after those in the cache, to which it is added."""
            q, k, v = self.in_proj(x).chunk(3, 2)
            keys, values = cache
            keys[:, t : t + 1] = k
            values[:, t : t + 1] = v
            return self.out_proj(attention(q, keys[:, : t + 1], values[:, : t + 1]))

    class CrossAttention(nn.Module):
        def __init__(self):
            super().__init__()
            self.q_proj = nn.Linear(width, width)
            self.kv_proj = nn.Linear(width, 2 * width)
            self.out_proj = nn.Linear(width, width)

        def memory(self, states):
            return self.kv_proj(states).chunk(2, 2)

        def forward(self, x, memory, mask):
            dropout = DROPOUT if self.training else 0.0
            return self.out_proj(attention(self.q_proj(x), *memory, mask, dropout=dropout))

    class FeedForward(nn.Sequential):
        def __init__(self):
            super().__init__(
                nn.Linear(width, hidden),
                nn.ReLU(),
                nn.Dropout(DROPOUT),
                nn.Linear(hidden, width),
            )

    class EncoderLayer(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1 = nn.LayerNorm(width)
            self.self_attention = SelfAttention()
            self.norm2 = nn.LayerNorm(width)
            self.feed_forward = FeedForward()
            self.dropout = nn.Dropout(DROPOUT)

        def forward(self, x, mask):
            x = x + self.dropout(self.self_attention(self.norm1(x), mask))
            return x + self.dropout(self.feed_forward(self.norm2(x)))

    class DecoderLayer(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1 = nn.LayerNorm(width)
            self.self_attention = SelfAttention()
            self.norm2 = nn.LayerNorm(width)
            self.cross_attention = CrossAttention()
            self.norm3 = nn.LayerNorm(width)
            self.feed_forward = FeedForward()
            self.dropout = nn.Dropout(DROPOUT)

        def forward(self, x, memory, mask, cache=None, t=None):
            """All positions, or position t alone after those in the cache."""
            y = self.norm1(x)
            y = self.self_attention(y) if cache is None else self.self_attention.decode(y, cache, t)
            x = x + self.dropout(y)
            x = x + self.dropout(self.cross_attention(self.norm2(x), memory, mask))
            return x + self.dropout(self.feed_forward(self.norm3(x)))

    class Transformer(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(vocabulary, width)
            self.encoder = nn.ModuleList(EncoderLayer() for _ in range(layers))
            self.encoder_norm = nn.LayerNorm(width)
            self.decoder = nn.ModuleList(DecoderLayer() for _ in range(layers))
            self.decoder_norm = nn.LayerNorm(width)
            self.dropout = nn.Dropout(DROPOUT)
            count = width // 2
            frequencies = torch.exp(
                torch.arange(count, dtype=torch.float64) * -(math.log(1e4) / (count - 1))
            )
            angles = torch.arange(positions, dtype=torch.float64).unsqueeze(1) * frequencies
            waves = torch.cat((angles.sin(), angles.cos()), 1).float()
            self.register_buffer("waves", waves.to(torch.get_default_dtype()))
            for name, parameter in self.named_parameters():
                if name == "embedding.weight":
                    nn.init.normal_(parameter, 0, width**-0.5)
                elif parameter.dim() > 1:
                    nn.init.xavier_uniform_(parameter)
                elif name.endswith("bias"):
                    nn.init.zeros_(parameter)

        def embed(self, ids, first=0):
            waves = self.waves[first : first + ids.shape[1]]
            return self.dropout(self.embedding(ids) * math.sqrt(width) + waves)

        def encode(self, source):
            """The states of a sentence, and the mask of its words."""
            mask = (source != PADDING)[:, None, None]
            x = self.embed(source)
            for layer in self.encoder:
                x = layer(x, mask)
            return self.encoder_norm(x), mask

        def forward(self, source, previous):
            """The logits of the target [N, T] with the ids `previous` before its ids."""
            states, mask = self.encode(source)
            x = self.embed(previous)
            for layer in self.decoder:
                x = layer(x, layer.cross_attention.memory(states), mask)
            return functional.linear(self.decoder_norm(x), self.embedding.weight)

        def translate(self, source):
            """Greedy decoding: the logits of all positions."""
            states, mask = self.encode(source)
            memories = [layer.cross_attention.memory(states) for layer in self.decoder]
            caches = [
                tuple(keys.new_empty(len(source), positions, width) for _ in range(2))
                for keys, _ in memories
            ]
            ids = torch.full_like(source[:, :1], PADDING)
            logits = []
            for t in range(positions):
                x = self.embed(ids, t)
                for layer, memory, cache in zip(self.decoder, memories, caches):
                    x = layer(x, memory, mask, cache, t)
                x = self.decoder_norm(x)[:, 0]
                logits.append(functional.linear(x, self.embedding.weight))
                ids = logits[-1].argmax(1, keepdim=True)
            return torch.stack(logits)

        def loss(self, source, previous, target):
            return functional.cross_entropy(
                self(source, previous).flatten(0, 1),
                target.flatten(),
                ignore_index=PADDING,
                label_smoothing=0.1,
            )

    return Transformer()


def sentences(torch, count):
    """Ids of sentences of 24 to 32 positions, each with its end and padding."""
    positions = SIZES["positions"]
    words = SIZES["vocabulary"] ** torch.rand(count, positions)
    ids = words.long().clamp_(END + 1, SIZES["vocabulary"] - 1)
    last = torch.randint(23, positions, (count, 1))
    place = torch.arange(positions)
    return ids.masked_fill(place == last, END).masked_fill(place > last, PADDING)


def transformer(torch, mode, batch=64):
    net = transformer_net(torch, **SIZES)
    source, target = sentences(torch, batch), sentences(torch, batch)
    if mode == "infer":
        return Inference(torch, net.eval().translate, source)
    previous = torch.nn.functional.pad(target[:, :-1], (1, 0), value=PADDING)
    optimizer = torch.optim.Adam(net.parameters(), lr=1, betas=(0.9, 0.98), eps=1e-9)
    scale, warm_up = 2 * SIZES["width"] ** -0.5, 16000
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda done: scale * min((done + 1) ** -0.5, (done + 1) * warm_up**-1.5),
    )

    class Scheduled(Training):
        def __call__(self):
            super().__call__()
            schedule.step()

    return Scheduled(torch, net, optimizer, lambda: net.loss(source, previous, target))
