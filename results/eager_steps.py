"""Training and inference steps in PyTorch's own Python, eager, as its users write them: the other side of
against_pytorch.py. Each workload is a function of (torch, mode) that gives a closure of one step; mode is "train" or
"infer".
"""

import functools
import math


def he(torch, net):
    """models/layers.cc's initialise_he."""
    for module in net.modules():
        if isinstance(module, torch.nn.Conv2d):
            torch.nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
        elif isinstance(module, torch.nn.Linear):
            torch.nn.init.normal_(module.weight, std=0.01)
        if getattr(module, "bias", None) is not None and not hasattr(module, "running_mean"):
            torch.nn.init.zeros_(module.bias)


def vgg(torch):
    """VGG-19 as models/fathom/vgg.cc builds it, for 224 x 224 images: the network and its SGD."""
    nn = torch.nn
    layers, channels = [], 3
    for convolutions, width in ((2, 64), (2, 128), (4, 256), (4, 512), (4, 512)):
        for _ in range(convolutions):
            layers += [nn.Conv2d(channels, width, 3, padding=1), nn.ReLU()]
            channels = width
        layers.append(nn.MaxPool2d(2))
    layers += [nn.Flatten(), nn.Linear(512 * 7 * 7, 4096), nn.ReLU(), nn.Dropout(0.5)]
    layers += [nn.Linear(4096, 4096), nn.ReLU(), nn.Dropout(0.5), nn.Linear(4096, 1000)]
    net = nn.Sequential(*layers)
    he(torch, net)
    return net, {"lr": 0.01, "momentum": 0.9, "weight_decay": 5e-4}


def alexnet(torch):
    """models/fathom/alexnet.cc's network of 2012, with LibTorch's composite normalisation."""
    nn = torch.nn
    norm = {"size": 5, "alpha": 5e-4, "beta": 0.75, "k": 2.0}
    net = nn.Sequential(
        *(nn.Conv2d(3, 96, 11, 4, 2), nn.ReLU(), nn.LocalResponseNorm(**norm), nn.MaxPool2d(3, 2)),
        *(nn.Conv2d(96, 256, 5, padding=2, groups=2), nn.ReLU(), nn.LocalResponseNorm(**norm)),
        *(nn.MaxPool2d(3, 2), nn.Conv2d(256, 384, 3, padding=1), nn.ReLU()),
        *(nn.Conv2d(384, 384, 3, padding=1, groups=2), nn.ReLU()),
        *(nn.Conv2d(384, 256, 3, padding=1, groups=2), nn.ReLU(), nn.MaxPool2d(3, 2)),
        *(nn.Flatten(), nn.Linear(9216, 4096), nn.ReLU(), nn.Dropout(0.5)),
        *(nn.Linear(4096, 4096), nn.ReLU(), nn.Dropout(0.5), nn.Linear(4096, 1000)),
    )
    for parameter in net.parameters():
        torch.nn.init.normal_(parameter, std=0.01)
    return net, {"lr": 0.01, "momentum": 0.9, "weight_decay": 5e-4}


def residual(torch):
    """models/fathom/residual.cc's ResNet-34."""
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, inputs, outputs, stride):
            super().__init__()
            self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
            self.norm1 = nn.BatchNorm2d(outputs)
            self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
            self.norm2 = nn.BatchNorm2d(outputs)
            self.shortcut = nn.Identity()
            if stride > 1:
                project = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
                self.shortcut = nn.Sequential(project, nn.BatchNorm2d(outputs))

        def forward(self, x):
            inner = self.norm1(self.conv1(x)).relu()
            return self.norm2(self.conv2(inner)).add_(self.shortcut(x)).relu_()

    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU()]
    layers.append(nn.MaxPool2d(3, 2, 1))
    channels = 64
    for stage, (blocks, width) in enumerate(((3, 64), (4, 128), (6, 256), (3, 512))):
        for block in range(blocks):
            layers.append(Block(channels, width, 2 if stage > 0 and block == 0 else 1))
            channels = width
    net = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))
    he(torch, net)
    return net, {"lr": 0.1, "momentum": 0.9, "weight_decay": 1e-4}


def image_step(network, batch, torch, mode):
    """A step of a classifier of 224 x 224 images."""
    net, options = network(torch)
    images = torch.rand(batch, 3, 224, 224) * 2 - 1
    labels = torch.randint(1000, (batch,))
    if mode == "infer":
        return inference(torch, net.eval(), images)
    optimizer = torch.optim.SGD(net.parameters(), **options)
    return training(optimizer, lambda: torch.nn.functional.cross_entropy(net(images), labels))


