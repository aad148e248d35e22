"""Training and inference steps in eager PyTorch, written as its users write them, for against_pytorch.py.

Each workload is a function of (torch, mode) that returns a function of no arguments, which runs one step. `mode` is
"train" or "infer". ROWS has them, and a few ops, by the names of our rows. Tests compare the networks with ours
(tests/models/against_python_test.py).
"""

import functools

from eager_steps.a3c import a3c
from eager_steps.autoenc import autoenc
from eager_steps.deepq import deepq
from eager_steps.deepspeech2 import deepspeech2
from eager_steps.detection_ops import op_rows
from eager_steps.faster_rcnn import faster_rcnn
from eager_steps.gpt2 import gpt2, gpt2_decode
from eager_steps.images import alexnet, image_step, inception_v3, residual, resnet50, vgg
from eager_steps.llama import LLAMA, LLAMA_1B, MOE, MOE_6, llama, llama_decode, moe
from eager_steps.mamba import mamba, mamba_decode
from eager_steps.memnet import memnet
from eager_steps.nmt import nmt
from eager_steps.seq2seq import seq2seq
from eager_steps.speech import speech
from eager_steps.transformer import transformer
from eager_steps.wgan import wgan

INFERENCE_ONLY = {
    "gpt2_decode",
    "llama_decode",
    "llama_1b",
    "llama_1b_decode",
    "moe",
    "moe_decode",
    "mamba_decode",
}
TRAINING_ONLY = {"moe_6"}
WORKLOADS = {
    "seq2seq": seq2seq,
    "memnet": memnet,
    "speech": functools.partial(speech, 1566),
    "speech_150": functools.partial(speech, 150),
    "autoenc": autoenc,
    "residual": functools.partial(image_step, residual, 16),
    "vgg": functools.partial(image_step, vgg, 8),
    "alexnet": functools.partial(image_step, alexnet, 64),
    "deepq": deepq,
    "resnet50": functools.partial(image_step, resnet50, 32),
    "inception_v3": functools.partial(image_step, inception_v3, 32, side=299),
    "nmt": nmt,
    "transformer": transformer,
    "wgan": wgan,
    "faster_rcnn": faster_rcnn,
    "a3c": a3c,
    "deepspeech2": deepspeech2,
    "gpt2": functools.partial(gpt2, 256),
    "gpt2_1024": functools.partial(gpt2, 1024),
    "gpt2_decode": gpt2_decode,
    "llama": functools.partial(llama, LLAMA),
    "llama_decode": functools.partial(llama_decode, LLAMA, 4),
    "llama_1b": functools.partial(llama, LLAMA_1B),
    "llama_1b_decode": functools.partial(llama_decode, LLAMA_1B, 1),
    "moe": functools.partial(moe, MOE),
    "moe_6": functools.partial(moe, MOE_6),
    "moe_decode": functools.partial(llama_decode, MOE, 1),
    "mamba": mamba,
    "mamba_decode": mamba_decode,
}

ROWS = {
    f"{name}/{mode}": functools.partial(workload, mode=mode)
    for name, workload in WORKLOADS.items()
    for mode in ("train", "infer")
    if name not in (TRAINING_ONLY if mode == "infer" else INFERENCE_ONLY)
} | op_rows()
