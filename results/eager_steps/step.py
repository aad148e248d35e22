"""Functions that run one step."""


def inference(torch, net, *inputs):
    """Returns a function that runs one forward pass."""

    def step():
        with torch.inference_mode():
            net(*inputs)

    return step


def training(optimizer, loss, prepare=lambda: None):
    """Returns a function that runs loss, backward pass, `prepare` (changes to the gradients) and update."""

    def step():
        optimizer.zero_grad()
        loss().backward()
        prepare()
        optimizer.step()

    return step
