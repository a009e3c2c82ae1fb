"""No worker that has another model than the run is ever given a request."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
import pytest

from assay.backends.workers.model_check import OpenedModel
from assay.backends.workers.pool import WorkersBackend
from assay.core.errors import BackendError
from assay.core.model import ModelIdentity
from assay.core.request import Generate, Request, Sampling, make_request
from assay.core.response import Response
from fakes.crew import FakeCrew
from fakes.engine import FakeBackend

SAME = OpenedModel(ModelIdentity("fake", "fake"), versions={"torch": "2"})
OTHER = OpenedModel(ModelIdentity("fake", "fake", weights="other"))


def make_requests(n: int) -> list[Request]:
    return [make_request("t", str(at), "gen", "answer", 0, Generate(str(at), Sampling())) for at in range(n)]


def crew_of(opened: Callable[[int], OpenedModel], **more: object) -> FakeCrew:
    return FakeCrew(opened=opened, n_step=1, **more)  # type: ignore[arg-type]


def answered_until_refused(pool: WorkersBackend, n: int = 300) -> tuple[list[Response], str]:
    found: list[Response] = []
    with pytest.raises(BackendError, match="WORKER-009") as caught:
        found.extend(pool.run(make_requests(n)))
    return found, str(caught.value)


def given(crew: FakeCrew) -> set[int]:
    return {worker for worker, _ in crew.sent}


def test_the_first_worker_may_be_the_one() -> None:
    crew = crew_of(lambda worker: OTHER)
    found, text = answered_until_refused(WorkersBackend(FakeBackend(), crew, silence_s=50))
    assert (found, crew.sent) == ([], [])
    assert "a worker on here has another model under fake than the run: weights is other" in text
    assert crew.ended


@pytest.mark.parametrize(
    "more",
    [
        {"up_at": lambda worker: 0 if worker < 3 else 20},
        {"dies_by_itself": lambda step: "blameless" if step == 20 else None, "n": 2},
        {"dies_by_itself": lambda step: "guilty" if step == 20 else None, "n": 2},
    ],
    ids=["comes late", "replaces one that was lost", "replaces one that died"],
)
def test_one_that_comes_later_is_rejected_and_the_answers_of_the_others_are_kept(
    more: dict[str, object],
) -> None:
    crew = crew_of(lambda worker: SAME if worker < 3 else OTHER, **{"n": 3, **more})
    found, _ = answered_until_refused(WorkersBackend(FakeBackend(), crew, silence_s=50))
    assert 0 < len(found) < 300
    assert given(crew) == {1, 2}
    assert crew.ended == [3]


def test_what_the_run_is_of_does_not_change_with_the_files() -> None:
    """The files change under the run's feet: who opens them then has another model, whatever they are now."""

    class Changing(FakeBackend):
        now = SAME.identity

        def identity(self) -> ModelIdentity:
            return self.now

    model = Changing()
    crew = crew_of(lambda worker: OTHER)
    pool = WorkersBackend(model, crew, silence_s=50)
    before = pool.identity()
    model.now = OTHER.identity
    assert pool.identity() == before
    answered_until_refused(pool)


def test_a_run_after_one_that_was_rejected_starts_other_workers() -> None:
    crew = crew_of(lambda worker: OTHER if worker < 3 else SAME, n=1)
    pool = WorkersBackend(FakeBackend(), crew, silence_s=50)
    for _ in range(2):
        answered_until_refused(pool)
    assert len(list(pool.run(make_requests(20)))) == 20
    assert given(crew) == {3}


def test_other_versions_are_noted_and_no_reason_to_refuse() -> None:
    crew = crew_of(lambda worker: msgspec.structs.replace(SAME, versions={"torch": str(worker)}), n=2)
    pool = WorkersBackend(FakeBackend(), crew, silence_s=50)
    assert len(list(pool.run(make_requests(100)))) == 100
    notes: Sequence[str] = pool.notes()
    assert [note.partition(" on ")[0] for note in notes] == ["torch is 1", "torch is 2"]
    assert all("missing where the run was started" in note for note in notes)
