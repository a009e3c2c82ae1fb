from __future__ import annotations

import os
import signal
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy
from hypothesis import settings

from assay.backends.cache_dir import cache_dir
from postgres_server import programs, running_server

# Timings decide no test: a busy machine may take its time over an example.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")

# A shell starts commands in the background with Ctrl-C ignored, and every program that a test starts
# inherits that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Threads that wait for each other crawl on a machine that does other work too: the other half of the tests.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# No test asks the real hub: nobody listens there. Tests of the hub name one of their own.
os.environ["HF_ENDPOINT"] = "http://127.0.0.1:9"

# Settings of the person who tests play no part.
os.environ["ASSAY_CONFIG"] = os.devnull
os.environ.pop("ASSAY_PROFILE", None)

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


@pytest.fixture(scope="session", autouse=True)
def _cache_of_this_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A cache of these tests alone: the answers of an earlier session would hide what is broken now."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASSAY_CACHE", str(make_cache(tmp_path_factory)))
        yield


@pytest.fixture
def empty_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache without an answer, for tests that count what a model is asked."""
    monkeypatch.setenv("ASSAY_CACHE", str(make_cache(tmp_path_factory)))


def make_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a cache that has nothing but the weights of the embedded model: unpacking them takes long."""
    unpacked = cache_dir() / "models"
    unpacked.mkdir(parents=True, exist_ok=True)
    cache = tmp_path_factory.mktemp("cache")
    (cache / "models").symlink_to(unpacked)
    return cache


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
