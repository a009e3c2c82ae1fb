"""Differences from an original system: their record, and their part in a run's identity."""

import msgspec
import pytest

from assay.core.difference import (
    AS_ORIGINAL,
    AppliedDifference,
    Difference,
    apply_differences,
    select_differences,
)
from assay.core.method import Method
from assay.core.model import ModelIdentity
from assay.core.run import run_fingerprint
from assay.core.task import TaskSpec

TABLE = {
    "always": Difference[int]("the original rounds", "Assay does not round"),
    "large": Difference[int]("it stops", "it continues", lambda n: n > 9, is_reproduced=False),
    "seeded": Difference[int]("one draw", "a draw per row", faithful="one draw with the run's seed"),
}


def spec(*differences: AppliedDifference) -> TaskSpec:
    return TaskSpec("t", "table", "t.csv", "hash", (Method.GEN,), 1, 1, differences=differences)


def fingerprint(*differences: AppliedDifference) -> str:
    return run_fingerprint((spec(*differences),), ModelIdentity("mock", "mock"))


def test_a_task_records_the_differences_that_affect_it() -> None:
    assert list(select_differences(TABLE, 3)) == ["always", "seeded"]
    corrected = apply_differences(select_differences(TABLE, 10), is_faithful=False)
    assert [one.here for one in corrected] == ["Assay does not round", "it continues", "a draw per row"]
    assert not any(one.is_reproduced for one in corrected)


def test_a_faithful_run_reproduces_what_it_can() -> None:
    faithful = apply_differences(TABLE, is_faithful=True)
    assert [one.here for one in faithful] == [AS_ORIGINAL, "it continues", "one draw with the run's seed"]
    assert [one.is_reproduced for one in faithful] == [True, False, True]


def test_a_run_is_identified_by_names_and_not_by_words() -> None:
    first = fingerprint(AppliedDifference("rounding", "it rounds", "no rounding"))
    assert first == fingerprint(AppliedDifference("rounding", "The original rounds.", "Assay does not."))
    assert first != fingerprint(AppliedDifference("rounding", "it rounds", AS_ORIGINAL))
    assert first != fingerprint(AppliedDifference("spacing", "it rounds", "no rounding"))
    assert first != fingerprint()


@pytest.mark.parametrize(("here", "is_reproduced"), [("no rounding", False), (AS_ORIGINAL, True)])
def test_earlier_manifests_are_read(here: str, is_reproduced: bool) -> None:
    stored = msgspec.json.encode(spec())
    stored = (
        stored[:-1] + f',"quirks":[{{"name":"rounding","original":"it rounds","here":"{here}"}}]}}'.encode()
    )
    (one,) = msgspec.json.decode(stored, type=TaskSpec).differences
    assert (one.name, one.here, one.is_reproduced) == ("rounding", here, is_reproduced)


def test_a_manifest_keeps_its_form() -> None:
    stored = msgspec.json.decode(msgspec.json.encode(spec(AppliedDifference("rounding", "a", "b"))))
    assert stored["quirks"] == [{"name": "rounding", "original": "a", "here": "b"}]
    assert stored["methods"] == ["gen"]
