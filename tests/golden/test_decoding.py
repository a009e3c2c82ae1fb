"""The end of generated texts. Models that recite given tokens make every case exact."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from assay.backends.registry import open_backend
from assay.core.prompt import Prompt
from assay.core.request import Generate, Request, Sampling, Span, make_request
from assay.core.response import Completion, Finish, Likelihood, Output
from assay.core.task import TaskSettings
from assay.dialects.table.compile import compile_table
from fakes.families import CHAT, EOS, MakeModel, MakeOracle, make_tokenizer, write_script

Reciting = Callable[..., Any]


@pytest.fixture(scope="module")
def reciting(tmp_path_factory: pytest.TempPathFactory) -> Reciting:
    """Return a function that makes a model which recites texts, one character or special token at a time."""

    def make(*chains: Sequence[str], **changes: Any) -> Any:
        tokenizer = make_tokenizer("gpt2", adds_bos=False, template=CHAT)
        vocabulary = tokenizer.get_vocab()
        folder = tmp_path_factory.mktemp("script")
        ids = [[vocabulary[_NAMES.get(piece, piece)] for piece in chain] for chain in chains]
        write_script(folder, tokenizer, ids)
        if changes:
            path = folder / "generation_config.json"
            path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
        return open_backend(f"hf:{folder}", {})

    return make


_NAMES = {" ": "Ġ", "\n": "Ċ", "鯨0": "é", "鯨1": "¯", "鯨2": "¨"}
"""How a byte-level vocabulary names what cannot be seen; the numbers count the bytes of a character."""


def make_requests(prompts: Sequence[Prompt], sampling: Sampling) -> list[Request]:
    return [
        make_request("t", str(n), "gen", "answer", 0, Generate(p, sampling)) for n, p in enumerate(prompts)
    ]


def write(backend: Any, prompts: Sequence[Prompt], sampling: Sampling) -> list[Output]:
    found = {
        response.request_id: response.outcome for response in backend.run(make_requests(prompts, sampling))
    }
    outputs = []
    for one in make_requests(prompts, sampling):
        outcome = found[one.id]
        assert isinstance(outcome, Completion), outcome
        outputs.append(outcome.outputs[0])
    return outputs


RECITED = ["Q", *"abcdefghij"]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("begin", [0, 2])
def test_a_stop_is_found_over_any_number_of_tokens(reciting: Reciting, n: int, begin: int) -> None:
    """L16: a stop text spread over one to five tokens ends the text before it, at once."""
    backend = reciting(RECITED)
    stop = "abcdefghij"[begin : begin + n]
    (output,) = write(backend, ["Q"], Sampling(max_tokens=10, stop=(stop, "zzz")))
    assert output == Output("abcdefghij"[:begin], Finish.STOP, begin + n)


def test_a_stop_may_be_a_character_that_is_spelled_in_bytes(reciting: Reciting) -> None:
    """L16: a character of three byte tokens is found when its last byte is written."""
    backend = reciting(["Q", "a", "鯨0", "鯨1", "鯨2", "b", "c"])
    (whole, stopped) = (
        write(backend, ["Q"], Sampling(max_tokens=6, stop=stop))[0] for stop in ((), ("鯨b",))
    )
    assert whole == Output("a鯨bc", Finish.LENGTH, 6)
    assert stopped == Output("a", Finish.STOP, 5)


def test_the_earliest_stop_cuts_whichever_is_named_first(reciting: Reciting) -> None:
    """L16: one token may complete two stops; the text is cut where the earlier one begins."""
    backend = reciting(["Q", "a", "Answer", "b"])
    for stop in (("wer", "ns"), ("ns", "wer")):
        assert write(backend, ["Q"], Sampling(max_tokens=5, stop=stop)) == [Output("aA", Finish.STOP, 2)]


def test_rows_end_each_on_its_own_stop(reciting: Reciting) -> None:
    """L16: rows that end on different stops, by themselves or at the length do not wait for each other."""
    backend = reciting(["P", *"abcde"], ["Q", *"fghij"], ["R", *"klm", "</s>"], ["S", *"nopqrstuv"])
    outputs = write(backend, list("PQRS"), Sampling(max_tokens=8, stop=("de", "hi")))
    assert outputs == [
        Output("abc", Finish.STOP, 5),
        Output("fg", Finish.STOP, 4),
        Output("klm", Finish.END, 4),
        Output("nopqrstu", Finish.LENGTH, 8),
    ]
    # 5 + 4 + 4 + 8 written, and no token beyond.
    assert backend.stats()["generated_tokens"] == 21


def test_a_stop_equal_to_the_text_of_eos(reciting: Reciting) -> None:
    """L16 L26: the end token ends the text; its spelling in plain characters is a stop like any other."""
    for chain, expected in (
        (["Q", "a", "b", "</s>", "c"], Output("ab", Finish.END, 3)),
        (["Q", "a", "b", "<", "/", "s", ">", "c"], Output("ab", Finish.STOP, 6)),
        (["Q", "a", "b", "<|im_start|>", "c"], Output("ab", Finish.STOP, 3)),
    ):
        backend = reciting(chain)
        assert write(backend, ["Q"], Sampling(max_tokens=7, stop=("</s>", "<|im_start|>"))) == [expected]


def test_every_end_token_ends_and_only_those(reciting: Reciting) -> None:
    """L26: the tokenizer's EOS, the end of a turn that a configuration forgot, and all that it lists."""
    vocabulary = make_tokenizer("gpt2").get_vocab()
    chains = (["P", "a", "</s>"], ["Q", "b", "<|im_end|>"], ["R", "c", "d", "e"])
    backend = reciting(*chains)
    ends = write(backend, list("PQR"), Sampling(max_tokens=3))
    assert [output.finish for output in ends] == [Finish.END, Finish.END, Finish.LENGTH]
    assert [output.text for output in ends] == ["a", "b", "cde"]
    listed = reciting(*chains, eos_token_id=[EOS, vocabulary["d"]])
    assert write(listed, ["R"], Sampling(max_tokens=3)) == [Output("cd", Finish.END, 2)]


