"""Translation as in TensorFlow NMT: models/tbd/nmt_net.cc's network."""

from eager_steps.step import Inference, Training

SIZES = {"sources": 17191, "targets": 7709, "width": 512}
LAYERS = 2
START = 1  # word id
IGNORED = -100  # label


def translator(torch, sources, targets, width):
    """Sources are padded behind; T positions of N sentences are [T, N]."""
    nn = torch.nn
    functional = nn.functional
    rnn = nn.utils.rnn

    class Translator(nn.Module):
        def __init__(self):
            super().__init__()
            self.source_words = nn.Embedding(sources, width)
            self.target_words = nn.Embedding(targets, width)
            self.encoder = nn.LSTM(width, width, LAYERS)
            self.decoder = nn.ModuleList(
                nn.LSTMCell(2 * width if layer == 0 else width, width) for layer in range(LAYERS)
            )
            self.keys = nn.Linear(width, width, bias=False)
            self.query = nn.Linear(width, width, bias=False)
            self.score = nn.Linear(width, 1, bias=False)
            self.attention = nn.Linear(2 * width, width, bias=False)
            self.projection = nn.Linear(width, targets, bias=False)
            for name, parameter in self.named_parameters():
                if parameter.dim() > 1:
                    nn.init.uniform_(parameter, -0.1, 0.1)
                else:
                    nn.init.zeros_(parameter)
                    if "bias_ih" in name:
                        nn.init.ones_(parameter[width : 2 * width])  # forget gate

        def encode(self, ids, lengths):
            packed = rnn.pack_padded_sequence(
                self.source_words(ids), lengths.cpu(), enforce_sorted=False
            )
            outputs, (h, c) = self.encoder(packed)
            memory, _ = rnn.pad_packed_sequence(outputs, batch_first=True, total_length=len(ids))
            padding = torch.arange(len(ids), device=ids.device) >= lengths.unsqueeze(1)
            return memory, self.keys(memory), padding, list(zip(h, c)), torch.zeros_like(h[0])

        def position(self, word, memory, keys, padding, states, attention):
            x = torch.cat((word, attention), 1)
            for layer, cell in enumerate(self.decoder):
                states[layer] = cell(x, states[layer])
                x = states[layer][0]
            scores = self.score(torch.tanh(keys + self.query(x).unsqueeze(1))).squeeze(2)
            shares = torch.softmax(scores.masked_fill(padding, float("-inf")), 1)
            context = torch.bmm(shares.unsqueeze(1), memory).squeeze(1)
            return self.attention(torch.cat((x, context), 1))

        def forward(self, source_ids, lengths, given):
            """Logits [T, N, words] where each position reads the true word before."""
            *encoding, attention = self.encode(source_ids, lengths)
            outputs = []
            for word in self.target_words(given).unbind():
                attention = self.position(word, *encoding, attention)
                outputs.append(attention)
            return self.projection(torch.stack(outputs))

        def translate(self, source_ids, lengths, ids, positions):
            """Logits of each position, which reads the likeliest word of the one before; the first reads `ids`."""
            *encoding, attention = self.encode(source_ids, lengths)
            logits = []
            for _ in range(positions):
                attention = self.position(self.target_words(ids), *encoding, attention)
                logits.append(self.projection(attention))
                ids = logits[-1].argmax(1)
            return logits

        def loss(self, source_ids, lengths, given, wanted):
            """The sum over the words, divided by the number of sentences."""
            logits = self(source_ids, lengths, given).flatten(0, 1)
            sum_of_words = functional.cross_entropy(
                logits, wanted.flatten(), ignore_index=IGNORED, reduction="sum"
            )
            return sum_of_words / len(lengths)

    return Translator()


def nmt(torch, mode, batch=128, positions=30, shortest=21):
    """A step on sentences and translations of `shortest` to `positions` positions."""
    net = translator(torch, **SIZES)
    source_ids = torch.randint(3, SIZES["sources"], (positions, batch))
    lengths, target_lengths = torch.randint(shortest, positions + 1, (2, batch))
    words = torch.randint(3, SIZES["targets"], (positions, batch))
    given = torch.cat((torch.full((1, batch), START), words[:-1]))
    wanted = words.masked_fill(torch.arange(positions).unsqueeze(1) >= target_lengths, IGNORED)
    if mode == "infer":
        return Inference(torch, net.translate, source_ids, lengths, given[0], positions)

    def prepare():
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)

    return Training(
        torch,
        net,
        torch.optim.Adam(net.parameters(), lr=3e-4),
        lambda: net.loss(source_ids, lengths, given, wanted),
        prepare,
    )
