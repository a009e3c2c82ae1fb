"""Context length: the count before the run agrees with the failure in it, with real tokenizers too."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from assay.backends.registry import open_backend
from assay.core.errors import BackendError
from assay.core.method import Method
from assay.core.ports import Backend
from assay.core.prompt import Message
from assay.core.request import Ask, Generate, Labels, Sampling, Span, make_request
from assay.core.response import Completion, Failure, Outcome
from assay.core.task import TaskSettings
from assay.dialects.table.compile import compile_table
from assay.engine.context_fitting import ContextFitter

QUESTION = "Which of these is a fruit? 日本語 🙂\nA. apple\nB. stone\nAnswer:"
TALK = (Message("user", "One?"), Message("assistant", "yes"), Message("user", QUESTION))
ASKS: list[Ask] = [
    Span(f"{QUESTION} a stone wall", len(QUESTION)),
    Span("café au lait", 0),
    Span((*TALK, Message("assistant", "Answer: A")), 7),
    Labels(QUESTION, ((" A", "A"), (" the second", "B"))),
    Labels(TALK, ((" A",), (" B",))),
    Generate(QUESTION, Sampling(max_tokens=4)),
    Generate(TALK, Sampling(max_tokens=4)),
]
# A template that says much of its own, as some do: none of it is in the messages.
WORDY = (
    "{{ '<s>' + 'You are a helpful assistant. ' * 5 }}"
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def outcome(backend: Backend, ask: Ask) -> Outcome:
    (response,) = backend.run([make_request("t", "s", "x", "answer", 0, ask)])
    return response.outcome


@pytest.fixture(params=["mock", "llama", "bos"])
def model(request: pytest.FixtureRequest, make_model: Callable[..., Path]) -> str:
    if request.param == "mock":
        return "mock"
    return f"hf:{make_model('llama', adds_bos=request.param == 'bos', chat=True)}"


@pytest.mark.parametrize("ask", ASKS, ids=lambda ask: type(ask).__name__)
def test_the_count_is_what_must_fit(model: str, ask: Ask) -> None:
    needed = open_backend(model, {}).n_tokens(ask)
    assert needed is not None
    if isinstance(ask, Generate):
        needed -= ask.sampling.max_tokens - 1
    fits = outcome(open_backend(model, {"context_length": str(needed)}), ask)
    assert not isinstance(fits, Failure)
    if isinstance(fits, Completion):
        assert fits.outputs[0].n_tokens == 1
    short = outcome(open_backend(model, {"context_length": str(needed - 1)}), ask)
    assert isinstance(short, Failure)
    assert (short.kind, short.message) == (
        "too_long",
        f"the request needs {needed} tokens, but the model's context length is {needed - 1}",
    )


def test_what_cannot_be_encoded_has_no_count(make_model: Callable[..., Path]) -> None:
    backend = open_backend(f"hf:{make_model('llama')}", {})
    assert backend.n_tokens(Generate(TALK, Sampling())) is None
    assert backend.n_tokens(Span("all before the join", 19)) is None


def test_a_context_can_be_shortened_and_is_part_of_the_identity(make_model: Callable[..., Path]) -> None:
    folder = make_model("llama", context=256)
    shorter = open_backend(f"hf:{folder}", {"context_length": "64"})
    assert shorter.card.context_length == 64
    assert shorter.identity() != open_backend(f"hf:{folder}", {}).identity()
    with pytest.raises(BackendError, match=r"MODEL-002 context_length=257.*256"):
        _ = open_backend(f"hf:{folder}", {"context_length": "257"}).card


@pytest.mark.parametrize("form", ["text", "bos", "chat", "wordy"])
@pytest.mark.parametrize("is_faithful", [False, True])
def test_examples_fit_a_real_tokenizer_as_well_as_they_can(
    tmp_path: Path, make_model: Callable[..., Path], form: str, is_faithful: bool
) -> None:
    rows = [f"what is {n} and {'so on and ' * (n % 5)}{n}?,yes {n},no 日本 {n},B" for n in range(12)]
    (tmp_path / "data.csv").write_text("\n".join(["question,A,B,answer", *rows]), encoding="utf-8")
    args = {"context_length": "256"}
    if form == "wordy":
        (tmp_path / "wordy.jinja").write_text(WORDY, encoding="utf-8")
        args["chat_template"] = str(tmp_path / "wordy.jinja")
    folder = make_model("llama", adds_bos=form != "text", chat=form == "chat", context=512)
    backend = open_backend(f"hf:{folder}", args)
    settings = TaskSettings(
        methods=(Method.PPL, Method.PROB, Method.GEN),
        is_chat=form in ("chat", "wordy"),
        shots=8,
        is_faithful=is_faithful,
        max_tokens=9,
    )
    task = compile_table(str(tmp_path / "data.csv"), settings).task
    fitting = ContextFitter(backend)
    seen = set()
    for sample in task.samples():
        fitted = fitting.requests(task, sample)
        for track in ("ppl", "prob", "gen"):
            expected = max(
                n
                for n in range(9)
                if n == 0
                or all(
                    (backend.n_tokens(r.ask) or 0) <= 256
                    for r in task.requests(sample, shots=n)
                    if r.track == track
                )
            )
            mine = [r for r in fitted if r.track == track]
            assert mine == [r for r in task.requests(sample, shots=expected) if r.track == track]
            seen.add(expected)
            if form == "bos":
                first = [[token.text for token in backend.tokens(r.ask)][:2] for r in mine]
                assert all(texts[0] == "<s>" != texts[1] for texts in first)
        assert not any(isinstance(response.outcome, Failure) for response in backend.run(fitted))
    assert len(seen) > 1
    assert 0 < max(seen) < 8
