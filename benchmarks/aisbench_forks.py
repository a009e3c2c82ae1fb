"""Runs AISBench's command many times from one process that has imported it; executed by its own python.

    python aisbench_forks.py        # reads one JSON line per command: {"argv", "cwd", "log"}

Importing the package takes most of the time of a small run, and each command imports it three times. Here
every command, and every task that it starts, is a fork of this process; the code is the program's own.
"""

from __future__ import annotations

import json
import os
import runpy
import shlex
import subprocess
import sys
import traceback
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple


class _Ended(NamedTuple):
    returncode: int


def main() -> None:
    """Import the program, then run a command for each line of the input."""
    package = "ais_bench.benchmark"
    for name in ("datasets", "models", "tasks"):
        import_module(f"{package}.{name}")
    program = import_module(f"{package}.cli.main")
    local: Any = import_module(f"{package}.runners.local")

    class Forks:
        """Stands for the module `subprocess` in the runner: a task's command becomes a fork."""

        @staticmethod
        def run(command: str, *, stdout: Any, **_: Any) -> _Ended:
            parts = shlex.split(command)
            script, *arguments = parts[parts.index(sys.executable) + 1 :]
            return _Ended(_forked(lambda: _script(script, arguments), stdout.fileno()))

        Popen = subprocess.Popen

    local.subprocess = Forks
    print("ready", flush=True)
    for line in sys.stdin:
        asked = json.loads(line)

        def command(asked: dict[str, Any] = asked) -> None:
            os.chdir(asked["cwd"])
            sys.argv = ["ais_bench", *asked["argv"]]
            program.main()

        with open(asked["log"], "wb") as log:
            status = _forked(command, log.fileno())
        print(json.dumps({"status": status}), flush=True)


def _script(path: str, arguments: list[str]) -> None:
    sys.argv = [path, *arguments]
    sys.path.insert(0, os.getcwd())
    runpy.run_path(path, run_name="__main__")


def _forked(run: Callable[[], None], output: int) -> int:
    sys.stdout.flush()
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    status = 1
    try:
        os.dup2(output, 1)
        os.dup2(output, 2)
        run()
        status = 0
    except SystemExit as ended:
        status = int(ended.code or 0) if isinstance(ended.code, int | None) else 1
    except BaseException:  # noqa: BLE001 (the child ends here, whatever the program raised)
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    main()
