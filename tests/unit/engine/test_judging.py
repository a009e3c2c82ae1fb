from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.backends.mock import MockBackend
from assay.core.errors import PlanError
from assay.core.media import Image
from assay.core.ports import Backend, Judge, ResponseCache
from assay.core.prompt import Message, Prompt
from assay.core.request import Ask, Generate, Request, Sampling
from assay.core.response import Completion, Failure, LabelProbs, Outcome, Response
from assay.core.tally import JudgeTally
from assay.engine.cache import NoCache, SqliteCache
from assay.engine.journal import FileJournal
from assay.engine.judging import MAX_TOKENS, BackendJudge
from fakes import engine
from fakes.engine import FakeBackend


class NoJournal:
    def answer(self, key: str) -> None:
        pass

    def get(self, request_id: str, key: str) -> None:
        return None

    def append(self, response: object) -> None:
        pass

    def flush(self) -> None:
        pass


def texts(outcomes: Sequence[Completion | Failure]) -> list[str]:
    return [one.outputs[0].text if isinstance(one, Completion) else one.kind for one in outcomes]


def ask(
    backend: Backend,
    path: Path,
    prompts: Sequence[Prompt],
    *,
    cache: ResponseCache | None = None,
    retry: bool = False,
    max_tokens: int = MAX_TOKENS,
) -> tuple[Sequence[Completion | Failure], JudgeTally]:
    """Ask as one start of a run does: the journal is opened, used and closed."""
    with closing(FileJournal(path, forget_failures=retry)) as journal:
        desk = BackendJudge(backend, journal, cache or NoCache(), max_tokens=max_tokens)
        return desk.ask(prompts), desk.tally


@given(st.lists(st.sampled_from(["a", "ab", "abc", "abcd!", "b"]), max_size=30), st.integers(1, 7))
def test_replies_stand_in_the_order_of_the_prompts_and_equal_ones_are_sent_once(
    prompts: list[str], window: int
) -> None:
    backend = FakeBackend(window)
    judge = BackendJudge(backend, NoJournal(), NoCache())
    expected = ["injected" if prompt.endswith("!") else prompt[::-1] for prompt in prompts]
    assert texts(judge.ask(prompts)) == expected
    assert len(backend.asked) == len(set(prompts))
    # What was asked once in a run is known, failures too: a metric over a part of a dataset asks nothing.
    assert texts(judge.ask(prompts[::2])) == expected[::2]
    assert len(backend.asked) == len(set(prompts))
    tally = judge.tally
    assert tally.n_prompts == len(prompts) + len(prompts[::2])
    assert tally.n_prompts == tally.n_sent + tally.n_journaled + tally.n_cached + tally.n_shared
    assert tally.n_sent == len(set(prompts))
    assert tally.n_replied == tally.n_prompts
    assert tally.n_failed == sum(prompt.endswith("!") for prompt in (*prompts, *prompts[::2]))


def test_a_judge_at_work_is_reported_reply_by_reply() -> None:
    reported: list[tuple[int, int, int]] = []

    def note() -> None:
        reported.append((judge.tally.n_replied, judge.tally.n_failed, judge.tally.n_prompts))

    judge = BackendJudge(FakeBackend(window=1), NoJournal(), NoCache(), on_reply=note)
    judge.ask(["a", "b!", "a"])
    # All that was handed in is known from the first reply on.
    assert reported == [(1, 0, 3), (2, 1, 3), (3, 1, 3)]
    judge.ask(["b!"])
    assert reported[3:] == [(4, 2, 4)]


def test_a_killed_run_asks_only_what_is_owed(tmp_path: Path) -> None:
    prompts = [f"prompt {n}" for n in range(20)]
    first = FakeBackend(window=3, stop_after=7)
    with pytest.raises(KeyboardInterrupt):
        ask(first, tmp_path / "j", prompts)
    second = FakeBackend(window=4)
    outcomes, tally = ask(second, tmp_path / "j", prompts)
    assert texts(outcomes) == [prompt[::-1] for prompt in prompts]
    assert set(first.asked).isdisjoint(second.asked)
    assert (len(first.asked), len(second.asked)) == (7, 13)
    assert (tally.n_journaled, tally.n_sent) == (7, 13)


