"""Translation with additive attention."""

import math

from eager_steps.step import inference, training


def seq2seq(torch, mode):
    """models/fathom/seq2seq.cc's translator for sentences of 40 and 50 positions."""
    nn, batch, sources, targets = torch.nn, 64, 40, 50
    width, layers, words, sampled = 256, 3, 40000, 512

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
            query = self.query(torch.cat([part for state in states for part in state], 1))
            scores = self.score(torch.tanh(keys + query.unsqueeze(1)))
            context = torch.bmm(torch.softmax(scores, 1).transpose(1, 2), memory).squeeze(1)
            return self.merge_output(torch.cat((x, context), 1)), context

        def sampled_loss(self, outputs, labels, weights):
            ranks = torch.arange(words)
            shares = torch.log((ranks + 2) / (ranks + 1)) / math.log(words + 1)
            ids = torch.multinomial(shares.expand(len(outputs), -1), sampled)
            expected = torch.log(-torch.expm1(800 * torch.log1p(-shares)))
            rows = nn.functional.embedding(torch.cat((labels, ids), 1), self.projection.weight)
            own_rows, rows = rows.split((batch, sampled), 1)
            offsets = self.projection.bias - expected
            own = (outputs * own_rows).sum(2) + offsets[labels]
            others = torch.bmm(outputs, rows.transpose(1, 2)) + offsets[ids].unsqueeze(1)
            others = others.masked_fill(labels.unsqueeze(2) == ids.unsqueeze(1), -math.inf)
            losses = torch.logsumexp(torch.cat((own.unsqueeze(2), others), 2), 2) - own
            return ((losses * weights).sum(0) / weights.sum(0)).mean()

    def zipf(*shape):
        return (words ** torch.rand(shape)).long().clamp_(max=words - 1)

    net = Translator()
    source_ids, target_ids = zipf(sources, batch), zipf(targets + 1, batch)
    weights = (torch.arange(targets).unsqueeze(1) < torch.randint(20, targets, (batch,))).float()

    def infer():
        memory, keys, states, context = net.encode(source_ids)
        ids, outputs, logits = target_ids[0], [], []
        for _ in range(targets):
            output, context = net.position(net.target_words(ids), memory, keys, states, context)
            outputs.append(output)
            logits.append(net.projection(output))
            ids = logits[-1].argmax(1)
        return logits, net.sampled_loss(torch.stack(outputs), target_ids[1:], weights)

    if mode == "infer":
        return inference(torch, infer)

    def loss():
        memory, keys, states, context = net.encode(source_ids)
        outputs = []
        for word in net.target_words(target_ids[:-1]).unbind():
            output, context = net.position(word, memory, keys, states, context)
            outputs.append(output)
        return net.sampled_loss(torch.stack(outputs), target_ids[1:], weights)

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

    return training(torch.optim.SGD(net.parameters(), 0.5), loss, prepare)
