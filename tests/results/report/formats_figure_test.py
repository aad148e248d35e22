"""The figure of steps in several formats of numbers, from made-up runs with known results."""

import made_up_run as made_up
import pytest
from made_up_backends import in_format
from made_up_figures import drawn, figures, folder, load

from fathom_page.figure import Missing

STEP_BYTES = 4e6  # of a step in fp32
SHARES = {"bf16": 0.5, "int8": 0.4, "q4_0": 0.8}  # time of a step / its time in fp32


def steps(workload="vgg", mode="infer", **options):
    """A step in fp32."""
    (row,) = made_up.step(workload, mode, profile=False, **options)
    return [row | {"bytes": STEP_BYTES / row["real_time"] * 1e6, "bytes_pct_peak": 20}]


def in_formats(rows, shares=SHARES, **fields):
    return [one for key, share in shares.items() for one in in_format(key, rows, share, **fields)]


def found(folder, rows):
    document = {"context": made_up.context(threads=(1, 2)), "benchmarks": rows}
    return figures(load(folder, document))["ours-6"]


def by_precision(figure):
    return figure.data.set_index("precision")


def test_times_and_bytes_are_relative_to_fp32(folder):
    (row,) = fp32 = steps()
    rate = row["bytes"] / 4 / 0.4  # a quarter of the bytes in 0.4 of the time
    data = by_precision(found(folder, fp32 + in_format("int8", fp32, 0.4, bytes=rate)))
    assert data.pct_of_fp32.to_dict() == pytest.approx({"fp32": 100, "int8": 40})
    assert data.us["int8"] == pytest.approx(0.4 * row["real_time"])
    assert data.step_bytes["int8"] == pytest.approx(STEP_BYTES / 4)
    assert data.bytes_pct_of_fp32["int8"] == pytest.approx(25)


def test_shares_of_the_peaks_and_the_distance_are_those_of_the_row(folder):
    fields = {"bytes_pct_peak": 70, "flops_pct_peak": 12, "distance_to_fp32": 0.02}
    data = by_precision(found(folder, steps() + in_format("int8", steps(), 0.4, **fields)))
    assert data.loc["int8", list(fields)].to_dict() == fields
    assert data.distance_to_fp32.isna()["fp32"]


def test_formats_have_one_order_and_unknown_ones_are_last(folder):
    order = ["fp32", "tf32", "bf16", "fp16", "fp8", "int8", "int8w", "q8_0", "int4w", "q4_0", "fp6"]
    rows = in_formats(steps(), dict.fromkeys(sorted(order[1:]), 0.5)) + steps()
    figure = found(folder, rows)
    assert list(figure.data.precision) == order
    assert b"fp6" in drawn(figure)


def test_the_caption_says_what_is_shown_and_what_is_better(folder):
    rows = steps() + in_formats(steps(), {"int8": 0.4}, distance_to_fp32=0.02)
    assert found(folder, rows + steps("memnet")).sentence == (
        "In int8, vgg/infer takes 40 % of its time in fp32; bytes: 40 % (vgg/infer) of those in fp32. "
        "The largest distance to fp32 is 0.02 (vgg/infer in int8). Less time, fewer bytes, a larger share of "
        "the measured bandwidth, a larger share of the FLOP/s peak that was measured in the format and a "
        "smaller distance of the results to those in fp32 are better. Rows: 1 step of which the run has two "
        "formats or more (device cpu, threads 1, batch 8, backend torch); 1 step in one format left out."
    )


def test_only_what_the_rows_have_is_drawn(folder):
    bare = [made_up.row(made_up.step_name("vgg", precision=one), 5) for one in ("fp32", "int8")]
    figure = found(folder, bare)
    assert "Less time is better." in figure.sentence and "distance" not in figure.sentence
    image = drawn(figure)
    assert b"% of fp32" in image
    assert not any(words in image for words in (b"bandwidth", b"peak", b"distance"))


def test_without_fp32_times_have_no_ratio(folder):
    figure = found(folder, in_formats(steps()))
    assert figure.data.us.notna().all()
    assert figure.data.pct_of_fp32.isna().all() and figure.data.bytes_pct_of_fp32.isna().all()
    assert "Without a row in fp32, so without ratios: vgg/infer." in figure.sentence
    assert "of its time" not in figure.sentence
    assert "10 ms".encode() in drawn(figure), "0.4 of 25 ms"


@pytest.mark.parametrize("other", [{"threads": 2}, {"scale": 2}, {"mode": "train"}])
def test_steps_that_differ_in_more_than_the_format_are_not_compared(folder, other):
    missing = found(folder, steps() + in_formats(steps(**other), {"int8": 0.4}))
    assert isinstance(missing, Missing)
    assert "--fathom_precision=fp32,bf16" in missing.needs


def test_every_part_of_a_name_tells_steps_apart(folder):
    """Later versions have parts that this one does not know."""

    def with_context(rows):
        return [row | {"name": row["name"].replace("/prec", "/context:512/prec")} for row in rows]

    rows = steps() + with_context(in_formats(steps(), {"int8": 0.4}))
    rows = [row | {"run_name": row["name"]} for row in rows]
    assert isinstance(found(folder, rows), Missing)


def test_steps_at_several_settings_are_named_by_what_differs(folder):
    several = [steps(threads=1), steps(threads=2), steps("memnet", threads=2)]
    rows = [row for one in several for row in one + in_formats(one, {"int8": 0.4, "bf16": 0.5})]
    figure = found(folder, rows)
    assert list(figure.data.step.unique()) == [
        "vgg/infer, threads 1",
        "vgg/infer, threads 2",
        "memnet/infer",
    ]
    assert "In bf16, 3 steps take 50 % of their time in fp32 (geometric mean)" in figure.sentence
    assert "two formats or more (device cpu, backend torch)." in figure.sentence
