"""The mixture of experts of models/modern/experts.cc, with the ops of transformers' "grouped_mm" experts."""


def grouped(torch, x, weight, ends):
    """The rows of x up to each of `ends` times the transposed matrix of their expert."""
    if x.dtype != torch.float64:
        return torch._grouped_mm(x, weight.transpose(1, 2), offs=ends)
    begins = [0, *ends[:-1].tolist()]  # _grouped_mm has no float64
    return torch.cat(
        [x[begin:end] @ one.t() for begin, end, one in zip(begins, ends.tolist(), weight)]
    )


def experts_layer(torch, width, inner, count, chosen):
    nn = torch.nn

    class Experts(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate_up_proj = nn.Parameter(torch.empty(count, 2 * inner, width))
            self.down_proj = nn.Parameter(torch.empty(count, width, inner))
            self.router = nn.Linear(width, count, bias=False)

        def forward(self, x):
            tokens = x.flatten(0, 1)
            self.scores = self.router(tokens)
            best, experts = self.scores.topk(chosen)
            order = experts.flatten().argsort()
            counts = experts.flatten().bincount(minlength=count)
            self.counts = counts
            ends = counts.cumsum(0, dtype=torch.int32)
            gate, up = grouped(torch, tokens[order // chosen], self.gate_up_proj, ends).chunk(2, -1)
            found = grouped(torch, nn.functional.silu(gate) * up, self.down_proj, ends)
            found = found * best.softmax(-1).flatten()[order].unsqueeze(1).to(found.dtype)
            of_pairs = found[order.argsort()]
            return of_pairs.view(len(tokens), chosen, width).sum(1).view_as(x)

    return Experts()


def load_balancing_loss(torch, layers):
    """E times the sum over experts of their share of the tokens and their mean probability, over the last step of all
    layers."""
    counts = sum(layer.counts for layer in layers)
    mean = torch.cat([layer.scores for layer in layers]).softmax(-1).mean(0)
    return len(counts) * (counts / counts.sum() * mean).sum()
