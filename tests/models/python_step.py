"""Compares steps that write_step.cc recorded with the same networks in PyTorch (results/eager_steps).

    python_step.py FOLDER float32|float64 WORKLOAD ...

Reads FOLDER/WORKLOAD.pt. Prints JSON: for each workload the relative differences of the loss, the logits and each
parameter's gradient, which are the largest difference divided by the largest absolute value.
"""

import ctypes
import functools
import json
import os
import pathlib
import re
import subprocess
import sys

from eager_steps.a3c import actor_critic, actor_critic_loss
from eager_steps.deepspeech2 import recogniser, transcription_loss
from eager_steps.faster_rcnn import Sizes, detection_loss, detections, detector
from eager_steps.gpt2 import decoder as gpt2_decoder
from eager_steps.images import alexnet, image_loss, inception_v3, residual, resnet50, vgg
from eager_steps.language_model import filled_cache
from eager_steps.llama import GRANITE, llama_decoder
from eager_steps.mamba import mamba_net
from eager_steps.nmt import translator as nmt_translator
from eager_steps.seq2seq import log_expected_counts, log_uniform_shares, translator
from eager_steps.speech import deep_speech, mask_of, speech_loss
from eager_steps.transformer import transformer_net

GPT2 = {"vocabulary": 64, "positions": 32, "layers": 2, "heads": 4, "width": 32}
LLAMA = {
    "vocabulary": 64,
    "layers": 2,
    "width": 48,
    "heads": 6,
    "kv_heads": 2,
    "head_width": 8,
    "dense": 96,
    "positions": 32,
    "base": 1e4,
    "deviation": 0.1,
}
MOE = LLAMA | {
    "dense": 32,
    "epsilon": 1e-6,
    "multipliers": GRANITE,
    "experts": 6,
    "chosen": 2,
}
MAMBA = {
    "vocabulary": 64,
    "layers": 2,
    "width": 24,
    "inner": 40,
    "states": 4,
    "taps": 4,
    "rank": 3,
}
# Scale::kSmall in models/*/*.cc. torchvision's networks have their full size.
SIZES = {
    "vgg": {"side": 32, "divisor": 16, "hidden": 64, "classes": 10},
    "residual": {"divisor": 8, "classes": 10},
    "alexnet": {"divisor": 16, "last_side": 1, "hidden": 64, "classes": 10},
    "seq2seq": {"words": 50, "width": 16},
    "nmt": {"sources": 60, "targets": 40, "width": 32},
    "speech": {"width": 32, "classes": 10},
    "transformer": {
        "vocabulary": 64,
        "positions": 8,
        "layers": 2,
        "heads": 4,
        "width": 64,
        "hidden": 128,
    },
    "a3c": {"channels": 2, "hidden": 32, "actions": 6},
    "deepspeech2": {
        "bins": 33,
        "channels": 4,
        "kernels": ((9, 5), (5, 3)),
        "layers": 3,
        "width": 16,
    },
    "gpt2": GPT2,
    "gpt2_decode": GPT2,
    "llama": LLAMA,
    "llama_decode": LLAMA,
    "moe": MOE,
    "moe_decode": MOE,
    "mamba": MAMBA,
    "mamba_decode": MAMBA,
    "resnet50": {},
    "inception_v3": {},
    "faster_rcnn": {
        "height": 96,
        "width": 128,
        "stem": 8,
        "stages": ((1, 8), (1, 8), (2, 16), (1, 16)),
        "proposals": 32,
        "anchors": (24, 40, 64),
        "classes": 4,
        "region_side": 6,
        "candidates": (200, 100),
        "kept": (50, 20),
        "sampled_anchors": 64,
        "sampled_regions": 32,
        "detections": 10,
    },
}
# Inference gives logits of words, each of which the next position reads.
GREEDY = {"seq2seq", "nmt", "transformer"}
# The parameters of PyTorch's LSTM layers for ours in seq2seq and nmt; {} is the layer. One of our weights combines two.
LSTM = {
    "encoder_input": ["encoder.weight_ih_l{}"],
    "encoder_recurrent": ["encoder.weight_hh_l{}"],
    "encoder_bias": ["encoder.bias_ih_l{}"],
    "decoder_weight": ["decoder.{}.weight_ih", "decoder.{}.weight_hh"],
    "decoder_bias": ["decoder.{}.bias_ih"],
}
SEED = 3  # for dropout, as in write_step.cc


