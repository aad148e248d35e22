"""The figures of language models' inference, from made-up rows with known results."""

import made_up_run as made_up
import numpy as np
import pytest
from made_up_figures import drawn, figures, folder, load

from fathom_page.figure import Missing


def found(folder, key, benchmarks):
    document = {"context": made_up.context(threads=(1, 2)), "benchmarks": benchmarks}
    return figures(load(folder, document))[key]


def test_prompts_stand_beside_the_peaks(folder):
    figure = found(folder, "ours-8", made_up.prompts(contexts=[2, 512], batch=1))
    data = figure.data.set_index("tokens")
    assert data.flops_per_byte.to_dict() == {2: 1, 512: 256}
    assert data.bound.to_dict() == {2: "bytes", 512: "FLOP/s"}
    # The weights take 2 GB / 40 GB/s, a token 1 GFLOP / 200 GFLOP/s.
    assert data.roof_tokens_per_second.to_dict() == pytest.approx({2: 2 / 0.05, 512: 200})
    assert data.pct_of_roof.to_dict() == pytest.approx({2: 200, 512: 100 * 2.56 / 1.3})
    assert b"tokens of the prompts" in drawn(figure)


def test_decoding_is_a_line_over_the_batch(folder):
    rows = made_up.decoding("llama_decode", [512], batch=1)
    figure = found(folder, "ours-8", rows + made_up.decoding("llama_decode", [512, 1024], batch=4))
    data = figure.data.set_index("tokens")
    assert list(data.index) == [1, 4], "one batch at 1024 tokens makes no line"
    assert data.roof_tokens_per_second.to_dict() == pytest.approx(
        {1: 40e9 / 2.512e9, 4: 4 * 40e9 / 4.048e9}
    )
    assert b"512 tokens in the cache" in drawn(figure)
    assert "llama_decode, 512 tokens: 157 % with 1 sequence (bound by bytes)" in figure.sentence


def test_a_request_is_a_prompt_and_tokens_at_growing_contexts(folder):
    prompt = 20e3 + 2.5e3 * 4 * 512
    token = np.mean([40e3 + 10e3 * (tokens / 512 - 1) for tokens in range(512, 640)])
    composed = prompt + 128 * token
    figure = found(folder, "ours-9", made_up.language_model())
    (row,) = figure.data[figure.data.prompt_tokens == 512].to_dict("records")
    assert row["first_token_us"] == prompt and row["token_us"] == pytest.approx(token)
    assert row["composed_us"] == pytest.approx(composed) and row["measured_us"] == 10e6
    assert "is 4.2 % above the measured time of llama/generate" in figure.sentence
    assert b"measured as one step" in drawn(figure)


def test_a_request_needs_no_measured_step(folder):
    rows = [*made_up.decoding("llama_decode"), *made_up.prompts()]
    figure = found(folder, "ours-9", rows)
    assert figure.data.measured_us.isna().all()
    assert "measured time" not in figure.sentence and drawn(figure)


@pytest.mark.parametrize(
    "rows",
    [
        made_up.prompts(),
        [*made_up.prompts(), *made_up.decoding("llama_decode", batch=1)],
        [*made_up.prompts(), *made_up.decoding("llama_decode", contexts=[512])],
        [*made_up.prompts(), *made_up.decoding("llama_decode", contexts=[512, 600])],
    ],
    ids=["no decoding", "another batch", "one context", "contexts below the last token's"],
)
def test_a_request_is_not_composed_of_other_steps(folder, rows):
    figure = found(folder, "ours-9", rows)
    if isinstance(figure, Missing):
        assert "--fathom_context=512,1024" in figure.needs
    else:
        assert 512 not in set(figure.data.prompt_tokens)
