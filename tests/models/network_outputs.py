"""network_outputs.py FOLDER FILE...: compares the outputs of networks, which run_network wrote to FOLDER/<file name>.out, with Python's.

Prints a JSON object: the largest difference of each file's outputs, as a share of the output's norm. The inputs of a .pt
file are those in FOLDER/<file name>.in.
"""

import json
import pathlib
import sys

import torch
import torch.utils._pytree as pytree

folder = pathlib.Path(sys.argv[1])


def outputs_in_python(path):
    if path.suffix == ".pt2":
        program = torch.export.load(path)
        arguments, keywords = program.example_inputs
        result = program.module()(*arguments, **keywords)
    else:
        network = torch.jit.load(path).eval()
        result = network(*torch.load(folder / f"{path.name}.in"))
    return [leaf for leaf in pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor)]


differences = {}
torch.set_num_threads(1)
with torch.no_grad():
    for name in sys.argv[2:]:
        path = pathlib.Path(name)
        expected = outputs_in_python(path)
        found = torch.load(folder / f"{path.name}.out")
        assert len(found) == len(expected), f"{len(found)} outputs, {len(expected)} in Python"
        differences[path.name] = max(
            ((a.double() - b.double()).norm() / a.double().norm()).item()
            for a, b in zip(expected, found, strict=True)
        )
print(json.dumps(differences))
