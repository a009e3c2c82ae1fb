"""Redirects vLLM's console output to a log file, which is kept if something goes wrong.

vLLM configures its logging once per process, so all engines of a process share one file.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from assay.backends.cache_dir import cache_dir

_VARIABLE = "VLLM_LOGGING_CONFIG_PATH"


@cache
def open_engine_log() -> EngineLog:
    """Return the log file of this process."""
    log = EngineLog()
    atexit.register(log.close)
    return log


class EngineLog:
    """A log file; removed when it is closed, unless it is kept."""

    def __init__(self) -> None:
        folder = cache_dir() / "logs"
        folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f"vllm-{os.getpid()}-", suffix=".log", dir=folder)
        os.close(handle)
        self.path = Path(name)
        self._config = self.path.with_suffix(".json")
        self._config.write_text(json.dumps(_config(self.path)), encoding="utf-8")
        self._is_kept = False

    def name(self) -> None:
        """Name the file in the environment, for vLLM and every process that it starts.

        The user's own setting is kept; a name left by another Assay process is replaced.
        """
        named = os.environ.get(_VARIABLE)
        if named is None or Path(named).parent == self.path.parent:
            os.environ[_VARIABLE] = str(self._config)

    @contextmanager
    def capturing_output(self) -> Iterator[None]:
        """Redirect all output of the block, including that of native code, to the file."""
        sys.stdout.flush()
        sys.stderr.flush()
        with open(self.path, "ab") as file:
            originals = {number: os.dup(number) for number in (1, 2)}
            try:
                for number in originals:
                    os.dup2(file.fileno(), number)
                yield
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                for number, original in originals.items():
                    os.dup2(original, number)
                    os.close(original)

    def keep(self, trouble: BaseException) -> None:
        """Write the error to the file, and keep the file for the user to read."""
        with open(self.path, "a", encoding="utf-8") as file:
            file.writelines(traceback.format_exception(trouble))
        self._is_kept = True

    def close(self) -> None:
        """Remove the files that are no longer needed."""
        for path in (self._config, *(() if self._is_kept else (self.path,))):
            with suppress(OSError):
                path.unlink()


def _config(path: Path) -> dict[str, object]:
    """Return the settings of Python's logging that send vLLM's messages to a file."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"plain": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
        "handlers": {
            "file": {"class": "logging.FileHandler", "filename": str(path), "mode": "a", "formatter": "plain"}
        },
        "loggers": {"vllm": {"handlers": ["file"], "level": "INFO", "propagate": False}},
    }
