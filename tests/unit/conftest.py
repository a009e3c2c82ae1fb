from __future__ import annotations

from collections.abc import Callable

import pytest

from assay.core.errors import AuthorError, Problem


@pytest.fixture
def problem_of() -> Callable[[Callable[[], object]], Problem]:
    """Return what runs a call that must fail with one problem, and gives that problem."""

    def run(call: Callable[[], object]) -> Problem:
        with pytest.raises(AuthorError) as caught:
            call()
        assert caught.value.total == 1, str(caught.value)
        return caught.value.problems[0]

    return run
