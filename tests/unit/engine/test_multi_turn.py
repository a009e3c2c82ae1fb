"""Conversations are sent turn by turn, with any backend window, and end in one response each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.core.method import Method
from assay.core.prompt import Message, Prompt
from assay.core.request import Ask, Generate, Kind, Request, Sampling, make_request
from assay.core.response import Completion, Failure, Finish, Outcome, Output, Response
from assay.core.sample import Sample
from assay.core.score import Score, Verdict
from assay.core.task import AnsweredRequest
from assay.engine.cache import NoCache
from assay.engine.execute import Execution
from assay.engine.journal import FileJournal
from assay.engine.multi_turn import MultiTurnRunner
from assay.scoring.aggregate import MeanAggregator
from fakes.engine import FakeBackend, FakeTask


def said_to(prompt: Prompt) -> str:
    """Return what the model says: how much it has heard, so that nothing of it can be left out."""
    heard = prompt if isinstance(prompt, str) else "/".join(f"{m.role[0]}:{m.content}" for m in prompt)
    return f"<{len(heard)}>"


class Talker(FakeBackend):
    """Answers by what was said so far; fails when the last thing said is `!`."""

    def __init__(self, window: int, *, stop_after: int | None = None) -> None:
        super().__init__(window, stop_after)
        self.heard: list[Prompt] = []

    def run(self, requests: Iterable[Request]) -> Iterator[Response]:
        kept: dict[str, Request] = {}

        def noted() -> Iterator[Request]:
            for one in requests:
                assert isinstance(one.ask, Generate)
                assert not one.ask.turns
                assert one.id not in kept
                kept[one.id] = one
                # The one that it extends asserts that prompts are texts.
                yield Request(
                    one.id, one.task, one.sample_id, one.track, one.role, one.index, PLAIN, key=one.key
                )

        for response in super().run(noted()):
            ask = kept.pop(response.request_id).ask
            self.heard.append(ask.prompt)
            yield Response(response.request_id, response.key, self._outcome(ask), 0.5)

    def _outcome(self, ask: Ask) -> Outcome:
        last = ask.prompt if isinstance(ask.prompt, str) else ask.prompt[-1].text
        if last.endswith("!"):
            return Failure("injected", "asked to fail", attempts=2)
        finish = Finish.LENGTH if last.endswith("~") else Finish.END
        return Completion((Output(said_to(ask.prompt), finish, 2),), 3)


PLAIN = Generate("x", Sampling())


def expected(first: Prompt, turns: Sequence[str]) -> list[str] | int:
    """An oracle: the answers of one conversation held alone, or the turn at which it fails."""
    answers: list[str] = []
    prompt = first
    for number, turn in enumerate((*turns, None)):
        last = prompt if isinstance(prompt, str) else prompt[-1].text
        if last.endswith("!"):
            return number + 1
        answer = said_to(prompt)
        answers.append(answer)
        if turn is None:
            break
        if isinstance(prompt, str):
            gap = "" if not prompt or prompt[-1].isspace() else " "
            prompt = f"{prompt}{gap}{answer}\n\n{turn}"
        else:
            prompt = (*prompt, Message("assistant", answer), Message("user", turn))
    return answers


words = st.sampled_from(["hello", "why?", "stop!", "long~", "so "])
prompts = words | st.lists(words, min_size=1, max_size=2).map(
    lambda said: tuple(Message("user", text) for text in said)
)
talks = st.lists(st.tuples(prompts, st.lists(words, max_size=3)), max_size=8)


def requests_of(conversations: Sequence[tuple[Prompt, Sequence[str]]]) -> list[Request]:
    return [
        make_request("t", f"s{n}", "gen", "answer", 0, Generate(first, Sampling(), tuple(turns)))
        for n, (first, turns) in enumerate(conversations)
    ]


@given(talks, st.integers(1, 6))
def test_each_conversation_as_if_it_were_alone(
    conversations: list[tuple[Prompt, list[str]]], window: int
) -> None:
    backend = Talker(window)
    asked = requests_of(conversations)
    responses = {response.request_id: response for response in MultiTurnRunner(backend).run(iter(asked))}
    assert len(responses) == len(asked)
    for one, (first, turns) in zip(asked, conversations, strict=True):
        response, right = responses[one.id], expected(first, turns)
        assert response.key == one.key
        outcome = response.outcome
        if isinstance(right, int):
            assert isinstance(outcome, Failure)
            assert outcome.attempts == 2
            assert outcome.message == (f"turn {right}: asked to fail" if turns else "asked to fail")
            assert response.seconds == 0.5 * right
            continue
        assert isinstance(outcome, Completion)
        (output,) = outcome.outputs
        assert output.text == right[-1]
        assert list(output.turns) == (right if turns else [])
        assert (output.n_tokens, outcome.n_prompt_tokens) == (2 * len(right), 3 * len(right))
        assert response.seconds == 0.5 * len(right)
        spoken = [first if isinstance(first, str) else first[-1].text, *turns]
        assert (output.finish is Finish.LENGTH) == any(text.endswith("~") for text in spoken)


def test_new_conversations_begin_while_others_continue() -> None:
    """Requests are pulled when there is room, not all at once."""
    pulled: list[str] = []

    def source() -> Iterator[Request]:
        for one in requests_of([("a", ["b", "c"])] * 6):
            pulled.append(one.id)
            yield one

    backend = Talker(2)
    stream = MultiTurnRunner(backend).run(source())
    next(stream)
    assert len(pulled) < 6
    assert len(list(stream)) == 5


class Talks(FakeTask):
    """Samples that are conversations."""

    def __init__(self, conversations: Sequence[tuple[Prompt, Sequence[str]]]) -> None:
        super().__init__(len(conversations))
        self.conversations = conversations

    @property
    def kinds(self) -> frozenset[Kind]:
        return frozenset({Kind.GENERATE})

    def requests(self, sample: Sample, *, shots: int | None = None) -> Sequence[Request]:
        first, turns = self.conversations[sample.fields["n"]]
        ask = Generate(first, Sampling(), tuple(turns))
        return [make_request(self.name, sample.id, "gen", "answer", 0, ask)]


class Keeps:
    """A scorer that keeps what came back."""

    track = Method.GEN

    def __init__(self) -> None:
        self.kept: dict[str, Outcome] = {}

    def score(self, sample: Sample, answers: Sequence[AnsweredRequest]) -> Score:
        ((_, response),) = answers
        self.kept[sample.id] = response.outcome
        return Score("t", sample.id, Method.GEN, "accuracy", Verdict.UNGRADED)


class Nowhere:
    def write(self, *_: Any) -> None:
        pass

    def write_scores(self, *_: Any) -> None:
        pass


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=50)
@given(talks, st.integers(1, 4), st.integers(0, 20))
def test_a_killed_run_continues_and_comes_to_the_same(
    tmp_path: Path, conversations: list[tuple[Prompt, list[str]]], window: int, killed_after: int
) -> None:
    path = tmp_path / "journal.jsonl"
    path.unlink(missing_ok=True)

    def run(backend: Talker) -> dict[str, Outcome]:
        scorer = Keeps()
        journal = FileJournal(path)
        execution = Execution(
            [Talks(conversations)],
            backend,
            {"t": [scorer]},
            journal=journal,
            cache=NoCache(),
            sink=Nowhere(),
            aggregator=MeanAggregator(),
            on_progress=lambda _: None,
        )
        try:
            execution.run()
        finally:
            journal.close()
        return scorer.kept

    try:
        kept = run(Talker(window, stop_after=killed_after))
    except KeyboardInterrupt:
        known = len(path.read_text().splitlines()) if path.exists() else 0
        backend = Talker(window)
        kept = run(backend)
        # A conversation that was answered whole is not held again.
        assert known == 0 or len(backend.heard) < sum(1 + len(turns) for _, turns in conversations)
    assert len(kept) == len(conversations)
    for n, (first, turns) in enumerate(conversations):
        right, outcome = expected(first, turns), kept[f"s{n}"]
        if isinstance(right, int):
            assert isinstance(outcome, Failure)
        else:
            assert isinstance(outcome, Completion)
            assert outcome.outputs[0].text == right[-1]


def test_turns_and_samples_do_not_go_together() -> None:
    with pytest.raises(ValueError, match="send n requests"):
        Generate("x", Sampling(n=2), ("y",))


def test_a_conversation_takes_the_time_of_its_turns_and_begins_with_the_first_text() -> None:
    class Timed(Talker):
        def run(self, requests: Iterable[Request]) -> Iterator[Response]:
            for nth, one in enumerate(super().run(requests)):
                yield Response(one.request_id, one.key, one.outcome, 0.5, latency_s=2.0, first_s=0.25 + nth)

    asked = make_request("t", "s", "gen", "answer", 0, Generate("hi", Sampling(), turns=("and?", "so?")))
    (response,) = MultiTurnRunner(Timed(1)).run([asked])
    assert (response.seconds, response.latency_s, response.first_s) == (1.5, 6.0, 0.25)
