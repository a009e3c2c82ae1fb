from __future__ import annotations

import logging

import pytest

from assay.dialects.llmbox.library.raw_data import accepts_subset


@pytest.mark.parametrize(
    ("load_args", "overwrite", "subset", "accepted"),
    [
        (None, True, "a", False),
        ((), True, "de-en", True),
        (("race",), False, "middle", True),
        (("super_glue", "copa"), True, "boolq", True),
        (("super_glue", "copa"), False, "boolq", False),
        (("super_glue", "copa"), False, "copa", True),
    ],
)
def test_who_takes_a_subset(
    load_args: tuple[str, ...] | None, overwrite: bool, subset: str, accepted: bool
) -> None:
    assert accepts_subset(load_args, overwrite, subset) is accepted


@pytest.mark.parametrize(
    ("subset", "disable_warning", "n_lines"), [("boolq", False, 1), ("boolq", True, 0), ("copa", False, 0)]
)
def test_an_overwritten_subset_is_logged(
    caplog: pytest.LogCaptureFixture, subset: str, disable_warning: bool, n_lines: int
) -> None:
    with caplog.at_level(logging.WARNING):
        accepts_subset(("super_glue", "copa"), True, subset, disable_warning)
    assert len(caplog.records) == n_lines
