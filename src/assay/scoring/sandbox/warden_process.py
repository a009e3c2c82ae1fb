"""A warden process, as Assay's process starts, calls and stops it."""

from __future__ import annotations

import os
import selectors
import subprocess
import sys
import tempfile
import time
from typing import TypeVar

import msgspec

from assay.scoring.sandbox.protocol import Hello, Job, Limits, Reply, Setup

_GRACE_S = 30.0
"""Extra time for a warden: start, file system, killing leftovers."""
_READ_BYTES = 65536
_SYSTEM = ("/usr/", "/bin/", "/lib/", "/lib64/")

MessageT = TypeVar("MessageT", Hello, Reply)


class WardenLost(Exception):
    """The warden ended or does not reply."""


class WardenProcess:
    """A running warden. Serves one program at a time."""

    def __init__(self, limits: Limits, *, preload: tuple[str, ...], use_namespaces: bool) -> None:
        self._patience_s = limits.seconds + _GRACE_S
        self._folder = tempfile.TemporaryDirectory(prefix="assay-sandbox-")
        # A program that runs as nobody must be able to enter this folder.
        os.chmod(self._folder.name, 0o711)
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed in close()
        setup = Setup(limits, self._folder.name, tuple(_interpreter_files()), preload, use_namespaces)
        command = [
            sys.executable,
            "-P",
            "-m",
            "assay.scoring.sandbox.warden",
            msgspec.json.encode(setup).decode(),
        ]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env=_environment(),
            bufsize=0,
            start_new_session=True,
        )
        try:
            self.protections = self._receive(Hello).protections
        except WardenLost:
            self.close()
            raise

    def ask(self, job: Job) -> Reply:
        """Run one program."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(msgspec.json.encode(job) + b"\n")
        except BrokenPipeError:
            raise WardenLost(self._read_last_error()) from None
        return self._receive(Reply)

    def close(self) -> None:
        """Stop the warden and everything it still runs."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._stderr):
            if pipe is not None:
                pipe.close()
        self._folder.cleanup()

    def _receive(self, kind: type[MessageT]) -> MessageT:
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        give_up = time.monotonic() + self._patience_s
        line = b""
        with selectors.DefaultSelector() as selector:
            selector.register(descriptor, selectors.EVENT_READ)
            while not line.endswith(b"\n"):
                if not selector.select(max(0.0, give_up - time.monotonic())):
                    raise WardenLost(f"no reply after {self._patience_s:g} s")
                chunk = os.read(descriptor, _READ_BYTES)
                if not chunk:
                    raise WardenLost(self._read_last_error())
                line += chunk
        return msgspec.json.decode(line, type=kind)

    def _read_last_error(self) -> str:
        code = self._process.wait()
        self._stderr.seek(0)
        lines = self._stderr.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"its process ended with status {code}"


def _environment() -> dict[str, str]:
    """Return a warden's whole environment: module paths, a fixed hash seed, one thread for numerics."""
    path = os.pathsep.join(entry for entry in sys.path if entry)
    return {"PYTHONPATH": path, "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def _interpreter_files() -> list[str]:
    """Return the files and folders of this interpreter and its packages outside the system's folders."""
    prefixes = dict.fromkeys((sys.base_prefix, sys.prefix))
    files = [
        os.path.join(prefix, name) for prefix in prefixes for name in ("bin", "lib", "lib64", "pyvenv.cfg")
    ]
    # Packages may be elsewhere, such as in the user's own folder.
    files += [entry for entry in sys.path if os.path.basename(entry) in {"site-packages", "dist-packages"}]
    visible: list[str] = []
    for path in files:
        if os.path.exists(path) and not f"{path}/".startswith(
            (*_SYSTEM, *(f"{folder}/" for folder in visible))
        ):
            visible.append(path)
    return visible
