"""Deep Q-network."""

from eager_steps.step import Inference, Training


def deepq(torch, mode):
    """models/fathom/deepq.cc's network of 2015, with PyTorch's own RMSprop."""
    nn = torch.nn
    net = nn.Sequential(
        *(nn.Conv2d(4, 32, 8, 4), nn.ReLU(), nn.Conv2d(32, 64, 4, 2), nn.ReLU()),
        *(nn.Conv2d(64, 64, 3), nn.ReLU(), nn.Flatten()),
        *(nn.Linear(3136, 512), nn.ReLU(), nn.Linear(512, 4)),
    )
    batch = 32 if mode == "train" else 1
    states = torch.rand(batch, 4, 84, 84)
    if mode == "infer":
        return Inference(torch, net, states)
    taken = torch.randint(4, (batch, 1))
    rewards, terminals, next_values = torch.rand(3, batch)

    def loss():
        aim = rewards + 0.99 * (1 - terminals) * next_values
        value = net(states).gather(1, taken).squeeze(1)
        return nn.functional.huber_loss(value, aim, reduction="sum")

    optimizer = torch.optim.RMSprop(net.parameters(), 2.5e-4, alpha=0.95, eps=0.1)
    return Training(torch, net, optimizer, loss, images=[states])
