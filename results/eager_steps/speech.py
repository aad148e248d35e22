"""Deep Speech."""

from eager_steps.step import Inference, Training


def deep_speech(torch, width=2048, classes=62):
    """models/fathom/speech.cc's recurrent network, for 26 features a frame."""
    nn = torch.nn

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
            self.classes = nn.Linear(width, classes)

        def recurrence(self, x, recurrent, mask, times):
            """x and mask by frame."""
            states, state = [None] * len(x), None
            for t in times:
                state = x[t] if state is None else x[t] + recurrent(state)
                state = states[t] = clipped(state) * mask[t]
            return torch.stack(states)

        def forward(self, features, mask):
            """Features [N, T, 26] and a mask [T, N, 1] of the frames to logits [T, N, classes]."""
            x = features.transpose(0, 1)
            for layer in (self.dense1, self.dense2, self.dense3):
                x = clipped(layer(x))
            x = self.input4(x).unbind()  # the gradient of x[t] would be as large as that of x
            mask = mask.unbind()
            ahead = self.recurrence(x, self.forward4, mask, range(len(x)))
            back = self.recurrence(x, self.backward4, mask, reversed(range(len(x))))
            return self.classes(clipped(self.dense5(ahead + back)))

    return DeepSpeech()


def mask_of(torch, lengths, frames):
    """[T, N, 1]: 1 in the frames of each utterance, 0 after its end."""
    return (torch.arange(frames).unsqueeze(1) < lengths).unsqueeze(2).float()


def speech_loss(torch, logits, lengths, phones, phone_counts):
    """The mean CTC loss of the utterances. The last class is the blank."""
    scores = torch.log_softmax(logits, -1)
    blank = logits.shape[-1] - 1
    return torch.nn.functional.ctc_loss(
        scores, phones, lengths, phone_counts, blank, "none", zero_infinity=True
    ).mean()


def speech(frames, torch, mode):
    """A step on 32 utterances."""
    batch = 32
    net = deep_speech(torch)
    features = torch.randn(batch, frames, 26)
    lengths = torch.randint(frames // 5, frames, (batch,))
    mask = mask_of(torch, lengths, frames)
    if mode == "infer":
        return Inference(torch, net, features, mask)
    phone_counts = torch.clamp(lengths // 16, min=2)
    phones = torch.randint(61, (batch, int(phone_counts.max())))

    def loss():
        return speech_loss(torch, net(features, mask), lengths, phones, phone_counts)

    def prepare():
        torch.nn.utils.clip_grad_norm_(net.parameters(), 5)

    return Training(torch, net, torch.optim.SGD(net.parameters(), 0.01), loss, prepare)
