"""WGAN-GP: models/tbd/wgan.cc's residual generator and critic."""

import functools

from eager_steps.step import Inference, averaged

NOISE = 128
WIDTHS = (512, 512, 256, 128, 64)  # from 4 x 4 to 64 x 64 pixels
CRITIC_UPDATES = 5


def networks(torch):
    """The generator and the critic."""
    nn = torch.nn

    def convolution(inputs, outputs, kernel, bias=True):
        return nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2, bias=bias)

    def batch_norm(channels):
        return nn.BatchNorm2d(channels, track_running_stats=False)

    def layer_norm(channels):
        return nn.GroupNorm(1, channels)

    class Residual(nn.Module):
        def __init__(self, path, shortcut):
            super().__init__()
            self.path = nn.Sequential(*path)
            self.shortcut = nn.Sequential(*shortcut)

        def forward(self, x):
            return self.path(x) + self.shortcut(x)

    def up_block(inputs, outputs):
        first = (batch_norm(inputs), nn.ReLU(), nn.Upsample(scale_factor=2))
        first += (convolution(inputs, outputs, 3, bias=False),)
        second = (batch_norm(outputs), nn.ReLU(), convolution(outputs, outputs, 3))
        return Residual(
            first + second, (nn.Upsample(scale_factor=2), convolution(inputs, outputs, 1))
        )

    def down_block(inputs, outputs):
        first = (layer_norm(inputs), nn.ReLU(), convolution(inputs, inputs, 3, bias=False))
        second = (layer_norm(inputs), nn.ReLU(), convolution(inputs, outputs, 3), nn.AvgPool2d(2))
        return Residual(first + second, (nn.AvgPool2d(2), convolution(inputs, outputs, 1)))

    generator = nn.Sequential(
        *(nn.Linear(NOISE, WIDTHS[0] * 16), nn.Unflatten(1, (WIDTHS[0], 4, 4))),
        *(up_block(*widths) for widths in zip(WIDTHS, WIDTHS[1:])),
        *(batch_norm(WIDTHS[-1]), nn.ReLU(), convolution(WIDTHS[-1], 3, 3), nn.Tanh()),
    )
    critic = nn.Sequential(
        convolution(3, WIDTHS[-1], 3),
        *(down_block(*widths) for widths in zip(WIDTHS[::-1], WIDTHS[-2::-1])),
        *(nn.Flatten(), nn.Linear(WIDTHS[0] * 16, 1)),
    )
    return generator, critic


def critic_loss(torch, critic, real, made_up):
    share = torch.rand(len(real), 1, 1, 1)
    between = (real + share * (made_up - real)).requires_grad_()
    values = critic(between).sum()
    (gradient,) = torch.autograd.grad(values, between, create_graph=True)
    penalty = 10 * (gradient.flatten(1).norm(2, 1) - 1).square().mean()
    return critic(made_up).mean() - critic(real).mean() + penalty


class Training:
    """One update of the generator, then five of the critic."""

    def __init__(self, torch, nets, batch):
        self.torch, self.batch, (generator, critic) = torch, batch, nets
        self.generator, self.critic = generator, critic
        self.generator_loss = lambda noise: -critic(generator(noise)).mean()
        self.critic_loss = functools.partial(critic_loss, torch, critic)
        self.real = torch.rand(CRITIC_UPDATES, batch, 3, 64, 64) * 2 - 1
        self.adams = [torch.optim.Adam(net.parameters(), lr=1e-4, betas=(0.0, 0.9)) for net in nets]

    def __call__(self):
        self.critic.requires_grad_(False)
        self.update(self.adams[0], self.generator_loss, self.noise())
        self.critic.requires_grad_(True)
        for images in self.real:
            with self.torch.no_grad():
                made_up = self.generator(self.noise())
            self.update(self.adams[1], self.critic_loss, images, made_up)

    def noise(self):
        return self.torch.randn(self.batch, NOISE)

    def update(self, adam, loss, *inputs):
        adam.zero_grad()
        loss(*inputs).backward()
        adam.step()

    def join_ranks(self):
        self.generator_loss = averaged(self.torch, self.generator, self.generator_loss)
        self.critic_loss = averaged(self.torch, self.critic, self.critic_loss)


def wgan(torch, mode, batch=16):
    nets = networks(torch)
    if mode == "infer":
        return Inference(torch, nets[0], torch.randn(batch, NOISE))
    return Training(torch, nets, batch)
