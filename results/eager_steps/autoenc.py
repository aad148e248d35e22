"""A variational auto-encoder."""

from eager_steps.step import Inference, Training


def autoenc(torch, mode):
    """models/fathom/autoenc.cc's linear variational auto-encoder."""
    nn = torch.nn

    class Autoencoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.mean = nn.Linear(784, 200)
            self.log_variance = nn.Linear(784, 200)
            self.decoder = nn.Linear(200, 784)

        def forward(self, x):
            mean, log_variance = self.mean(x), self.log_variance(x)
            deviation = log_variance.exp().sqrt()
            code = mean + deviation * torch.randn_like(deviation)
            return self.decoder(code), mean, log_variance

    net = Autoencoder()
    pixels = torch.randn(128, 784)
    if mode == "infer":
        return Inference(torch, net, pixels)

    def loss():
        made, mean, log_variance = net(pixels)
        divergence = -0.5 * (1 + log_variance - mean.square() - log_variance.exp()).sum(1).mean()
        return 0.5 * (made - pixels).square().sum() + divergence

    return Training(torch, net, torch.optim.Adam(net.parameters(), 1e-3), loss)