def test_an_end_token_inside_a_prompt_is_read_and_not_taken_for_padding(
    make_model: MakeModel, oracle: MakeOracle
) -> None:
    """L26: EOS is also the padding here; if a text contains it, the model sees it, in a batch or alone."""
    folder = make_model()
    tokenizer, truth = make_tokenizer("gpt2"), oracle(folder)
    prompts: list[Prompt] = [
        "</s>hello</s> world",
        "hello</s>",
        "hello",
        "</s></s>one two three four five six",
    ]
    backend: Any = open_backend(f"hf:{folder}", {"plain": "true"})
    outputs = write(backend, prompts, Sampling(max_tokens=6))
    ends = backend._end_detector.end_ids
    for prompt, output in zip(prompts, outputs, strict=True):
        ids = tuple(tokenizer.encode(prompt, add_special_tokens=False))
        assert EOS in ids or prompt == "hello"
        written = truth.write(ids, 6, ends)
        assert output.text == tokenizer.decode(list(written), skip_special_tokens=True)
        assert output.n_tokens == len(written)
    text = "</s>hello</s> world</s> yes"
    spans = [make_request("t", str(n), "ppl", "option", 0, Span(text, n)) for n in (9, 13, 19)]
    scored = {response.request_id: response.outcome for response in backend.run(spans)}
    ids = tuple(tokenizer.encode(text, add_special_tokens=False))
    for one in spans:
        outcome = scored[one.id]
        assert isinstance(outcome, Likelihood)
        assert isinstance(one.ask, Span)
        first = len(tokenizer.encode(text[: one.ask.start], add_special_tokens=False))
        assert outcome.sum_logprob == pytest.approx(sum(truth.logprobs(ids, first)), abs=1e-4)


def test_settings_of_the_checkpoint_play_no_part(reciting: Reciting) -> None:
    """L29: temperature, top-k and penalties of generation_config.json are not heard; greedy is greedy."""
    chain = ["Q", *"abcdefgh"]
    plain = write(reciting(chain), ["Q"], Sampling(max_tokens=8))
    hot = reciting(
        chain,
        do_sample=True,
        temperature=50.0,
        top_k=400,
        repetition_penalty=9.0,
        max_new_tokens=2,
        min_length=9,
    )
    assert write(hot, ["Q"], Sampling(max_tokens=8)) == plain == [Output("abcdefgh", Finish.LENGTH, 8)]


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "data.csv"
    path.write_text("question,A,B,answer\n" + "".join(f"q{n},x,y,{'AB'[n % 2]}\n" for n in range(6)))
    return str(path)


def test_the_effective_sampling_is_recorded(table: str) -> None:
    """L29: what the manifest says is what the requests ask: one name for each setting, no second source."""
    task = compile_table(
        table, TaskSettings(max_tokens=7, temperature=0.5, top_p=0.9, seed=3, stop=("X",))
    ).task
    for sample in task.samples():
        (one,) = task.requests(sample)
        assert isinstance(one.ask, Generate)
        assert one.ask.sampling == Sampling(7, 0.5, 0.9, ("X",), 3, 1)
    assert task.spec.settings["sampling"] == {
        "max_tokens": 7, "temperature": 0.5, "top_p": 0.9, "stop": ["X"], "seed": 3, "n": 1
    }  # fmt: skip


def test_a_chat_has_no_stops_but_those_that_were_asked_for(table: str) -> None:
    """L17: the blank line between shots stops text models alone; a chat's chain of thought runs on."""

    def stops(**settings: Any) -> tuple[str, ...]:
        task = compile_table(table, TaskSettings(**settings)).task
        (one,) = task.requests(next(task.samples()))
        assert isinstance(one.ask, Generate)
        assert task.spec.settings["sampling"]["stop"] == list(one.ask.sampling.stop)
        return one.ask.sampling.stop

    assert stops(is_chat=True) == stops(is_chat=True, shots=2) == ()
    assert stops(is_faithful=True, shots=2) == ()
    assert stops() == ("\nQuestion:",)
    assert stops(shots=2) == ("\n\n", "\nQuestion:")
    assert stops(shots=2, stop=()) == ()
