from __future__ import annotations

import msgspec
import pytest

from assay.core.prompt import Message
from assay.core.request import Generate, Sampling, Span, Windows, make_request


def key(ask: Span) -> str:
    return make_request("t", "s", "ppl", "option", 0, ask).key


def test_asks_without_windows_keep_the_key_they_had_before_there_were_windows() -> None:
    # Stored answers are found by it: journals and caches of earlier versions go on to count.
    assert key(Span("abc", 1)) == "e0a92e7e6e0bc993658b5a1253e450f6"
    assert key(Span("abc", 0, scores_first_token=False)) == "91de9df8a6415e6a393adf40da75a724"


@pytest.mark.parametrize(("temperature", "n_keys"), [(0.0, 1), (0.7, 3)])
def test_each_repeat_of_a_sampled_ask_is_an_ask_of_its_own(temperature: float, n_keys: int) -> None:
    """Otherwise one draw would answer all of them, and the cache would give it to every repeat."""
    ask = Generate("abc", Sampling(temperature=temperature))
    keys = [make_request("t", "s", "gen", "answer", index, ask).key for index in (0, 1, 2)]
    assert len(set(keys)) == n_keys
    assert [make_request("t", "s", "gen", "answer", index, ask).key for index in (0, 1, 2)] == keys


def test_windows_make_an_ask_of_its_own() -> None:
    asks = [
        Span("abc", 0),
        Span("abc", 0, windows=Windows("classic")),
        Span("abc", 0, windows=Windows("classic", 8)),
        Span("abc", 0, windows=Windows("hf-stride", 8)),
        Span("abc", 0, windows=Windows("hf-stride", 8, 4)),
    ]
    assert len({key(ask) for ask in asks}) == len(asks)
    for ask in asks:
        assert msgspec.json.decode(msgspec.json.encode(ask), type=Span) == ask


def test_windows_are_for_whole_plain_texts() -> None:
    with pytest.raises(ValueError, match="start must be 0"):
        Span("abc", 1, windows=Windows("classic"))
    with pytest.raises(ValueError, match="the prompt must be a text"):
        Span((Message("assistant", "abc"),), 0, windows=Windows("classic"))
