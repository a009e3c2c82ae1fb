from __future__ import annotations

from pathlib import Path

import pytest

from assay.core.errors import PlanError
from assay.core.model import ModelCard
from assay.core.request import Kind
from assay.core.task import TaskSettings
from assay.dialects.table.compile import compile_table
from assay.engine.plan import check_plan
from fakes.engine import FakeTask


@pytest.mark.parametrize(("length", "context", "fits"), [(64, 64, True), (65, 64, False), (65, None, True)])
def test_windows_must_fit_the_model(tmp_path: Path, length: int, context: int | None, fits: bool) -> None:
    (tmp_path / "a.txt").write_text("Some text.", encoding="utf-8")
    task = compile_table(str(tmp_path / "a.txt"), TaskSettings(window_tokens=length)).task
    card = ModelCard("m", frozenset(Kind), is_chat=False, context_length=context)
    if fits:
        check_plan([task], card)
        return
    with pytest.raises(PlanError, match=r"PLAN-002.*windows of 65 tokens; model 'm' reads at most 64"):
        check_plan([task], card)


class AsksBeforehand(FakeTask):
    @property
    def kinds(self) -> frozenset[Kind]:
        return super().kinds | {Kind.SPAN}


def test_what_is_asked_beforehand_needs_a_model_that_can_do_it() -> None:
    card = ModelCard("m", frozenset({Kind.GENERATE}), is_chat=False)
    with pytest.raises(PlanError, match=r"PLAN-001.*asks for span before its samples.*can do 'gen'"):
        check_plan([AsksBeforehand(1)], card)
    check_plan([FakeTask(1)], card)
