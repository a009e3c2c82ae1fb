from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from assay.core.errors import AuthorError, Problem

DATA = Path(__file__).parents[3].parent / "shared" / "data"


@pytest.fixture
def data() -> Path:
    if not DATA.is_dir():
        pytest.skip("the shared evaluation data is not beside the repository")
    return DATA


@pytest.fixture
def problem_of() -> Callable[[Callable[[], object]], Problem]:
    """Return what runs a call that must fail with one problem, and gives that problem."""

    def run(call: Callable[[], object]) -> Problem:
        with pytest.raises(AuthorError) as caught:
            call()
        assert caught.value.total == 1, str(caught.value)
        return caught.value.problems[0]

    return run
