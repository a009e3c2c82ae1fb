from __future__ import annotations

import os
import signal
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy
from hypothesis import settings

from postgres_server import programs, running_server

# Timings decide no test: a busy machine may take its time over an example.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")

# A shell starts commands in the background with Ctrl-C ignored, and every program that a test starts
# inherits that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# No test asks the real hub: nobody listens there. Tests of the hub name one of their own.
os.environ["HF_ENDPOINT"] = "http://127.0.0.1:9"

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


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """The address of a PostgreSQL server of the tests; those that need it skip where none is installed."""
    bin_folder = programs()
    if bin_folder is None:
        pytest.skip("PostgreSQL is not installed: no initdb on the PATH or in /usr/lib/postgresql")
    with running_server(bin_folder) as server:
        yield server.url


@pytest.fixture(params=["sqlite", "postgres"])
def database_place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The place of an empty database: a file, and a database of a PostgreSQL server of its own."""
    if request.param == "sqlite":
        yield str(tmp_path / "ledger.db")
        return
    server = sqlalchemy.make_url(request.getfixturevalue("postgres_url"))
    name = f"test_{uuid.uuid4().hex}"
    engine = sqlalchemy.create_engine(
        server.set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT"
    )
    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
        yield server.set(database=name).render_as_string(hide_password=False)
        connection.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")
    engine.dispose()
