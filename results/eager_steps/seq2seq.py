"""Translation with additive attention."""

import math

from eager_steps.step import Inference, Training


def translator(torch, words=40000, width=256):
    """models/fathom/seq2seq.cc's network. T positions of N sentences are [T, N]."""
    nn, layers = torch.nn, 3

    class Translator(nn.Module):
        def __init__(self):
            super().__init__()
            self.source_words = nn.Embedding(words, width, sparse=True)
            self.target_words = nn.Embedding(words, width, sparse=True)
            self.encoder = nn.LSTM(width, width, layers)
            self.merge_input = nn.Linear(2 * width, width)
            self.decoder = nn.ModuleList(nn.LSTMCell(width, width) for _ in range(layers))
            self.keys = nn.Linear(width, width, bias=False)
            self.query = nn.Linear(2 * layers * width, width)
            self.score = nn.Linear(width, 1, bias=False)
            self.merge_output = nn.Linear(2 * width, width)
            self.projection = nn.Linear(width, words)
            nn.init.xavier_uniform_(self.projection.weight)

        def encode(self, ids):
            outputs, (h, c) = self.encoder(self.source_words(ids))
            memory = outputs.transpose(0, 1).contiguous()
            context = torch.zeros_like(h[0])
            return memory, self.keys(memory), list(zip(h, c)), context

        def position(self, word, memory, keys, states, context):
            x = self.merge_input(torch.cat((word, context), 1))
            for layer, cell in enumerate(self.decoder):
                states[layer] = cell(x, states[layer])
                x = states[layer][0]
            query = self.query(torch.cat([part for h, c in states for part in (c, h)], 1))
            scores = self.score(torch.tanh(keys + query.unsqueeze(1)))
            context = torch.bmm(torch.softmax(scores, 1).transpose(1, 2), memory).squeeze(1)
            return self.merge_output(torch.cat((x, context), 1)), context

        def forward(self, source_ids, target_ids):
            """Outputs [T, N, width] of T positions for T + 1 target words: each position reads the true word."""
            memory, keys, states, context = self.encode(source_ids)
            outputs = []
            for word in self.target_words(target_ids[:-1]).unbind():
                output, context = self.position(word, memory, keys, states, context)
                outputs.append(output)
            return torch.stack(outputs)

        def translate(self, source_ids, ids, positions):
            """Outputs and logits: each position reads the likeliest word of the one before, the first reads `ids`."""
            memory, keys, states, context = self.encode(source_ids)
            outputs, logits = [], []
            for _ in range(positions):
                output, context = self.position(
                    self.target_words(ids), memory, keys, states, context
                )
                outputs.append(output)
                logits.append(self.projection(output))
                ids = logits[-1].argmax(1)
            return torch.stack(outputs), logits

        def sampled_loss(self, outputs, labels, weights, ids, log_expected):
            """The sampled softmax loss: the mean over the sentences of each one's weighted mean.

            `ids` [T, S] are the candidates of each position. `log_expected` gives for classes [T, *] the logarithm of
            how often each is expected among the candidates.
            """
            rows = nn.functional.embedding(torch.cat((labels, ids), 1), self.projection.weight)
            own_rows, rows = rows.split((labels.shape[1], ids.shape[1]), 1)
            bias = self.projection.bias
            own = (outputs * own_rows).sum(2) + bias[labels] - log_expected(labels)
            offsets = bias[ids] - log_expected(ids)
            others = torch.bmm(outputs, rows.transpose(1, 2)) + offsets.unsqueeze(1)
            others = others.masked_fill(labels.unsqueeze(2) == ids.unsqueeze(1), -math.inf)
            losses = torch.logsumexp(torch.cat((own.unsqueeze(2), others), 2), 2) - own
            return ((losses * weights).sum(0) / weights.sum(0)).mean()

    return Translator()


def log_uniform_shares(torch, words):
    """[words]: the probability of each word in a log-uniform draw."""
    ranks = torch.arange(words)
    return torch.log((ranks + 2) / (ranks + 1)) / math.log(words + 1)


def log_expected_counts(torch, shares, tries):
    """The logarithm of how often classes with these shares are expected in `tries` draws, at most once each."""
    return torch.log(-torch.expm1(tries * torch.log1p(-shares)))


def seq2seq(torch, mode):
    """A step on 64 sentences of 40 and 50 positions, with 512 candidates a position."""
    batch, sources, targets, words, sampled = 64, 40, 50, 40000, 512

    def zipf(*shape):
        return (words ** torch.rand(shape)).long().clamp_(max=words - 1)

    net = translator(torch, words)
    source_ids, target_ids = zipf(sources, batch), zipf(targets + 1, batch)
    weights = (torch.arange(targets).unsqueeze(1) < torch.randint(20, targets, (batch,))).float()

    def loss_of(outputs):
        shares = log_uniform_shares(torch, words)
        ids = torch.multinomial(shares.expand(len(outputs), -1), sampled)
        expected = log_expected_counts(torch, shares, 800)
        return net.sampled_loss(outputs, target_ids[1:], weights, ids, lambda one: expected[one])

    def infer():
        outputs, logits = net.translate(source_ids, target_ids[0], targets)
        return logits, loss_of(outputs)

    if mode == "infer":
        return Inference(torch, infer)

    def prepare():
        """clip_grad_norm_ would leave sparse gradients as they are."""
        gradients = [
            parameter.grad.coalesce() if parameter.grad.is_sparse else parameter.grad
            for parameter in net.parameters()
        ]
        parts = [gradient.values() if gradient.is_sparse else gradient for gradient in gradients]
        norm = torch.nn.utils.get_total_norm(parts)
        for parameter, gradient in zip(net.parameters(), gradients):
            parameter.grad = gradient.mul_(min(1.0, 5 / norm.item()))

    return Training(
        torch,
        net,
        torch.optim.SGD(net.parameters(), 0.5),
        lambda: loss_of(net(source_ids, target_ids)),
        prepare,
    )
