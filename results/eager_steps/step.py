"""What a step is made of."""


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
