"""Deep Speech."""

from eager_steps.step import inference, training


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
