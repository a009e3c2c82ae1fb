"""A small task and a backend that records what it is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from assay.core.model import ModelCard, ModelIdentity, Token
from assay.core.origin import Origin
from assay.core.request import Ask, Generate, Kind, Request, Sampling, request
from assay.core.response import Completion, Failure, Finish, Outcome, Output, Response
from assay.core.sample import Sample
from assay.core.score import Score, Verdict
from assay.core.task import Answered, ComponentSpec, Scorer, TaskSpec


class FakeTask:
    def __init__(self, n: int, *, prompts: Callable[[int], str] = str, name: str = "t") -> None:
        self.n = n
        self.name = name
        self.prompts = prompts

    @property
    def spec(self) -> TaskSpec:
        return TaskSpec(self.name, "fake", "here", "hash", ("gen",), self.n, self.n)

    @property
    def kinds(self) -> frozenset[Kind]:
        return frozenset({Kind.GENERATE})

    def samples(self) -> Iterator[Sample]:
        for number in range(self.n):
            yield Sample(f"s{number}", {"n": number}, Origin("here", row=number + 1))

    def requests(self, sample: Sample) -> Sequence[Request]:
        ask = Generate(self.prompts(sample.fields["n"]), Sampling())
        return [request(self.name, sample.id, "gen", "answer", 0, ask)]

    def scorers(self) -> Sequence[ComponentSpec | Scorer]:
        return [FakeScorer()]


class FakeScorer:
    track = "gen"

    def score(self, sample: Sample, answers: Sequence[Answered]) -> Score:
        ((asked, response),) = answers
        if isinstance(response.outcome, Failure):
            return Score(asked.task, sample.id, "gen", "accuracy", Verdict.FAILED)
        assert isinstance(response.outcome, Completion)
        text = response.outcome.outputs[0].text
        return Score(asked.task, sample.id, "gen", "accuracy", Verdict.SCORED, 1.0, answer=text)


def reply(ask: Ask) -> Outcome:
    """Return the prompt backwards; a prompt that ends in `!` fails."""
    assert isinstance(ask.prompt, str)
    if ask.prompt.endswith("!"):
        return Failure("injected", "asked to fail")
    return Completion((Output(ask.prompt[::-1], Finish.END, 1),), 1)


class FakeBackend:
    """Answers windows of requests from the back, so that order can play no part."""

    def __init__(self, window: int = 4, stop_after: int | None = None) -> None:
        self.window = window
        self.stop_after = stop_after
        self.asked: list[str] = []

    card = ModelCard("fake", frozenset({Kind.GENERATE}), is_chat=False)

    def identity(self) -> ModelIdentity:
        return ModelIdentity("fake", "fake")

    def run(self, requests: Iterable[Request]) -> Iterator[Response]:
        waiting: list[Request] = []
        source = iter(requests)
        while True:
            for one in source:
                waiting.append(one)
                if len(waiting) == self.window:
                    break
            if not waiting:
                return
            for one in reversed(waiting):
                if self.stop_after is not None and len(self.asked) >= self.stop_after:
                    raise KeyboardInterrupt
                self.asked.append(one.id)
                yield Response(one.id, one.key, reply(one.ask))
            waiting.clear()

    def tokens(self, ask: Ask) -> Sequence[Token]:
        return ()

    def stats(self) -> Mapping[str, float]:
        return {}

    def notes(self) -> Sequence[str]:
        return ()

    def close(self) -> None:
        pass
