"""The figure of decoding over the context, from made-up rows with known results."""

import made_up_run as made_up
import pytest
from made_up_figures import drawn, figures, folder, load

from fathom_page.figure import Missing


def found(folder, benchmarks):
    document = {"context": made_up.context(threads=(1, 2)), "benchmarks": benchmarks}
    return figures(load(folder, document))["ours-7"]


def test_a_line_has_the_contexts_of_a_decoder_and_a_batch(folder):
    figure = found(folder, [*made_up.decoding("llama_decode"), *made_up.decoding("mamba_decode")])
    data = figure.data.set_index(["step", "context_tokens"])
    llama = data.loc["llama_decode, batch 4"]
    assert llama.decode_ms_per_token.to_dict() == {512: 40, 1024: 50, 4096: 110}
    assert llama.cache_pct[512] == pytest.approx(100 * 2.048 / 4.048)
    assert llama.largest_batch[4096] == pytest.approx(14e9 / 4.096e9)
    assert llama.bytes_per_second[512] == pytest.approx(4.048e9 / 0.04)
    assert set(data.loc["mamba_decode, batch 4"].decode_ms_per_token) == {40}
    shown = drawn(figure)
    assert all(words in shown for words in (b">mamba_decode<", b">batch 4<", b"cache 89 %"))


def test_the_caption_has_the_shortest_and_the_longest_context(folder):
    assert found(folder, made_up.decoding("llama_decode")).sentence == (
        "Time of a decoding step. llama_decode, batch 4: 40 ms after 512 tokens, 110 ms after 4096; the cache has 51 "
        "and 89 % of the bytes. In 16 GB, caches of the longest context leave room for batches of 3, without "
        "activations. Setting: CPU, 2 threads, fp32."
    )


def test_one_context_makes_no_line(folder):
    figure = found(folder, made_up.decoding("llama_decode", contexts=[512]))
    assert isinstance(figure, Missing)
    assert "--fathom_context=512,2048,4096" in figure.needs