def import_torch(folder):
    """Returns PyTorch from the pinned wheel. It links CUDA libraries, which are not installed without a GPU.

    Code on the CPU never calls them, so missing ones are replaced by empty libraries in `folder`.
    """
    sys.setdlopenflags(os.RTLD_LAZY)
    while True:
        try:
            import torch

            return torch
        except ImportError as error:
            missing = re.match(r"(lib\S+): cannot open shared object file", str(error))
            if not missing:
                raise
            library = folder / missing[1]
            command = ["c++", "-shared", "-nostdlib", f"-Wl,-soname,{missing[1]}", "-o", library]
            subprocess.run([*command, "-x", "c++", "/dev/null"], check=True)
            ctypes.CDLL(str(library))
            for name in [name for name in sys.modules if name.startswith("torch")]:
                del sys.modules[name]  # imported halfway


def image_step(network, torch, sizes, recorded):
    pixels, labels = recorded["inputs.0"], recorded["inputs.1"]
    net, _ = network(torch, **sizes)
    return (
        net,
        lambda: image_loss(torch, net, pixels, labels),
        lambda: net(pixels),
    )


def speech_step(torch, sizes, recorded):
    features, lengths, phones, phone_counts = (recorded[f"inputs.{i}"] for i in range(4))
    net = deep_speech(torch, **sizes)
    mask = mask_of(torch, lengths, features.shape[1])
    return (
        net,
        lambda: speech_loss(torch, net(features, mask), lengths, phones, phone_counts),
        lambda: net(features, mask).transpose(0, 1),
    )


def deepspeech2_step(torch, sizes, recorded):
    spectrograms, frames, letters, letter_counts = (recorded[f"inputs.{i}"] for i in range(4))
    net = recogniser(torch, **sizes)
    return (
        net,
        lambda: transcription_loss(
            torch, net(spectrograms), frames, letters, letter_counts, sizes["kernels"]
        ),
        lambda: net(spectrograms).transpose(0, 1),
    )


def seq2seq_step(torch, sizes, recorded):
    source_ids, target_ids, weights = (recorded[f"inputs.{i}"] for i in range(3))
    ids, tries = recorded["candidates.ids"], recorded["candidates.tries"]
    net = translator(torch, **sizes)
    shares = log_uniform_shares(torch, sizes["words"])

    def loss():
        outputs = net(source_ids, target_ids)
        return net.sampled_loss(
            outputs,
            target_ids[1:],
            weights,
            ids,
            lambda classes: log_expected_counts(torch, shares[classes], tries),
        )

    def infer():
        _, logits = net.translate(source_ids, target_ids[0], len(weights))
        return torch.stack(logits)

    return net, loss, infer


def nmt_step(torch, sizes, recorded):
    reversed_ids, lengths, given, wanted = (recorded[f"inputs.{i}"] for i in range(4))
    net = nmt_translator(torch, **sizes)
    # Ours has the padding before the words, packed sequences have it behind.
    places = torch.arange(len(reversed_ids)).unsqueeze(1) - lengths
    source_ids = reversed_ids.gather(0, places % len(reversed_ids))
    return (
        net,
        lambda: net.loss(source_ids, lengths, given, wanted),
        lambda: torch.stack(net.translate(source_ids, lengths, given[0], len(given))),
    )


def faster_rcnn_step(torch, sizes, recorded):
    images, boxes, classes = (recorded[f"inputs.{i}"] for i in range(3))
    sizes = Sizes(**sizes)
    net = detector(torch, sizes)
    return (
        net,
        lambda: detection_loss(net, images, boxes, classes),
        lambda: detections(torch, net, images, sizes.detections),
    )


def a3c_step(torch, sizes, recorded):
    latest, *rollout = (recorded[f"inputs.{i}"] for i in range(5))
    net = actor_critic(torch, **sizes)
    return (
        net,
        lambda: actor_critic_loss(torch, net, latest, *rollout),
        lambda: net(latest)[0].softmax(1),
    )


def sequence_step(decoder, torch, sizes, recorded):
    ids, labels = recorded["inputs.0"], recorded["inputs.1"]
    net = decoder(torch, **sizes)
    return net, lambda: net.loss(ids, labels), lambda: net.prefill(ids)


def moe_step(torch, sizes, recorded):
    net, _, infer = sequence_step(llama_decoder, torch, sizes, recorded)
    return net, lambda: net.balanced_loss(recorded["inputs.0"], recorded["inputs.1"]), infer


def decoding_step(decoder, torch, sizes, recorded):
    context, last = recorded["inputs.0"], recorded["inputs.2"]
    net, loss, _ = sequence_step(decoder, torch, sizes, recorded)
    return (
        net,
        loss,
        lambda: net.decode(last, filled_cache(torch, net, context), context.shape[1]),
    )


