"""Training and inference steps in PyTorch's own Python, eager, as its users write them: the other side of
against_pytorch.py. Each workload is a function of (torch, mode) that gives a closure of one step; mode is "train" or
"infer".
"""

import functools

from eager_steps.autoenc import autoenc
from eager_steps.deepq import deepq
from eager_steps.images import alexnet, image_step, residual, vgg
from eager_steps.memnet import memnet
from eager_steps.seq2seq import seq2seq
from eager_steps.speech import speech

WORKLOADS = {
    "seq2seq": seq2seq,
    "memnet": memnet,
    "speech_150": functools.partial(speech, 150),
    "autoenc": autoenc,
    "residual": functools.partial(image_step, residual, 16),
    "vgg": functools.partial(image_step, vgg, 8),
    "alexnet": functools.partial(image_step, alexnet, 64),
    "deepq": deepq,
}
