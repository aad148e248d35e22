"""Deep Speech 2: models/tbd/deepspeech2.cc's network."""

from eager_steps.step import Inference, Training

SIZES = {
    "bins": 161,
    "channels": 32,
    "kernels": ((41, 11), (21, 11)),
    "layers": 5,
    "width": 800,
}
CLASSES = 29
STRIDES = ((2, 2), (2, 1))


def convolved(extent, axis, kernels):
    """The extent along an axis after both convolutions."""
    for kernel, stride in zip(kernels, STRIDES):
        extent = (extent - kernel[axis]) // stride[axis] + 1
    return extent


def recogniser(torch, bins, channels, kernels, layers, width):
    nn = torch.nn

    class BiGru(nn.Module):
        def __init__(self, inputs):
            super().__init__()
            self.gru = nn.GRU(inputs, width, bidirectional=True)

        def forward(self, x):
            states, _ = self.gru(x)
            ahead, back = states.split(width, -1)
            return ahead + back

    class FrameNorm(nn.Module):
        """Over the frames and utterances of [T, N, width]."""

        def __init__(self):
            super().__init__()
            self.norm = nn.BatchNorm1d(width)

        def forward(self, x):
            return self.norm(x.flatten(0, 1)).view_as(x)

    class Recogniser(nn.Module):
        def __init__(self):
            super().__init__()
            convolutions = []
            for inputs, kernel, stride in zip((1, channels), kernels, STRIDES):
                convolutions += [
                    nn.Conv2d(inputs, channels, kernel, stride),
                    nn.BatchNorm2d(channels),
                    nn.Hardtanh(0, 20, inplace=True),
                ]
            self.convolutions = nn.Sequential(*convolutions)
            recurrent = [BiGru(channels * convolved(bins, 0, kernels))]
            for _ in range(layers - 1):
                recurrent += [FrameNorm(), BiGru(width)]
            self.recurrent = nn.Sequential(*recurrent)
            self.head = nn.Sequential(FrameNorm(), nn.Linear(width, CLASSES, bias=False))

        def forward(self, spectrograms):
            """Spectrograms [N, 1, bins, frames] to logits [T, N, classes]."""
            x = self.convolutions(spectrograms).flatten(1, 2).permute(2, 0, 1).contiguous()
            return self.head(self.recurrent(x))

    return Recogniser()


def transcription_loss(torch, logits, frames, letters, letter_counts, kernels):
    """The mean CTC loss of the utterances, whose spectrograms have `frames` frames. The blank is 0."""
    lengths = convolved(frames, 1, kernels)
    scores = torch.log_softmax(logits.float() if logits.dtype != torch.float64 else logits, -1)
    return torch.nn.functional.ctc_loss(
        scores, letters, lengths, letter_counts, 0, "none", zero_infinity=True
    ).mean()


def deepspeech2(torch, mode, batch=4, frames=1300):
    """A step on utterances of about 13 seconds."""
    net = recogniser(torch, **SIZES)
    spectrograms = torch.randn(batch, 1, SIZES["bins"], frames)
    lengths = torch.randint(frames * 12 // 13 + 1, frames + 1, (batch,))
    if mode == "infer":
        return Inference(torch, net, spectrograms)
    letter_counts = (lengths * 0.145).long()
    letters = torch.randint(1, CLASSES, (batch, int(letter_counts.max())))

    def loss():
        logits = net(spectrograms)
        return transcription_loss(torch, logits, lengths, letters, letter_counts, SIZES["kernels"])

    def prepare():
        torch.nn.utils.clip_grad_norm_(net.parameters(), 400)

    optimizer = torch.optim.SGD(net.parameters(), 3e-4, momentum=0.9, nesterov=True)
    return Training(torch, net, optimizer, loss, prepare)