def transformer_step(torch, sizes, recorded):
    source, previous, target = (recorded[f"inputs.{i}"] for i in range(3))
    net = transformer_net(torch, **sizes)
    return net, lambda: net.loss(source, previous, target), lambda: net.translate(source)


STEPS = {
    "vgg": functools.partial(image_step, vgg),
    "residual": functools.partial(image_step, residual),
    "alexnet": functools.partial(image_step, alexnet),
    "seq2seq": seq2seq_step,
    "nmt": nmt_step,
    "speech": speech_step,
    "transformer": transformer_step,
    "a3c": a3c_step,
    "deepspeech2": deepspeech2_step,
    "gpt2": functools.partial(sequence_step, gpt2_decoder),
    "gpt2_decode": functools.partial(decoding_step, gpt2_decoder),
    "llama": functools.partial(sequence_step, llama_decoder),
    "llama_decode": functools.partial(decoding_step, llama_decoder),
    "moe": moe_step,
    "moe_decode": functools.partial(decoding_step, llama_decoder),
    "mamba": functools.partial(sequence_step, mamba_net),
    "mamba_decode": functools.partial(decoding_step, mamba_net),
    "resnet50": functools.partial(image_step, resnet50),
    "inception_v3": functools.partial(image_step, inception_v3),
    "faster_rcnn": faster_rcnn_step,
}


def matched(workload, names, parameters):
    """Returns for each of our parameters the names of PyTorch's parameters with its columns."""
    if workload not in ("speech", "seq2seq", "nmt"):  # same order, different names
        assert len(names) == len(parameters)
        return {name: [other] for name, other in zip(names, parameters)}
    found = {}
    for name in names:
        if name[:-1] in LSTM:
            found[name] = [other.format(name[-1]) for other in LSTM[name[:-1]]]
        else:
            same = (name, f"{name}.weight", name.replace("_bias", ".bias"))
            found[name] = [next(other for other in same if other in parameters)]
    return found


def difference(torch, ours, theirs, scale=None):
    """The largest difference, relative to the largest absolute value of `scale` or of theirs."""
    assert ours.shape == theirs.shape, (ours.shape, theirs.shape)
    largest = (theirs if scale is None else scale).abs().max().item()
    return (ours - theirs).abs().max().item() / largest if largest else float("inf")


def compare(torch, workload, recorded):
    net, loss_of, infer = STEPS[workload](torch, SIZES[workload], recorded)
    parameters = dict(net.named_parameters())
    names = [key.removeprefix("weights.") for key in recorded if key.startswith("weights.")]
    pairs = matched(workload, names, parameters)
    with torch.no_grad():
        for parameter in parameters.values():
            parameter.zero_()  # our LSTM has one bias, PyTorch's two
        for name, others in pairs.items():
            theirs = [parameters[one] for one in others]
            widths = [one.shape[-1] for one in theirs]
            for one, columns in zip(theirs, recorded[f"weights.{name}"].split(widths, -1)):
                one.copy_(columns)

    torch.manual_seed(SEED)
    loss = loss_of()
    loss.backward()
    found = {"loss": difference(torch, recorded["loss"], loss.detach())}
    for name, others in pairs.items():
        if f"gradients.{name}" not in recorded:
            continue  # not trained
        gradients = [parameters[one].grad.to_dense() for one in others]
        ours = recorded[f"gradients.{name}"]
        # Normalisation takes these biases away: their gradients are 0 but for rounding.
        normalised = workload == "deepspeech2" and name in ("conv1.bias", "conv2.bias")
        scale = recorded[f"gradients.{name}".replace("bias", "weight")] if normalised else None
        found[f"gradient of {name}"] = difference(torch, ours, torch.cat(gradients, -1), scale)
    net.eval()
    with torch.no_grad():
        logits = infer()
    found["logits"] = difference(torch, recorded["logits"], logits)
    if workload in GREEDY:
        others = recorded["logits"].argmax(-1) != logits.argmax(-1)
        found["greedy words"] = others.double().mean().item()
    return found


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    torch = import_torch(folder)
    torch.set_num_threads(1)
    torch.set_default_dtype(getattr(torch, sys.argv[2]))
    found = {}
    for workload in sys.argv[3:]:
        # weights_only would refuse the type tags that LibTorch writes.
        recorded = torch.load(folder / f"{workload}.pt", weights_only=False)
        found[workload] = compare(torch, workload, recorded)
    print(json.dumps(found))
