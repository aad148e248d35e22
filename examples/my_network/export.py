"""Writes three networks for --fathom_network: export.py [FOLDER]. Needs torch and torchvision."""

import pathlib
import sys

import torch
import torchvision

folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
batch = torch.export.Dim("batch", min=1, max=4096)


def export(name, network, inputs):
    """Writes <name>.pt2. With dynamic shapes, --fathom_batch gives rows of other batch sizes."""
    shapes = tuple({0: batch} for _ in inputs)
    program = torch.export.export(network, inputs, dynamic_shapes=shapes)
    torch.export.save(program, folder / f"{name}.pt2")


# A network of torchvision, for inference.
export("resnet18", torchvision.models.resnet18().eval(), (torch.randn(8, 3, 224, 224),))

# A transformer's encoder from its configuration.
layer = torch.nn.TransformerEncoderLayer(256, 4, 1024, dropout=0, batch_first=True)
encoder = torch.nn.TransformerEncoder(layer, num_layers=4, enable_nested_tensor=False)
export("encoder", encoder, (torch.randn(8, 128, 256),))


class TrainingStep(torch.nn.Module):
    """A network that returns its loss, one number: its file also gives rows of training."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, images, labels):
        return torch.nn.functional.cross_entropy(self.network(images), labels)


# The same network's training step, traced by TorchScript, which holds no inputs:
# --fathom_network_inputs=float32:8x3x224x224,int64:8:1000 gives them.
step = TrainingStep(torchvision.models.resnet18())
inputs = (torch.randn(8, 3, 224, 224), torch.randint(1000, (8,)))
torch.jit.trace(step, inputs, check_trace=False).save(folder / "resnet18_step.pt")
