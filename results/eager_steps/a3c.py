"""A3C: models/tbd/a3c.cc's advantage actor-critic."""

from eager_steps.step import Inference, Training


def actor_critic(torch, channels=16, hidden=256, actions=6):
    nn = torch.nn

    class ActorCritic(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(4, channels, 8, 4)
            self.conv2 = nn.Conv2d(channels, 2 * channels, 4, 2)
            self.hidden = nn.Linear(2 * channels * 81, hidden)
            self.policy = nn.Linear(hidden, actions)
            self.value = nn.Linear(hidden, 1)

        def forward(self, states):
            """The logits and the values of states of gray bytes."""
            pixels = states.to(self.conv1.weight.dtype) / 255
            maps = self.conv2(self.conv1(pixels).relu()).relu()
            units = self.hidden(maps.flatten(1)).relu()
            return self.policy(units), self.value(units).squeeze(1)

    return ActorCritic()


def actor_critic_loss(torch, net, latest, seen, taken, earned, ended):
    """Summed over the steps, averaged over the environments. The tensors are those of fixtures/games/rollouts.h."""
    logits, values = net(seen)
    with torch.no_grad():
        later = net(latest)[1]
        returns = []
        for rewards, ends in zip(earned.flip(0), ended.flip(0)):
            later = rewards + 0.99 * (1 - ends) * later
            returns.insert(0, later)
    advantages = torch.cat(returns) - values
    logs = logits.log_softmax(1)
    gain = logs.gather(1, taken).squeeze(1) * advantages.detach()
    entropy = -(logs.exp() * logs).sum()
    return (0.5 * advantages.square().sum() - gain.sum() - 0.01 * entropy) / len(latest)


def a3c(torch, mode, batch=32, steps=5):
    """A training step, with PyTorch's own RMSprop, or the draw of an action for each environment."""
    net = actor_critic(torch)

    def states(count):
        return torch.randint(256, (count, 4, 84, 84), dtype=torch.uint8)

    if mode == "infer":

        def act(latest):
            return torch.multinomial(net(latest)[0].softmax(1), 1)

        return Inference(torch, act, states(batch))
    latest, seen = states(batch), states(steps * batch)
    taken = torch.randint(6, (steps * batch, 1))
    earned = torch.randint(-1, 2, (steps, batch)).float()
    ended = torch.zeros(steps, batch)

    def prepare():
        torch.nn.utils.clip_grad_norm_(net.parameters(), 40.0)

    return Training(
        torch,
        net,
        torch.optim.RMSprop(net.parameters(), 7e-4, alpha=0.99, eps=0.1),
        lambda: actor_critic_loss(torch, net, latest, seen, taken, earned, ended),
        prepare,
    )
