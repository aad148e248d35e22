"""Functions that run one step, in one of PyTorch's modes."""

MODES = ("eager", "channels_last", "compile")


def lay_out_images(torch, tensors):
    """Changes tensors [N, C, H, W] in place to channels_last."""
    for tensor in tensors:
        if isinstance(tensor, torch.Tensor) and tensor.dim() == 4:
            tensor.data = tensor.contiguous(memory_format=torch.channels_last)


class Inference:
    """Runs one forward pass when called."""

    def __init__(self, torch, net, *inputs):
        self.torch, self.net, self.inputs = torch, net, inputs

    def __call__(self):
        with self.torch.inference_mode():
            self.net(*self.inputs)

    def use(self, mode):
        if mode == "channels_last":
            is_module = isinstance(self.net, self.torch.nn.Module)
            parameters = self.net.parameters() if is_module else ()
            lay_out_images(self.torch, (*parameters, *self.inputs))
        elif mode == "compile":
            self.net = self.torch.compile(self.net)


def averaged(torch, net, loss):
    """The function `loss`; its backward pass also averages the gradients of `net` over the ranks."""

    class Loss(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.net = net  # DistributedDataParallel looks for its parameters and their modules

        def forward(self, *inputs):
            return loss(*inputs)

    return torch.nn.parallel.DistributedDataParallel(
        Loss(), bucket_cap_mb=25, broadcast_buffers=False, gradient_as_bucket_view=True
    )


class Training:
    """Runs loss, backward pass, `prepare` (changes to the gradients) and update when called."""

    def __init__(self, torch, net, optimizer, loss, prepare=lambda: None, images=()):
        self.torch, self.net, self.optimizer, self.loss = torch, net, optimizer, loss
        self.prepare, self.images = prepare, images

    def __call__(self):
        self.optimizer.zero_grad()
        self.loss().backward()
        self.prepare()
        self.optimizer.step()

    def join_ranks(self):
        """Makes this a step of one rank. After use("channels_last") and before use("compile")."""
        self.loss = averaged(self.torch, self.net, self.loss)

    def use(self, mode):
        if mode == "channels_last":
            parameters = (one for group in self.optimizer.param_groups for one in group["params"])
            lay_out_images(self.torch, (*parameters, *self.images))
        elif mode == "compile":
            self.loss = self.torch.compile(self.loss)
