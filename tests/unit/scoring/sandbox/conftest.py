from __future__ import annotations

from collections.abc import Iterator

import pytest

from assay.core.errors import PlanError
from assay.scoring.sandbox import Limits, Sandbox

LIMITS = Limits(seconds=2.0, memory_mib=256, processes=16, file_mib=1, folder_mib=4, output_mib=2)


@pytest.fixture(scope="module", params=[True, False], ids=["namespaces", "plain"])
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """A sandbox with all that this machine offers, and one without namespaces."""
    with Sandbox(LIMITS, use_namespaces=request.param) as made:
        try:
            found = made.protections()
        except PlanError as error:
            if request.param:
                raise
            pytest.skip(f"without namespaces no sandbox starts here: {error}")
        if request.param and found.why_not:
            pytest.skip(f"this machine has no namespaces for it: {found.why_not}")
        yield made