def test_failures_are_replies_of_their_own_kept_by_the_journal_and_never_by_the_cache(tmp_path: Path) -> None:
    prompts = ["fine", "bad!"]
    with closing(SqliteCache(tmp_path / "cache", FakeBackend().identity())) as cache:
        outcomes, _ = ask(FakeBackend(), tmp_path / "j", prompts, cache=cache)
    assert isinstance(outcomes[0], Completion)
    assert outcomes[1] == Failure("injected", "asked to fail")
    again, tally = ask(FakeBackend(), tmp_path / "j", prompts)
    assert again == outcomes
    assert (tally.n_sent, tally.n_failed) == (0, 1)
    _, tally = ask(FakeBackend(), tmp_path / "j", prompts, retry=True)
    assert (tally.n_sent, tally.n_failed) == (1, 1)
    with closing(SqliteCache(tmp_path / "cache", FakeBackend().identity())) as cache:
        _, tally = ask(FakeBackend(), tmp_path / "other", prompts, cache=cache)
    assert (tally.n_cached, tally.n_sent, tally.n_failed) == (1, 1, 1)


def test_an_answer_from_the_cache_is_journaled(tmp_path: Path) -> None:
    with closing(SqliteCache(tmp_path / "cache", FakeBackend().identity())) as cache:
        ask(FakeBackend(), tmp_path / "first", ["fine"], cache=cache)
        cache.flush()
        ask(FakeBackend(), tmp_path / "second", ["fine"], cache=cache)
    outcomes, tally = ask(FakeBackend(), tmp_path / "second", ["fine"])
    assert texts(outcomes) == ["enif"]
    assert (tally.n_journaled, tally.n_sent) == (1, 0)


def test_another_judge_or_another_room_for_words_is_sent_again(tmp_path: Path) -> None:
    def n_sent(name: str, max_tokens: int = MAX_TOKENS) -> int:
        _, tally = ask(MockBackend(name, {}), tmp_path / "j", ["prompt"], max_tokens=max_tokens)
        return tally.n_sent

    assert [n_sent("one"), n_sent("one"), n_sent("two"), n_sent("one", 5)] == [1, 0, 1, 1]


class Recording(MockBackend):
    """The mock, which keeps what it is asked."""

    def __init__(self, *, is_chat: bool) -> None:
        super().__init__("", {"chat": str(is_chat).lower()})
        self.asks: list[Ask] = []

    def run(self, requests: Iterable[Request]) -> Iterator[Response]:
        for one in requests:
            self.asks.append(one.ask)
            yield from super().run([one])


def test_messages_go_to_a_chat_model_as_they_are_and_to_another_as_one_text() -> None:
    messages = (Message("system", "Grade."), Message("user", "Answer"))
    sampling = Sampling(max_tokens=1024, temperature=0.0)
    for is_chat, shown in ((True, messages), (False, "Grade.\n\nAnswer\n\n")):
        backend = Recording(is_chat=is_chat)
        BackendJudge(backend, NoJournal(), NoCache()).ask([messages])
        assert backend.asks == [Generate(shown, sampling)]


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.engine.judging._REMEMBERED", 3)
    backend = FakeBackend()
    judge = BackendJudge(backend, NoJournal(), NoCache())
    prompts = [str(n) for n in range(8)]
    assert texts(judge.ask(prompts)) == prompts
    assert len(judge._remembered) == 3
    judge.ask(prompts)
    assert len(backend.asked) > 8


def test_a_judge_that_cannot_write_is_rejected_before_it_is_asked() -> None:
    with pytest.raises(PlanError) as caught:
        BackendJudge(MockBackend("x", {"kinds": "span"}), NoJournal(), NoCache())
    assert caught.value.problems[0].code == "JUDGE-002"
    assert "'mock:x'" in str(caught.value)


def test_a_backend_that_answers_with_something_else_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(ask: Ask) -> Outcome:
        return LabelProbs((1.0,), 1.0, 1)

    monkeypatch.setattr(engine, "reply", wrong)
    with pytest.raises(TypeError, match="LabelProbs"):
        BackendJudge(FakeBackend(), NoJournal(), NoCache()).ask(["x"])


def test_the_desk_is_a_judge() -> None:
    judge: Judge = BackendJudge(FakeBackend(), NoJournal(), NoCache())
    assert judge.identity() == FakeBackend().identity()


def test_a_judge_is_not_asked_about_what_it_cannot_see() -> None:
    judge = BackendJudge(MockBackend("", {"chat": "true", "media": ""}), NoJournal(), NoCache())
    with pytest.raises(PlanError, match=r"PLAN-005 a prompt contains image; the judge .* accepts only text"):
        judge.ask([(Message("user", (Image("image/png", sha256="0"),)),)])
