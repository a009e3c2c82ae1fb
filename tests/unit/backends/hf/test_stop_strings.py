"""Stop detection against a check of the whole text after every token."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.backends.hf.generation import Draft, EndDetector, new_draft
from assay.backends.vllm.backend import WriteJob
from assay.backends.vllm.token_engine import WriteAnswer
from assay.core.request import Sampling
from assay.core.response import Finish, Output

PIECES = ["a", "b", "ab", "\n", "\n\n", " Question", ":", "▁a", "▁", "ba" * 9, " " * 20, "日本", "é"]
SPECIAL = ["</s>", "<|im_start|>"]
BYTES = 256


def _wrapped(vocab: list[str], decoder: Any) -> Any:
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    raw = Tokenizer(models.WordLevel({piece: n for n, piece in enumerate(vocab)}, unk_token=vocab[0]))
    raw.decoder = decoder
    return PreTrainedTokenizerFast(
        tokenizer_object=raw, eos_token="</s>", additional_special_tokens=["<|im_start|>"]
    )


def _byte_level() -> Any:
    """Every byte is a token of its own, as in GPT-2's family, and some pieces are longer."""
    from tokenizers import decoders, pre_tokenizers

    spelling = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    pieces = [spelling.pre_tokenize_str(piece)[0][0] for piece in PIECES]
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    return _wrapped(list(dict.fromkeys([*SPECIAL, *alphabet, *pieces])), decoders.ByteLevel())


def _byte_fallback() -> Any:
    """Bytes in brackets where no piece fits, as in Llama's family; one leading space is stripped."""
    from tokenizers import decoders

    decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    return _wrapped([*SPECIAL, *(f"<0x{byte:02X}>" for byte in range(BYTES)), *PIECES], decoder)


@pytest.fixture(scope="module", params=[_byte_level, _byte_fallback])
def tokenizer(request: pytest.FixtureRequest) -> Any:
    return request.param()


def whole(tokenizer: Any, ids: list[int], sampling: Sampling) -> Output | None:
    """Look at everything, as one would do it by hand."""
    text = tokenizer.backend_tokenizer.decode(ids, skip_special_tokens=True)
    if ids[-1] == 0:
        return Output(text, Finish.END, len(ids))
    places = [text.find(stop) for stop in sampling.stop if stop in text]
    if ids[-1] == 1 and "<|im_start|>" in sampling.stop:
        places.append(len(text))
    if places:
        return Output(text[: min(places)], Finish.STOP, len(ids))
    return Output(text, Finish.LENGTH, len(ids)) if len(ids) >= sampling.max_tokens else None


@settings(max_examples=120, deadline=None)
@given(data=st.data())
def test_the_end_is_found_at_the_same_token_as_in_the_whole_text(tokenizer: Any, data: st.DataObject) -> None:
    vocabulary = tokenizer.get_vocab()
    pieces = sorted(n for piece, n in vocabulary.items() if n > 1 and not piece.startswith("<0x"))
    spelled = [n for byte in "🙂é".encode() if (n := vocabulary.get(f"<0x{byte:02X}>")) is not None]
    # Mostly pieces of text; loose bytes, whole characters in bytes, and tokens that leave no text at all.
    some = st.one_of(
        st.lists(st.sampled_from(pieces), min_size=1, max_size=9),
        st.integers(2, len(vocabulary) - 1).map(lambda n: [n]),
        st.sampled_from([spelled, [1], [1] * 40]),
    )
    ids = [n for part in data.draw(st.lists(some, min_size=1, max_size=20)) for n in part] or [2]
    text = tokenizer.backend_tokenizer.decode(ids, skip_special_tokens=True)
    # A stop string out of the text itself, so that there is something to find.
    begin = data.draw(st.integers(0, max(0, len(text) - 1)))
    stop = text[begin : begin + data.draw(st.sampled_from([1, 2, 5, 12, 30]))] or "nothing"
    stops = (stop, *data.draw(st.lists(st.sampled_from(["\n\nQuestion:", "本", "<|im_start|>"]), max_size=1)))
    sampling = Sampling(max_tokens=len(ids), stop=stops)
    ending, draft = EndDetector(tokenizer), new_draft((5,), sampling, None, "k", 0)
    for token_id in ids:
        draft.ids.append(token_id)
        ending.check(draft)
        assert draft.output == whole(tokenizer, draft.ids, sampling)
        if draft.is_done:
            return


def test_a_stop_inside_a_long_run_of_bytes() -> None:
    # Cut inside a character, such a run reads as no characters at all.
    tokenizer = _byte_fallback()
    vocabulary = tokenizer.get_vocab()
    ids = [vocabulary[f"<0x{byte:02X}>"] for byte in ("🙂" * 40 + "é").encode()]
    ending, draft = EndDetector(tokenizer), new_draft((5,), Sampling(stop=("🙂é",)), None, "k", 0)
    for token_id in ids:
        assert draft.output is None
        draft.ids.append(token_id)
        ending.check(draft)
    assert draft.output == Output("🙂" * 39, Finish.STOP, len(ids))


def test_only_the_end_of_a_long_text_is_decoded(tokenizer: Any) -> None:
    n_decoded = 0
    sampling = Sampling(max_tokens=10_000, stop=("\n\nQuestion:",))
    draft: Draft = new_draft((5,), sampling, None, "k", 0)
    ending = EndDetector(tokenizer)
    real = ending._decode

    def counted(ids: list[int], **options: Any) -> str:
        nonlocal n_decoded
        n_decoded += len(ids)
        text: str = real(ids, **options)
        return text

    ending._decode = counted
    piece = tokenizer.get_vocab()["ab"]
    for _ in range(1000):
        draft.ids.append(piece)
        ending.check(draft)
    assert draft.output is None
    assert n_decoded < 1000 * 50


def written_as(tokenizer: Any, *parts: str) -> list[int]:
    """Tokens of a text, each part by itself."""
    return [id_ for part in parts for id_ in tokenizer.encode(part, add_special_tokens=False)]


def test_token_sequences_end_a_text_in_place_of_stop_strings(tokenizer: Any) -> None:
    stop = tuple(written_as(tokenizer, "b", "b"))
    ids = written_as(tokenizer, "a", "b", "a", "b", "b", "a")
    ending = EndDetector(tokenizer)
    # The stop string would end it at once.
    draft = new_draft((5,), Sampling(max_tokens=99, stop=("a",)), None, "k", 0, (stop,))
    for token_id in ids:
        draft.ids.append(token_id)
        ending.check(draft)
        if draft.is_done:
            break
    before = ending.text(written_as(tokenizer, "a", "b", "a"))
    assert draft.output == Output(before, Finish.STOP, len(draft.ids))


def test_an_engines_text_is_cut_at_the_first_token_sequence(tokenizer: Any) -> None:
    stop = tuple(written_as(tokenizer, "b", "b"))
    ids = written_as(tokenizer, "a", "b", "b", "a", "b", "b", "a")
    draft = new_draft((5,), Sampling(max_tokens=99, stop=("a",)), None, "k", 0, (stop,))
    job = WriteJob(draft, EndDetector(tokenizer))
    assert job.ask.stop == ()
    job.take(WriteAnswer(tuple(ids), "", is_stopped=False), 0.0)
    n_before = len(written_as(tokenizer, "a"))
    text = EndDetector(tokenizer).text(ids[:n_before])
    assert draft.output == Output(text, Finish.STOP, n_before + len(stop))
