from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from assay.core.errors import PlanError
from assay.core.media import Medium
from assay.core.model import ModelCard
from assay.core.request import Kind
from assay.core.task import TaskSettings, TaskSpec
from assay.dialects.table.compile import compile_table
from assay.engine.plan import check_plan, probe_model_card
from fakes.engine import FakeBackend, FakeTask


@pytest.mark.parametrize(("length", "context", "fits"), [(64, 64, True), (65, 64, False), (65, None, True)])
def test_windows_must_fit_the_model(tmp_path: Path, length: int, context: int | None, fits: bool) -> None:
    (tmp_path / "a.txt").write_text("Some text.", encoding="utf-8")
    task = compile_table(str(tmp_path / "a.txt"), TaskSettings(window_tokens=length)).task
    card = ModelCard("m", frozenset(Kind), is_chat=False, context_length=context)
    if fits:
        check_plan([task], card)
        return
    with pytest.raises(PlanError, match=r"PLAN-002.*windows of 65 tokens; model 'm' has a context of 64"):
        check_plan([task], card)


class AsksBeforehand(FakeTask):
    @property
    def kinds(self) -> frozenset[Kind]:
        return super().kinds | {Kind.SPAN}


def test_what_is_asked_beforehand_needs_a_model_that_can_do_it() -> None:
    card = ModelCard("m", frozenset({Kind.GENERATE}), is_chat=False)
    with pytest.raises(PlanError, match=r"PLAN-001.*needs span to prepare.*supports 'gen'"):
        check_plan([AsksBeforehand(1)], card)
    check_plan([FakeTask(1)], card)


class Likely(FakeTask):
    @property
    def spec(self) -> TaskSpec:
        return msgspec.structs.replace(super().spec, methods=("ppl",), source="my data.csv")

    @property
    def kinds(self) -> frozenset[Kind]:
        return frozenset({Kind.SPAN})


def test_a_reason_that_is_known_is_reported_with_the_command_that_works() -> None:
    able = frozenset({Kind.LABELS, Kind.GENERATE})
    card = ModelCard("m", able, is_chat=False, cannot={Kind.SPAN: "the server says no"})
    with pytest.raises(PlanError) as caught:
        check_plan([Likely(1)], card)
    (problem,) = caught.value.problems
    assert problem.what.endswith("model 'm' supports 'prob', 'gen', not 'ppl': the server says no")
    assert problem.fix.endswith("another model: assay run 'my data.csv' --model m --method prob")


def test_a_backend_is_asked_for_what_all_tasks_ask_together() -> None:
    asked: list[tuple[frozenset[Kind], bool]] = []

    class ProbedBackend(FakeBackend):
        def probe_card(self, kinds: frozenset[Kind], *, is_chat: bool) -> ModelCard:
            asked.append((kinds, is_chat))
            return self.card

    backend = ProbedBackend()
    assert probe_model_card(backend, [Likely(1), FakeTask(1)]) == backend.card
    assert asked == [(frozenset({Kind.SPAN, Kind.GENERATE}), False)]

    class Talks(FakeTask):
        @property
        def spec(self) -> TaskSpec:
            return msgspec.structs.replace(super().spec, settings={"form": "chat"})

    probe_model_card(backend, [FakeTask(1), Talks(1)])
    assert asked[1:] == [(frozenset({Kind.GENERATE}), True)], "one of them is enough"


def test_conversations_need_a_model_with_a_template(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("question,answer\n1+1=,2\n", encoding="utf-8")
    talks, reads = (
        compile_table(str(tmp_path / "a.csv"), TaskSettings(is_chat=is_chat)).task
        for is_chat in (True, False)
    )
    base = ModelCard("m", frozenset(Kind), is_chat=False)
    with pytest.raises(PlanError, match=r"PLAN-003.*uses conversations; model 'm' has no chat template"):
        check_plan([talks], base)
    check_plan([reads], base)
    check_plan([talks], ModelCard("m", frozenset(Kind), is_chat=True))


def test_windows_need_a_model_that_shows_its_tokens(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Some text.", encoding="utf-8")
    task = compile_table(str(tmp_path / "a.txt"), TaskSettings()).task
    with pytest.raises(PlanError, match=r"PLAN-004.*in windows; model 'm' does not report the tokens"):
        check_plan([task], ModelCard("m", frozenset(Kind), is_chat=False, has_windows=False))


class Shows(FakeTask):
    """A task whose prompts hold media."""

    def __init__(self, *media: str, by_address: bool = False) -> None:
        super().__init__(1)
        self._shown = {"media": list(media), "has_media_addresses": by_address}

    @property
    def spec(self) -> TaskSpec:
        return msgspec.structs.replace(super().spec, settings=self._shown)


def test_media_need_a_model_that_takes_them() -> None:
    sees = ModelCard("m", frozenset(Kind), is_chat=True, media=frozenset({Medium.IMAGE}))
    check_plan([Shows("image")], sees)
    with pytest.raises(PlanError, match=r"PLAN-005.*contains audio; model 'm' accepts text, image"):
        check_plan([Shows("image", "audio")], sees)
    with pytest.raises(PlanError, match=r"PLAN-005.*contains image; model 'm' accepts only text"):
        check_plan([Shows("image")], ModelCard("m", frozenset(Kind), is_chat=True))


def test_addresses_need_a_model_that_fetches_them() -> None:
    task = Shows("image", by_address=True)
    sees = ModelCard("m", frozenset(Kind), is_chat=True, media=frozenset({Medium.IMAGE}))
    with pytest.raises(PlanError, match=r"PLAN-005.*media by URL; model 'm' only reads local files"):
        check_plan([task], sees)
    check_plan([task], msgspec.structs.replace(sees, fetches_media=True))


class Talks(FakeTask):
    """A task of conversations, or of plain texts."""

    def __init__(self, form: str, *kinds: Kind) -> None:
        super().__init__(1)
        self._form, self._kinds = form, frozenset(kinds)

    @property
    def spec(self) -> TaskSpec:
        return msgspec.structs.replace(super().spec, settings={"form": self._form})

    @property
    def kinds(self) -> frozenset[Kind]:
        return self._kinds


@pytest.mark.parametrize(
    ("task", "words"),
    [
        (Talks("chat", Kind.SPAN), "uses method 'ppl'.*use --method gen, or --thinking off"),
        (Talks("chat", Kind.GENERATE, Kind.LABELS), "uses method 'prob'"),
        (Talks("text", Kind.GENERATE), "sends plain text.*use --chat on"),
    ],
)
def test_a_thinking_model_needs_generation_through_its_chat_template(task: FakeTask, words: str) -> None:
    thinks = ModelCard("m", frozenset(Kind), is_chat=True, thinks=True)
    with pytest.raises(PlanError, match=f"(?s)PLAN-006.*{words}"):
        check_plan([task], thinks)
    check_plan([task], msgspec.structs.replace(thinks, thinks=False))
    check_plan([Talks("chat", Kind.GENERATE)], thinks)
