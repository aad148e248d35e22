"""A memory network."""

from eager_steps.step import Inference, Training


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
        return Inference(torch, net, stories, questions)

    def prepare():
        with torch.no_grad():
            for parameter in net.parameters():
                nn.utils.clip_grad_norm_(parameter, 40)
                parameter.grad.add_(torch.randn_like(parameter), alpha=1e-3)
            net.memory_words.grad[0].zero_()
            net.question_words.grad[0].zero_()

    def loss():
        return nn.functional.cross_entropy(net(stories, questions), answers, reduction="sum")

    return Training(torch, net, torch.optim.Adam(net.parameters(), 0.01), loss, prepare)
