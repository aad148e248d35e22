#!/usr/bin/env python3
"""Converts files of an older fathom_bench. Their context does not list op types and workloads.

    results/convert_run.py run.json run.json.samples.jsonl

Adds `op_classes`, `default_batches` and `variant_of` to the context, with the values of the older program. Renames the
op types `attention` and `rnn` and the layers of residual in the names of rows. Gives rows `op:matmul` the class of matmul:
where a step called at::matmul(), an older program gave them that of the function. Lines of --fathom_samples and of
errors files are converted, too. Current files do not change.
"""

import json
import pathlib
import re
import sys

from fathom_runs.arguments import command_line
from fathom_runs.catalogue import KEYS
from fathom_runs.output import replace
from fathom_runs.program import run
from fathom_runs.source import RunError, document, text_of, unpacked

OP_TYPES = {"attention": "additive_attention", "rnn": "clipped_relu_rnn"}
LAYERS = {"norm": "bn", "project": "downsample"}  # of residual
CLASSES = {
    "matrix": "matmul batched_matmul lstm lstm_cell clipped_relu_rnn additive_attention sampled_softmax",
    "convolution": "conv2d",
    "elementwise": "relu clipped_relu sigmoid tanh add sub mul div exp sqrt square neg bias_add huber_loss",
    "reduction": "batch_norm local_response_norm max_pool avg_pool softmax softmax_cross_entropy ctc_loss sum arg_max",
    "random": "normal uniform log_uniform dropout",
    "optimization": "sgd momentum adam adagrad rmsprop clip_norm",
    "data_movement": "embedding gather concat copy transpose fill pad",
}
# Batch size of training, batch size of inference.
BATCHES = {
    **{"seq2seq": (64, 64), "memnet": (32, 32), "speech": (32, 32), "autoenc": (128, 128)},
    **{"residual": (16, 16), "vgg": (8, 8), "alexnet": (64, 64), "deepq": (32, 1)},
    **{"seq2seq_5x10": (64, 64), "seq2seq_10x15": (64, 64), "seq2seq_20x25": (64, 64)},
    **{"speech_150": (32, 32), "autoenc_kingma": (100, 100), "deepq_2013": (32, 1)},
    **{"speech_repo": (32, 32), "residual_repo": (16, 16), "vgg_repo": (8, 8)},
    "alexnet_repo": (64, 64),
}
ENTRIES = {
    "op_classes": " ".join(
        f"{one}:{key}" for key, types in CLASSES.items() for one in types.split()
    ),
    "default_batches": " ".join(
        f"{workload}/{mode}:{batch}"
        for workload, batches in BATCHES.items()
        for mode, batch in zip(("train", "infer"), batches)
    ),
    # In that version, only variants had a `_` in their names.
    "variant_of": " ".join(f"{name}:{name.split('_')[0]}" for name in BATCHES if "_" in name),
}


def renamed(text):
    """Replaces the old names of op types and layers in the names of rows."""
    for old, new in OP_TYPES.items():
        for field in ("name", "run_name"):
            text = re.sub(rf'("{field}"\s*:\s*"op/){old}/', rf"\1{new}/", text)
            text = re.sub(rf'("{field}"\s*:\s*"[^"]*/op:){old}(?=[/"_])', rf"\1{new}", text)
    for old, new in LAYERS.items():
        text = re.sub(
            rf"(\bop/[a-z0-9_]+/residual/(?:block\d+_\d+_)?){old}(?=[\d/_])", rf"\1{new}", text
        )
    return text


def with_class_of_matmul(text):
    return re.sub(
        r'("name"\s*:\s*"[^"]*/op:matmul[/"_][^}]*?"label"\s*:\s*")framework"', r'\1matrix"', text
    )


def converted(path, text):
    """Converts the text of a file. Raises RunError if fathom_bench did not write it."""
    if unpacked(path).suffix != ".jsonl":
        context, _ = document(path, text)
        if "fathom_version" not in context:
            raise RunError(
                f"{path}: no fathom_version in its context, expected a file of fathom_bench"
            )
        missing = {key: ENTRIES[key] for key in KEYS if key not in context}
        lines = "".join(f"\n    {json.dumps(key)}: {json.dumps(missing[key])}," for key in missing)
        text = re.sub(r'("context"\s*:\s*\{)', lambda found: found[0] + lines, text, count=1)
        assert document(path, text)[0] == context | missing
    return with_class_of_matmul(renamed(text))


def main():
    parser = command_line("convert_run.py", __doc__)
    parser.add_argument("files", nargs="+", type=pathlib.Path, metavar="FILE")
    for path in parser.parse_args().files:
        try:
            text = text_of(path)
            made = converted(path, text)
            if made != text:
                replace(path, made)
        except RunError as error:
            print(f"convert_run: {error}", file=sys.stderr)
            return 2
        print(f"{path}: {'is already current' if made == text else 'converted'}")
    return 0


if __name__ == "__main__":
    run(main)
