from __future__ import annotations

from pathlib import Path

import pytest

DATA = Path(__file__).parents[3].parent / "shared" / "data"


@pytest.fixture
def data() -> Path:
    if not DATA.is_dir():
        pytest.skip("the shared evaluation data is not beside the repository")
    return DATA
