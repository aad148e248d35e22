"""Image classifiers. Sizes are arguments, because tests build small networks."""

from eager_steps.step import Inference, Training


def he(torch, net):
    """initialise_he of models/layers.cc."""
    for module in net.modules():
        if isinstance(module, torch.nn.Conv2d):
            torch.nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
        elif isinstance(module, torch.nn.Linear):
            torch.nn.init.normal_(module.weight, std=0.01)
        if getattr(module, "bias", None) is not None and not hasattr(module, "running_mean"):
            torch.nn.init.zeros_(module.bias)


def vgg(torch, side=224, divisor=1, hidden=4096, classes=1000):
    """models/fathom/vgg.cc's VGG-19 and the options of its SGD. `divisor` divides the widths."""
    nn = torch.nn
    layers, channels = [], 3
    for convolutions, width in ((2, 64), (2, 128), (4, 256), (4, 512), (4, 512)):
        for _ in range(convolutions):
            layers += [nn.Conv2d(channels, width // divisor, 3, padding=1), nn.ReLU()]
            channels = width // divisor
        layers.append(nn.MaxPool2d(2))
    flat = channels * (side // 32) ** 2
    layers += [nn.Flatten(), nn.Linear(flat, hidden), nn.ReLU(), nn.Dropout(0.5)]
    layers += [nn.Linear(hidden, hidden), nn.ReLU(), nn.Dropout(0.5), nn.Linear(hidden, classes)]
    net = nn.Sequential(*layers)
    he(torch, net)
    return net, {"lr": 0.01, "momentum": 0.9, "weight_decay": 5e-4}


def alexnet(torch, divisor=1, last_side=6, hidden=4096, classes=1000):
    """models/fathom/alexnet.cc's network of 2012, with PyTorch's composite LocalResponseNorm. After the last pooling
    images have `last_side` x `last_side` pixels.
    """
    nn = torch.nn
    a, b, c = 96 // divisor, 256 // divisor, 384 // divisor
    norm = {"size": 5, "alpha": 5e-4, "beta": 0.75, "k": 2.0}
    net = nn.Sequential(
        *(nn.Conv2d(3, a, 11, 4, 2), nn.ReLU(), nn.LocalResponseNorm(**norm), nn.MaxPool2d(3, 2)),
        *(nn.Conv2d(a, b, 5, padding=2, groups=2), nn.ReLU(), nn.LocalResponseNorm(**norm)),
        *(nn.MaxPool2d(3, 2), nn.Conv2d(b, c, 3, padding=1), nn.ReLU()),
        *(nn.Conv2d(c, c, 3, padding=1, groups=2), nn.ReLU()),
        *(nn.Conv2d(c, b, 3, padding=1, groups=2), nn.ReLU(), nn.MaxPool2d(3, 2)),
        *(nn.Flatten(), nn.Linear(b * last_side**2, hidden), nn.ReLU(), nn.Dropout(0.5)),
        *(nn.Linear(hidden, hidden), nn.ReLU(), nn.Dropout(0.5), nn.Linear(hidden, classes)),
    )
    for parameter in net.parameters():
        torch.nn.init.normal_(parameter, std=0.01)
    return net, {"lr": 0.01, "momentum": 0.9, "weight_decay": 5e-4}


def residual(torch, divisor=1, classes=1000):
    """models/fathom/residual.cc's ResNet-34. `divisor` divides the widths."""
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, inputs, outputs, stride):
            super().__init__()
            self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(outputs)
            self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(outputs)
            self.downsample = nn.Identity()
            if stride > 1:
                convolution = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
                self.downsample = nn.Sequential(convolution, nn.BatchNorm2d(outputs))

        def forward(self, x):
            inner = self.bn1(self.conv1(x)).relu()
            return self.bn2(self.conv2(inner)).add_(self.downsample(x)).relu_()

    channels = 64 // divisor
    layers = [nn.Conv2d(3, channels, 7, 2, 3, bias=False), nn.BatchNorm2d(channels), nn.ReLU()]
    layers.append(nn.MaxPool2d(3, 2, 1))
    for stage, (blocks, width) in enumerate(((3, 64), (4, 128), (6, 256), (3, 512))):
        for block in range(blocks):
            layers.append(Block(channels, width // divisor, 2 if stage > 0 and block == 0 else 1))
            channels = width // divisor
    net = nn.Sequential(
        *layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes)
    )
    he(torch, net)
    return net, {"lr": 0.1, "momentum": 0.9, "weight_decay": 1e-4}


SGD_OF_32_IMAGES = {"lr": 0.0125, "momentum": 0.9, "weight_decay": 1e-4}


def resnet50(torch):
    """torchvision's ResNet-50."""
    from torchvision.models import resnet50 as network

    return network(), SGD_OF_32_IMAGES


def inception_v3(torch):
    """torchvision's Inception-v3. In training it returns the logits of both classifiers."""
    from torchvision.models import inception_v3 as network

    return network(init_weights=False), SGD_OF_32_IMAGES


def image_loss(torch, net, images, labels):
    logits = net(images)
    if isinstance(logits, torch.Tensor):
        return torch.nn.functional.cross_entropy(logits, labels)
    main, auxiliary = (torch.nn.functional.cross_entropy(one, labels) for one in logits)
    return main + 0.4 * auxiliary


def image_step(network, batch, torch, mode, side=224):
    """A step of a classifier of images of `side` x `side` pixels."""
    net, options = network(torch)
    images = torch.rand(batch, 3, side, side) * 2 - 1
    labels = torch.randint(1000, (batch,))
    if mode == "infer":
        return Inference(torch, net.eval(), images)
    optimizer = torch.optim.SGD(net.parameters(), **options)
    return Training(
        torch, net, optimizer, lambda: image_loss(torch, net, images, labels), images=[images]
    )
