from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# Timings decide no test: a busy machine may take its time over an example.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")

SHARED = Path(__file__).parents[1].parent / "shared"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real evaluation data beside the repository; tests that need it skip where it is absent."""
    folder = SHARED / "data"
    if not folder.is_dir():
        pytest.skip("the folder of real data, ../shared/data, is not here")
    return folder


@pytest.fixture(scope="session")
def seeds() -> Path:
    """The documents of the systems whose datasets Assay reads."""
    folder = SHARED / "seeds"
    if not folder.is_dir():
        pytest.skip("the folder of seed documents, ../shared/seeds, is not here")
    return folder


@pytest.fixture
def workdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder, so that runs and settings files of the person who tests play no part."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def one_thread() -> Iterator[None]:
    """Compute in one thread: threads that wait for each other crawl on a machine that does other work too."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
