"""results/gate: steps in several formats of numbers are separate rows, and so are their ops."""

import made_up_backends
import made_up_run as made_up
from gated import ALTERNATING, SUFFIX, VGG, classes, repeated, row_of, verdict

INT8 = VGG.replace("precision:fp32", "precision:int8")
PRODUCT = made_up.op_name("quantized_matmul", "vgg", "fc6").replace("fp32", "int8")


def run(path, seed, slower=None):
    """A run with a step in fp32 and in int8, both profiled, and a product in int8."""
    steps = made_up.step("vgg")
    rows = steps + made_up_backends.in_format("int8", steps, 0.5) + made_up.ops("vgg")
    rows.append(made_up.row(PRODUCT, 500, calls_per_model_step=4, in_steps=1))
    made = {"context": made_up.context(**ALTERNATING)}
    return made_up.write(path, made | {"benchmarks": list(repeated(rows, seed, slower))})


def test_a_slower_format_is_found_with_its_own_op_types_and_ops(tmp_path):
    slower = {f"{INT8}{SUFFIX}": 1.1, f"{INT8}/op:conv2d": 1 + 1 / 7, PRODUCT: 1.1}
    code, found = verdict(run(tmp_path / "base.json", 1), run(tmp_path / "new.json", 2, slower))
    assert code == 1 and classes(found)[VGG] == "SAME"
    assert classes(found)[INT8] == classes(found)[PRODUCT] == "SLOWER"
    assert [one["op_type"] for one in row_of(found, INT8)["causes"]] == ["conv2d"]
    assert f"{VGG}/op:conv2d{SUFFIX}" in found["untested"]
