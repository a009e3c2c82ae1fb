"""The number of examples that fit a prompt: the engine's choice against trying every number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.backends.registry import open_backend
from assay.core.method import Method
from assay.core.origin import Origin
from assay.core.ports import Backend
from assay.core.prompt import Message, Prompt
from assay.core.request import Ask, Generate, Kind, Labels, Request, Sampling, Span, make_request
from assay.core.run import Cost
from assay.core.sample import Sample
from assay.core.task import ComponentSpec, Scorer, TaskSpec
from assay.engine.context_fitting import ContextFitter
from fakes.engine import FakeBackend, FakeTask

SAMPLE = Sample("s", {}, Origin("here"))
TRACKS = tuple(Method)


class ChoiceTask:
    """One question with examples, asked by every method, as text or as a conversation."""

    def __init__(
        self,
        question: str,
        options: Sequence[str],
        examples: Sequence[str],
        *,
        chat: bool = False,
        max_tokens: int = 5,
    ) -> None:
        self.question = question
        self.options = options
        self.examples = examples
        self.chat = chat
        self.max_tokens = max_tokens

    @property
    def spec(self) -> TaskSpec:
        return TaskSpec("t", "fake", "here", "hash", TRACKS, 1, 1)

    @property
    def kinds(self) -> frozenset[Kind]:
        return frozenset(Kind)

    def samples(self) -> Iterator[Sample]:
        yield SAMPLE

    def scorers(self) -> Sequence[ComponentSpec | Scorer]:
        return []

    def prompt(self, n_shots: int, answer: str = "") -> Prompt:
        shown = self.examples[len(self.examples) - n_shots :]
        if not self.chat:
            return "\n\n".join([*shown, f"Be brief.\n{self.question}\nAnswer:{answer}"])
        turns = [Message("system", "Be brief.")]
        for text in shown:
            turns += [Message("user", text), Message("assistant", "yes")]
        turns.append(Message("user", self.question))
        return (*turns, Message("assistant", f"Answer:{answer}"))

    def requests(self, sample: Sample, *, shots: int | None = None) -> Sequence[Request]:
        n = len(self.examples) if shots is None else min(shots, len(self.examples))
        counts: dict[str, Any] = {"n_shots": n, "n_shots_left_out": len(self.examples) - n}
        start = len("Answer:") if self.chat else len(str(self.prompt(n)))
        made = []
        for i, option in enumerate(self.options):
            span = Span(self.prompt(n, f" {option}"), start)
            made.append(make_request("t", "s", "ppl", "option", i, span, **counts))
            made.append(make_request("t", "s", "ppl", "unconditional", i, Span(f" {option}", 0)))
        labels = Labels(self.prompt(n), tuple((f" {option}", option) for option in self.options))
        made.append(make_request("t", "s", "prob", "labels", 0, labels, **counts))
        written = Generate(self.prompt(n), Sampling(max_tokens=self.max_tokens))
        made.append(make_request("t", "s", "gen", "answer", 0, written, **counts))
        return made


def needs(backend: Backend, task: ChoiceTask, track: str, n: int) -> int:
    """Return the most tokens that a request of a track needs with n examples."""
    counted = [
        backend.n_tokens(r.ask) or 0
        for r in task.requests(SAMPLE, shots=n)
        if r.track == track and r.role != "unconditional"
    ]
    return max(counted)


def mock(context_length: int | None) -> Backend:
    return open_backend("mock", {} if context_length is None else {"context_length": str(context_length)})


WORDS = st.lists(st.text("abcé日🙂?", min_size=1, max_size=9), min_size=1, max_size=12).map(" ".join)


@given(
    question=WORDS,
    options=st.lists(WORDS, min_size=2, max_size=4, unique=True),
    examples=st.lists(WORDS, max_size=8),
    context_length=st.integers(1, 250),
    chat=st.booleans(),
)
def test_each_track_keeps_the_most_examples_with_which_all_its_options_fit(
    question: str, options: list[str], examples: list[str], context_length: int, chat: bool
) -> None:
    backend = mock(context_length)
    task = ChoiceTask(question, options, examples, chat=chat)
    fitted = ContextFitter(backend).requests(task, SAMPLE)
    assert [r.id for r in fitted] == [r.id for r in task.requests(SAMPLE)]
    for track in TRACKS:
        fitting = [n for n in range(len(examples) + 1) if needs(backend, task, track, n) <= context_length]
        expected = max(fitting, default=0)
        mine = [r for r in fitted if r.track == track]
        assert mine == [r for r in task.requests(SAMPLE, shots=expected) if r.track == track]
        shown = {(r.n_shots, r.n_shots_left_out) for r in mine if r.role != "unconditional"}
        assert shown == {(expected, len(examples) - expected)}


def test_a_track_that_needs_more_room_takes_no_examples_from_another() -> None:
    examples = [f"example {n} {'word ' * 20}" for n in range(4)]
    task = ChoiceTask("the question", ["a", "b"], examples, max_tokens=60)
    backend = mock(None)
    length = max(needs(backend, task, track, 4) for track in ("ppl", "prob"))
    fitted = ContextFitter(mock(length)).requests(task, SAMPLE)
    shown = {r.track: r.n_shots for r in fitted if r.role != "unconditional"}
    assert shown == {"ppl": 4, "prob": 4, "gen": 1}
    assert needs(backend, task, "gen", 1) <= length < needs(backend, task, "gen", 2)


def test_system_message_question_and_nearest_examples_stay() -> None:
    examples = [f"example {n} {'word ' * 20}" for n in range(5)]
    task = ChoiceTask("the question", ["a", "b"], examples, chat=True)
    fitted = ContextFitter(mock(75)).requests(task, SAMPLE)
    prompt = next(r.ask.prompt for r in fitted if r.track == "prob")
    assert isinstance(prompt, tuple)
    assert [m.text.split(" word")[0] for m in prompt] == [
        "Be brief.",
        "example 3",
        "yes",
        "example 4",
        "yes",
        "the question",
        "Answer:",
    ]


def test_what_does_not_fit_without_examples_is_asked_without_them() -> None:
    task = ChoiceTask("word " * 50, ["a", "b"], ["x"] * 3)
    fitted = ContextFitter(mock(20)).requests(task, SAMPLE)
    assert {(r.n_shots, r.n_shots_left_out) for r in fitted if r.role != "unconditional"} == {(0, 3)}


def test_an_answer_has_room_only_as_long_as_there_is_an_example_to_leave_out() -> None:
    backend = mock(60)
    task = ChoiceTask("q", ["a", "b"], ["word " * 8] * 4, max_tokens=30)
    (gen,) = [r for r in ContextFitter(backend).requests(task, SAMPLE) if r.track == "gen"]
    assert 0 < gen.n_shots < 4
    assert (backend.n_tokens(gen.ask) or 0) <= 60
    longer = ChoiceTask("word " * 50, ["a", "b"], ["word"] * 4, max_tokens=30)
    (gen,) = [r for r in ContextFitter(backend).requests(longer, SAMPLE) if r.track == "gen"]
    assert gen.n_shots == 0
    (response,) = backend.run([gen])
    assert response.outcome == next(iter(mock(None).run([gen]))).outcome


@pytest.mark.parametrize(
    ("context_length", "expected"),
    [
        # Nothing is known of the model's limit.
        (None, 0),
        # Far from the limit, byte counts decide: only the text around is measured, once.
        (100_000, 1),
        # Nearer, the context that options share is counted, once for each kind of prompt.
        (350, 1 + 1),
    ],
)
def test_counting_is_done_only_where_it_must_be(context_length: int | None, expected: int) -> None:
    backend = FakeBackend(context_length=context_length)
    fitting = ContextFitter(backend)
    task = ChoiceTask("q", ["a", "b", "c", "d"], ["word " * 20] * 5)
    for _ in range(10 if context_length != 350 else 1):
        assert fitting.requests(task, SAMPLE) == task.requests(SAMPLE)
    assert backend.n_counted == expected


@pytest.mark.parametrize("chat", [False, True])
def test_examples_that_questions_share_are_counted_once(chat: bool) -> None:
    class Counting(FakeBackend):
        def n_tokens(self, ask: Ask) -> int | None:
            self.n_counted += 1
            texts = [ask.prompt] if isinstance(ask.prompt, str) else [m.text for m in ask.prompt]
            return sum(len(text.split()) for text in texts)

    examples = ["word " * 40] * 5
    backend = Counting(context_length=400)
    fitting = ContextFitter(backend)
    for n in range(20):
        task = ChoiceTask(f"question {n}", ["a", "b"], examples, chat=chat)
        assert fitting.requests(task, SAMPLE) == task.requests(SAMPLE)
    # What stands around a text or a conversation, and one context of each kind.
    assert backend.n_counted <= 8


def test_a_model_that_cannot_count_is_asked_everything() -> None:
    class Mute(FakeBackend):
        def n_tokens(self, ask: Ask) -> int | None:
            return None

    backend = Mute(context_length=10)
    task = ChoiceTask("q", ["a", "b"], ["word " * 20] * 5)
    assert ContextFitter(backend).requests(task, SAMPLE) == task.requests(SAMPLE)


class Joining(FakeBackend):
    """Cuts a context into other, and more, tokens when something follows it."""

    def n_tokens(self, ask: Ask) -> int | None:
        assert isinstance(ask.prompt, str)
        n = len(ask.prompt) // 4
        return n if isinstance(ask, Generate) else n + 5


def test_tokens_that_arise_where_texts_are_joined_are_counted() -> None:
    """An estimate from the parts alone, 27 tokens, would find room in a context that is too short."""
    asked = Span("x" * 102, 100)
    assert Joining().n_tokens(asked) == 30
    for length, excess in ((60, 0), (30, 0), (29, 1), (28, 2), (27, 3)):
        assert ContextFitter(Joining(context_length=length)).excess(asked) == excess


def test_excess_is_exact() -> None:
    task = FakeTask(1, prompts=lambda n: "word " * 30, max_tokens=7)
    (asked,) = task.requests(next(task.samples()))
    assert ContextFitter(FakeBackend(context_length=37)).excess(asked.ask) == 0
    assert ContextFitter(FakeBackend(context_length=36)).excess(asked.ask) == 1
    assert ContextFitter(FakeBackend()).excess(asked.ask) == 0


def test_the_note_says_all_in_words() -> None:
    cost = Cost("t", "gen", n_shots=469, n_shots_left_out=31, n_shortened=12)
    fitting = ContextFitter(FakeBackend(context_length=40))
    message = "t gen: 12 of 100 samples had fewer examples than requested: 31 of 500 omitted, because "
    # What the task itself leaves out is not the model's doing.
    assert fitting.note(cost, 100) == message + "the dataset limits their tokens"
    fitting.requests(ChoiceTask("question", ["a"], ["a long example " * 5] * 3), SAMPLE)
    assert fitting.note(cost, 100) == message + "prompt and answer share a context of 40 tokens"
