"""A small task and a backend that records what it is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from assay.core.method import Method
from assay.core.model import ModelCard, ModelIdentity, Token
from assay.core.origin import Origin
from assay.core.request import Ask, Generate, Kind, Labels, Request, Sampling, make_request
from assay.core.response import Completion, Failure, Finish, Outcome, Output, Response
from assay.core.sample import Sample
from assay.core.score import Score, Verdict
from assay.core.task import AnsweredRequest, ComponentSpec, Scorer, TaskSpec


class FakeTask:
    """Samples with one GENERATE ask each; the examples of a sample stand before its prompt."""

    def __init__(
        self,
        n: int,
        *,
        prompts: Callable[[int], str] = str,
        name: str = "t",
        examples: Callable[[int], Sequence[str]] = lambda n: (),
        max_tokens: int = 256,
    ) -> None:
        self.n = n
        self.name = name
        self.prompts = prompts
        self.examples = examples
        self.max_tokens = max_tokens

    @property
    def spec(self) -> TaskSpec:
        return TaskSpec(self.name, "fake", "here", "hash", (Method.GEN,), self.n, self.n)

    @property
    def kinds(self) -> frozenset[Kind]:
        return frozenset({Kind.GENERATE})

    def samples(self) -> Iterator[Sample]:
        for number in range(self.n):
            yield Sample(f"s{number}", {"n": number}, Origin("here", row=number + 1))

    def requests(self, sample: Sample, *, shots: int | None = None) -> Sequence[Request]:
        number = sample.fields["n"]
        every = self.examples(number)
        n_shots = len(every) if shots is None else min(shots, len(every))
        n_left_out = len(every) - n_shots
        prompt = " ".join([*every[n_left_out:], self.prompts(number)])
        ask = Generate(prompt, Sampling(max_tokens=self.max_tokens))
        address = (self.name, sample.id, "gen", "answer", 0)
        return [make_request(*address, ask, n_shots=n_shots, n_shots_left_out=n_left_out)]

    def scorers(self) -> Sequence[ComponentSpec | Scorer]:
        return [FakeScorer()]


class FakeScorer:
    track = Method.GEN

    def score(self, sample: Sample, answers: Sequence[AnsweredRequest]) -> Score:
        ((asked, response),) = answers
        if isinstance(response.outcome, Failure):
            return Score(asked.task, sample.id, Method.GEN, "accuracy", Verdict.FAILED)
        assert isinstance(response.outcome, Completion)
        text = response.outcome.outputs[0].text
        return Score(asked.task, sample.id, Method.GEN, "accuracy", Verdict.SCORED, 1.0, answer=text)


def reply(ask: Ask) -> Outcome:
    """Return the prompt backwards; a prompt that ends in `!` fails."""
    assert isinstance(ask.prompt, str)
    if ask.prompt.endswith("!"):
        return Failure("injected", "asked to fail")
    return Completion((Output(ask.prompt[::-1], Finish.END, 1),), 1)


class FakeBackend:
    """Answers windows of requests from the back, so that order can play no part."""

    def __init__(
        self, window: int = 4, stop_after: int | None = None, *, context_length: int | None = None
    ) -> None:
        self.window = window
        self.stop_after = stop_after
        self.asked: list[str] = []
        self.n_counted = 0
        self.card = ModelCard(
            "fake", frozenset({Kind.GENERATE}), is_chat=False, context_length=context_length
        )

    def probe_card(self, kinds: frozenset[Kind], *, is_chat: bool) -> ModelCard:
        return self.card

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

    @property
    def has_more_at_hand(self) -> bool:
        return False

    def tokens(self, ask: Ask) -> Sequence[Token]:
        return ()

    def n_tokens(self, ask: Ask) -> int | None:
        """Count words; a label is one."""
        assert isinstance(ask.prompt, str)
        self.n_counted += 1
        n_words = len(ask.prompt.split())
        return n_words + (ask.sampling.max_tokens if isinstance(ask, Generate) else isinstance(ask, Labels))

    def stats(self) -> Mapping[str, float]:
        return {}

    def notes(self) -> Sequence[str]:
        return ()

    def close(self) -> None:
        pass
