"""A PostgreSQL server of the tests' own: made in a folder that goes away, reached by a socket inside it."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

_USER = "assay"
_DEBIAN = Path("/usr/lib/postgresql")
_SETTINGS = {
    # No port: nothing else on the machine can be in the way, and nobody else comes in.
    "listen_addresses": "",
    # What is written is thrown away with the folder.
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "shared_buffers": "16MB",
}


def programs() -> Path | None:
    """Return the folder of `initdb` and `pg_ctl`, of the newest version there is; None: not installed."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).parent
    versions = [folder for folder in _DEBIAN.glob("*/bin") if (folder / "initdb").exists()]
    return max(versions, key=lambda folder: float(folder.parent.name), default=None)


class PostgresServer(NamedTuple):
    """A server that runs."""

    url: str
    """The address of its first database."""
    restart: Callable[[], None]
    """Ends every connection, as whoever upgrades it does, and starts it again."""


@contextmanager
def running_server(bin_folder: Path) -> Iterator[PostgresServer]:
    """Start a server; stop it in the end, and remove all it wrote."""
    folder = Path(tempfile.mkdtemp(prefix="assay-postgres-"))
    account = _account()
    if account:
        shutil.chown(folder, account["user"], account["group"])

    def run(program: str, *arguments: str) -> None:
        # The server lives on with these streams open: a pipe would never end.
        log = (folder / f"{program}.log").open("ab")
        with log:
            command = [str(bin_folder / program), "--pgdata", str(folder / "data"), *arguments]
            done = subprocess.run(command, cwd=folder, stdout=log, stderr=log, **account)
        if done.returncode:
            raise RuntimeError((folder / f"{program}.log").read_text(errors="replace"))

    try:
        # Texts are sorted as in a language, unlike in SQLite: nothing may depend on it.
        collation = ("--locale-provider=icu", "--icu-locale=en", "--encoding=UTF8")
        run("initdb", "--auth=trust", f"--username={_USER}", "--no-sync", *collation)
        settings = {**_SETTINGS, "unix_socket_directories": str(folder)}
        options = " ".join(f"-c {name}='{value}'" for name, value in settings.items())
        run("pg_ctl", "start", "--wait", "--options", options)
        try:
            yield PostgresServer(
                f"postgresql://{_USER}@/postgres?host={folder}",
                lambda: run("pg_ctl", "restart", "--wait", "--mode", "fast", "--options", options),
            )
        finally:
            run("pg_ctl", "stop", "--wait", "--mode", "immediate")
    finally:
        shutil.rmtree(folder)


def _account() -> dict[str, Any]:
    """Return as whom the server runs: PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    return {"user": "postgres", "group": "postgres", "extra_groups": []}