def inference(torch, net, *inputs):
    """A closure of one pass."""

    def step():
        with torch.inference_mode():
            net(*inputs)

    return step


def training(optimizer, loss, prepare=lambda: None):
    """A closure of loss, backward pass, what happens to the gradients, and update."""

    def step():
        optimizer.zero_grad()
        loss().backward()
        prepare()
        optimizer.step()

    return step


def memnet(torch, mode):
    """models/fathom/memnet.cc's memory network."""
    nn, width, words, slots, vocabulary, batch = torch.nn, 20, 6, 10, 20, 32

    class MemoryNetwork(nn.Module):
        def __init__(self):
            super().__init__()
            self.memory_words = nn.Parameter(torch.randn(vocabulary, width) * 0.1)
            self.question_words = nn.Parameter(torch.randn(vocabulary, width) * 0.1)
            self.slots = nn.Parameter(torch.randn(slots, width) * 0.1)
            self.between_hops = nn.Parameter(torch.randn(width, width) * 0.1)
            self.answer = nn.Parameter(torch.randn(width, vocabulary) * 0.1)
            self.register_buffer("encoding", torch.rand(words, width))

        def encoded(self, table, ids):
            return (nn.functional.embedding(ids, table) * self.encoding).sum(-2)

        def forward(self, stories, questions):
            memories = self.encoded(self.memory_words, stories) + self.slots
            state = self.encoded(self.question_words, questions)
            for _ in range(3):
                match = torch.softmax(torch.bmm(memories, state.unsqueeze(2)).squeeze(2), 1)
                read = torch.bmm(match.unsqueeze(1), memories).squeeze(1)
                state = state @ self.between_hops + read
            return state @ self.answer

    net = MemoryNetwork()
    stories = torch.randint(vocabulary, (batch, slots, words))
    questions = torch.randint(vocabulary, (batch, words))
    answers = torch.randint(1, vocabulary, (batch,))
    if mode == "infer":
        return inference(torch, net, stories, questions)

    def prepare():
        with torch.no_grad():
            for parameter in net.parameters():
                nn.utils.clip_grad_norm_(parameter, 40)
                parameter.grad.add_(torch.randn_like(parameter), alpha=1e-3)
            net.memory_words.grad[0].zero_()
            net.question_words.grad[0].zero_()

    def loss():
        return nn.functional.cross_entropy(net(stories, questions), answers, reduction="sum")

    return training(torch.optim.Adam(net.parameters(), 0.01), loss, prepare)


def autoenc(torch, mode):
    """models/fathom/autoenc.cc's linear variational auto-encoder."""
    nn = torch.nn

    class Autoencoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.mean = nn.Linear(784, 200)
            self.log_variance = nn.Linear(784, 200)
            self.decoder = nn.Linear(200, 784)

        def forward(self, x):
            mean, log_variance = self.mean(x), self.log_variance(x)
            deviation = log_variance.exp().sqrt()
            code = mean + deviation * torch.randn_like(deviation)
            return self.decoder(code), mean, log_variance

    net = Autoencoder()
    pixels = torch.randn(128, 784)
    if mode == "infer":
        return inference(torch, net, pixels)

    def loss():
        made, mean, log_variance = net(pixels)
        divergence = -0.5 * (1 + log_variance - mean.square() - log_variance.exp()).sum(1).mean()
        return 0.5 * (made - pixels).square().sum() + divergence

    return training(torch.optim.Adam(net.parameters(), 1e-3), loss)


def deepq(torch, mode):
    """models/fathom/deepq.cc's network of 2015, with PyTorch's own RMSprop."""
    nn = torch.nn
    net = nn.Sequential(
        *(nn.Conv2d(4, 32, 8, 4), nn.ReLU(), nn.Conv2d(32, 64, 4, 2), nn.ReLU()),
        *(nn.Conv2d(64, 64, 3), nn.ReLU(), nn.Flatten()),
        *(nn.Linear(3136, 512), nn.ReLU(), nn.Linear(512, 4)),
    )
    batch = 32 if mode == "train" else 1
    states = torch.rand(batch, 4, 84, 84)
    if mode == "infer":
        return inference(torch, net, states)
    taken = torch.randint(4, (batch, 1))
    rewards, terminals, next_values = torch.rand(3, batch)

    def loss():
        aim = rewards + 0.99 * (1 - terminals) * next_values
        value = net(states).gather(1, taken).squeeze(1)
        return nn.functional.huber_loss(value, aim, reduction="sum")

    return training(torch.optim.RMSprop(net.parameters(), 2.5e-4, alpha=0.95, eps=0.1), loss)


