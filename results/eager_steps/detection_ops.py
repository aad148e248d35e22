"""The ops of faster_rcnn that LibTorch lacks, as torchvision has them."""

import functools
import json
import pathlib

SHAPES = pathlib.Path(__file__).resolve().parent.parent.parent / "ops/shapes/faster_rcnn.json"


def roi_align(shape, torch):
    """The inputs have the distributions of ops/types/reduction/roi_align.cc."""
    import torchvision

    images, _, height, width = shape["sizes"]
    backward = shape["pass"] == "backward"
    features = torch.randn(shape["sizes"], requires_grad=backward)
    corner = torch.rand(shape["regions"], 2) * 0.6
    corners = torch.cat((corner, corner + torch.rand(corner.shape) * 0.3 + 0.1), 1)
    pixels = torch.tensor([width, height] * 2) / shape["scale"]
    image = torch.randint(images, (shape["regions"], 1))
    regions = torch.cat((image, corners * pixels), 1)
    forward = functools.partial(
        torchvision.ops.roi_align,
        *(features, regions, shape["output"], shape["scale"], shape["samples"]),
    )
    if not backward:
        return forward
    aligned = forward()
    gradient = torch.randn_like(aligned)
    return lambda: torch.autograd.grad(aligned, features, gradient, retain_graph=True)


def nms(shape, torch):
    """The inputs have the distributions of ops/types/reduction/nms.cc."""
    import torchvision

    count = shape["boxes"]
    corner = torch.rand(count, 2) * torch.tensor([800, 608])
    boxes = torch.cat((corner, corner + 2 ** (6 + 3 * torch.rand(count, 2))), 1)
    return functools.partial(torchvision.ops.nms, boxes, torch.randn(count), shape["max_overlap"])


def op_rows():
    """The rows of the workload's shapes: by name, a function of torch that returns a call of the op."""
    types = {"roi_align": roi_align, "nms": nms}
    return {
        "/".join(("op", row["op"], "faster_rcnn", row["layer"], row["pass"])): functools.partial(
            types[row["op"]], row
        )
        for row in json.loads(SHAPES.read_text())["rows"]
        if row["op"] in types
    }
