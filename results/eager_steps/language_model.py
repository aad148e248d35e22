"""What the language models share: logits, losses, caches and steps."""

from eager_steps.step import Inference, Training


def language_model(torch):
    """The class of networks that have an embedding `wte`, new_cache() and states()."""
    functional = torch.nn.functional

    class LanguageModel(torch.nn.Module):
        def logits(self, states):
            return functional.linear(states, self.wte.weight)

        def forward(self, ids, cache=None, first=0):
            """The logits after each token."""
            return self.logits(self.states(ids, cache, first))

        def prefill(self, ids, cache=None):
            """The logits after the last token."""
            return self.logits(self.states(ids, cache)[:, -1])

        def decode(self, last, cache, first):
            """The logits after the tokens `last` [N, 1], which follow `first` tokens in the cache."""
            return self(last, cache, first)[:, -1]

        def loss(self, ids, labels):
            return functional.cross_entropy(self(ids).flatten(0, 1), labels.flatten())

        def empty_cache(self, layers, shape, dtype):
            """The keys and values of each layer, [N, heads, tokens, width] each."""
            device = self.wte.weight.device
            return [
                tuple(torch.empty(shape, dtype=dtype, device=device) for _ in range(2))
                for _ in range(layers)
            ]

    return LanguageModel


def rms_norm(torch):
    """The class of RMS normalisations of rows."""

    class RmsNorm(torch.nn.Module):
        def __init__(self, width, epsilon=1e-5):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(width))
            self.epsilon = epsilon

        def forward(self, x):
            computed = x.to(torch.promote_types(x.dtype, torch.float32))
            scale = torch.rsqrt(computed.pow(2).mean(-1, keepdim=True) + self.epsilon)
            return self.weight * (computed * scale).to(x.dtype)

    return RmsNorm


def attended(torch, q, k, v, cache, first, scale=None):
    """Causal attention of queries [N, heads, T, width] after `first` others in the cache, to which keys and values are
    added."""
    tokens = q.shape[2]
    if cache is not None:
        keys, values = cache
        keys[:, :, first : first + tokens] = k
        values[:, :, first : first + tokens] = v
        k, v = keys[:, :, : first + tokens], values[:, :, : first + tokens]
    shared = q.shape[1] != k.shape[1]
    return torch.nn.functional.scaled_dot_product_attention(
        q, k, v, is_causal=tokens > 1, scale=scale, enable_gqa=shared
    )


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


def sequence_step(torch, mode, net, ids, labels, optimizer, loss=None):
    """A training step on, or the prefill of, sequences of tokens [N, T]. The loss is net.loss unless given."""
    if mode == "infer":
        return Inference(torch, net.prefill, ids)

    def prepare():
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)

    return Training(torch, net, optimizer, lambda: (loss or net.loss)(ids, labels), prepare)


class Decoding(Inference):
    """Decodes the last of the tokens [N, T + 1] after the others in a cache. The first call fills it, outside of what
    torch.compile compiles."""

    def __init__(self, torch, net, ids):
        tokens = ids.shape[1] - 1
        super().__init__(torch, lambda last, cache: net.decode(last, cache, tokens))
        self.fill = lambda: (ids[:, -1:], filled_cache(torch, net, ids[:, :-1]))

    def __call__(self):
        if not self.inputs:
            with self.torch.inference_mode():
                self.inputs = self.fill()
        super().__call__()


def decoding_step(torch, mode, net, ids):
    """There is no training step."""
    assert mode == "infer"
    return Decoding(torch, net, ids)
