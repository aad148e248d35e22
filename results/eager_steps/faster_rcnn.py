"""Faster R-CNN: models/tbd/faster_rcnn.cc's networks in torchvision's detector."""

from dataclasses import dataclass

from eager_steps.step import Inference, Training

EXPANSION = 4  # output channels of a block for each channel of its width


@dataclass(frozen=True)
class Sizes:
    """The defaults are those of Scale::kFull."""

    height: int = 608
    width: int = 800
    stem: int = 64
    stages: tuple = ((3, 64), (4, 128), (23, 256), (3, 512))  # blocks, width
    proposals: int = 512
    anchors: tuple = (128, 256, 512)
    classes: int = 21
    region_side: int = 14
    candidates: tuple = (12000, 6000)  # in training and in inference
    kept: tuple = (2000, 300)
    sampled_anchors: int = 256
    sampled_regions: int = 128
    detections: int = 100


def frozen_conv_norm(torch):
    """The class of convolutions with a constant scale and shift for each channel."""

    class FrozenConvNorm(torch.nn.Conv2d):
        def __init__(self, inputs, outputs, kernel, stride=1, scale=1.0):
            super().__init__(inputs, outputs, kernel, stride, kernel // 2, bias=False)
            torch.nn.init.kaiming_normal_(self.weight, mode="fan_out", nonlinearity="relu")
            self.register_buffer("scale", torch.full((outputs, 1, 1, 1), scale))
            self.register_buffer("shift", torch.zeros(outputs))

        def forward(self, x):
            scaled = self.weight * self.scale
            return torch.nn.functional.conv2d(x, scaled, self.shift, self.stride, self.padding)

    return FrozenConvNorm


def resnet(torch, sizes):
    """The trunk up to the third stage, whose first half is not trained, and the last stage."""
    nn = torch.nn
    unit = frozen_conv_norm(torch)

    class Bottleneck(nn.Module):
        def __init__(self, inputs, width, stride):
            super().__init__()
            outputs = EXPANSION * width
            self.path = nn.Sequential(
                *(unit(inputs, width, 1), nn.ReLU(inplace=True)),
                *(unit(width, width, 3, stride), nn.ReLU(inplace=True)),
                unit(width, outputs, 1, scale=0.2),
            )
            same = inputs == outputs and stride == 1
            self.shortcut = nn.Identity() if same else unit(inputs, outputs, 1, stride)

        def forward(self, x):
            return (self.path(x) + self.shortcut(x)).relu_()

    def stage(number, stride):
        (blocks, width), inputs = sizes.stages[number], sizes.stem
        if number:
            inputs = EXPANSION * sizes.stages[number - 1][1]
        first = Bottleneck(inputs, width, stride)
        more = (Bottleneck(EXPANSION * width, width, 1) for _ in range(blocks - 1))
        return nn.Sequential(first, *more)

    stem = (unit(3, sizes.stem, 7, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1))
    frozen = nn.Sequential(*stem, stage(0, 1)).requires_grad_(False)
    trunk = nn.Sequential(frozen, stage(1, 2), stage(2, 2))
    trunk.out_channels = EXPANSION * sizes.stages[2][1]
    return trunk, stage(3, 2)


def detector(torch, sizes):
    """torchvision's FasterRCNN with these networks. Images keep their size and colours."""
    from torchvision.models.detection import faster_rcnn as detection
    from torchvision.models.detection.anchor_utils import AnchorGenerator
    from torchvision.models.detection.rpn import RPNHead
    from torchvision.ops import MultiScaleRoIAlign

    nn = torch.nn
    trunk, last_stage = resnet(torch, sizes)
    anchors = AnchorGenerator((sizes.anchors,), ((0.5, 1.0, 2.0),))
    per_place = anchors.num_anchors_per_location()[0]
    proposals = RPNHead(sizes.proposals, per_place)  # its convolution keeps the number of channels
    proposals.conv[0][0] = nn.Conv2d(trunk.out_channels, sizes.proposals, 3, padding=1)
    channels = EXPANSION * sizes.stages[3][1]
    predictor = detection.FastRCNNPredictor(channels, sizes.classes)
    layers = ((proposals.conv[0][0], 0.01), (predictor.cls_score, 0.01))
    for layer, deviation in (*layers, (predictor.bbox_pred, 0.001)):
        nn.init.normal_(layer.weight, std=deviation)
        nn.init.zeros_(layer.bias)
    net = detection.FasterRCNN(
        trunk,
        min_size=sizes.height,
        max_size=sizes.width,
        image_mean=[0.0] * 3,
        image_std=[1.0] * 3,
        rpn_anchor_generator=anchors,
        rpn_head=proposals,
        rpn_pre_nms_top_n_train=sizes.candidates[0],
        rpn_pre_nms_top_n_test=sizes.candidates[1],
        rpn_post_nms_top_n_train=sizes.kept[0],
        rpn_post_nms_top_n_test=sizes.kept[1],
        rpn_batch_size_per_image=sizes.sampled_anchors,
        box_roi_pool=MultiScaleRoIAlign(["0"], sizes.region_side, sampling_ratio=2),
        box_head=nn.Sequential(last_stage, nn.AdaptiveAvgPool2d(1)),
        box_predictor=predictor,
        box_batch_size_per_image=sizes.sampled_regions,
        box_nms_thresh=0.3,
        box_detections_per_img=sizes.detections,
        _skip_resize=True,  # a training step would draw the size at random
    )
    net.rpn.min_size = 1.0  # pixels of a proposal's sides
    return net


def detections(torch, net, images, count):
    """[N, count, 6]: x1, y1, x2, y2, score, class by falling score; all are 0 after the last one."""
    found = torch.zeros(len(images), count, 6)
    for rows, one in zip(found, net(list(images))):
        columns = (one["boxes"], one["scores"][:, None], one["labels"][:, None])
        rows[: len(one["boxes"])] = torch.cat(columns, 1)
    return found


def detection_loss(net, images, boxes, classes):
    """Of images [N, 3, H, W] with objects [M, 5] = {image, x1, y1, x2, y2} and their classes [M]."""
    targets = []
    for image in range(len(images)):
        here = boxes[:, 0] == image
        targets.append({"boxes": boxes[here, 1:], "labels": classes[here]})
    return sum(net(list(images), targets).values())


def faster_rcnn(torch, mode):
    """A step on one image, as in fixtures/images/detection_images.cc."""
    sizes = Sizes()
    net = detector(torch, sizes)
    images = torch.rand(1, 3, sizes.height, sizes.width) * 2 - 1
    if mode == "infer":
        return Inference(torch, net.eval(), list(images))
    objects = 2
    lengths = torch.rand(objects, 2) * 0.6 + 0.15  # shares of the image's sides
    starts = torch.rand(objects, 2) * (1 - lengths)
    sides = torch.tensor([sizes.width, sizes.height] * 2)
    numbers = torch.zeros(objects, 1)
    boxes = torch.cat((numbers, torch.cat((starts, starts + lengths), 1) * sides), 1)
    classes = torch.randint(1, sizes.classes, (objects,))
    trained = [one for one in net.parameters() if one.requires_grad]
    optimizer = torch.optim.SGD(trained, lr=0.001, momentum=0.9, weight_decay=5e-4)
    return Training(torch, net, optimizer, lambda: detection_loss(net, images, boxes, classes))