def speech(frames, torch, mode):
    """models/fathom/speech.cc's recurrent network."""
    nn, width, batch = torch.nn, 2048, 32

    def clipped(x):
        return nn.functional.hardtanh(x, 0, 20)

    class DeepSpeech(nn.Module):
        def __init__(self):
            super().__init__()
            self.dense1 = nn.Linear(26, width)
            self.dense2 = nn.Linear(width, width)
            self.dense3 = nn.Linear(width, width)
            self.input4 = nn.Linear(width, width)
            self.forward4 = nn.Linear(width, width, bias=False)
            self.backward4 = nn.Linear(width, width, bias=False)
            self.dense5 = nn.Linear(width, width)
            self.classes = nn.Linear(width, 62)

        def recurrence(self, x, recurrent, mask, times):
            states, state = [None] * len(x), None
            for t in times:
                state = x[t] if state is None else x[t] + recurrent(state)
                state = states[t] = clipped(state) * mask[t]
            return torch.stack(states)

        def forward(self, features, mask):
            x = features.transpose(0, 1)
            for layer in (self.dense1, self.dense2, self.dense3):
                x = clipped(layer(x))
            x = self.input4(x)
            ahead = self.recurrence(x, self.forward4, mask, range(len(x)))
            back = self.recurrence(x, self.backward4, mask, reversed(range(len(x))))
            return self.classes(clipped(self.dense5(ahead + back)))

    net = DeepSpeech()
    features = torch.randn(batch, frames, 26)
    lengths = torch.randint(frames // 5, frames, (batch,))
    mask = (torch.arange(frames).unsqueeze(1) < lengths).unsqueeze(2).float()
    if mode == "infer":
        return inference(torch, net, features, mask)
    phone_counts = torch.clamp(lengths // 16, min=2)
    phones = torch.randint(61, (batch, int(phone_counts.max())))

    def loss():
        scores = torch.log_softmax(net(features, mask), -1)
        return nn.functional.ctc_loss(
            scores, phones, lengths, phone_counts, 61, "none", zero_infinity=True
        ).mean()

    def prepare():
        nn.utils.clip_grad_norm_(net.parameters(), 5)

    return training(torch.optim.SGD(net.parameters(), 0.01), loss, prepare)


def seq2seq(torch, mode):
    """models/fathom/seq2seq.cc's translator for sentences of 40 and 50 positions."""
    nn, width, layers, words, batch, sources, targets, sampled = (
        torch.nn,
        256,
        3,
        40000,
        64,
        40,
        50,
        512,
    )

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
            read = torch.zeros_like(h[0])
            return memory, self.keys(memory), list(zip(h, c)), read

        def position(self, word, memory, keys, states, read):
            x = self.merge_input(torch.cat((word, read), 1))
            for layer, cell in enumerate(self.decoder):
                states[layer] = cell(x, states[layer])
                x = states[layer][0]
            query = self.query(torch.cat([part for state in states for part in state], 1))
            scores = self.score(torch.tanh(keys + query.unsqueeze(1)))
            read = torch.bmm(torch.softmax(scores, 1).transpose(1, 2), memory).squeeze(1)
            return self.merge_output(torch.cat((x, read), 1)), read

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
        memory, keys, states, read = net.encode(source_ids)
        ids, outputs, logits = target_ids[0], [], []
        for _ in range(targets):
            output, read = net.position(net.target_words(ids), memory, keys, states, read)
            outputs.append(output)
            logits.append(net.projection(output))
            ids = logits[-1].argmax(1)
        return logits, net.sampled_loss(torch.stack(outputs), target_ids[1:], weights)

    if mode == "infer":
        return inference(torch, infer)

    def loss():
        memory, keys, states, read = net.encode(source_ids)
        outputs = []
        for word in net.target_words(target_ids[:-1]).unbind():
            output, read = net.position(word, memory, keys, states, read)
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


WORKLOADS = {
    "seq2seq": seq2seq,
    "memnet": memnet,
    "speech_150": functools.partial(speech, 150),
    "autoenc": autoenc,
    "residual": functools.partial(image_step, residual, 16),
    "vgg": functools.partial(image_step, vgg, 8),
    "alexnet": functools.partial(image_step, alexnet, 64),
    "deepq": deepq,
}
