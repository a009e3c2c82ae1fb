"""The program of every process that the server and its workers start: it carries out one order.

Datasets' own code runs here, not in the server. Its output goes to the log; standard output carries only
events. The process ends on SIGTERM, and when its standard input closes.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from io import FileIO
from types import TracebackType

from assay.app.team.messages import (
    Check,
    Done,
    Evaluate,
    Event,
    ListFolders,
    OrderFailed,
    Serve,
    Stopped,
    TryModel,
    decode_order,
    encode,
)
from assay.core.errors import AssayError

NICENESS = 5
"""Evaluations have a lower priority than the server, so that pages stay responsive."""
_GRACE_S = 5.0
"""Time an evaluation has to shut down after its parent is gone."""


def main() -> None:
    """Carry out the order on standard input."""
    line_in, line_out = _take_standard_streams()
    order = decode_order(line_in.readline())
    if isinstance(order, Serve):
        from assay.app.team.worker import serve

        serve(order, line_in)
        return
    os.nice(NICENESS)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Like Ctrl-C in a terminal: everything is closed on the way out.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    threading.Thread(target=_end_when_closed, args=(line_in,), daemon=True).start()
    event: Event
    try:
        event = _follow_order(order, line_out)
    except KeyboardInterrupt:
        event = Stopped()
    except AssayError as error:
        event = OrderFailed(error.problems, error.total)
    _send_event(line_out, event)


def _follow_order(order: Evaluate | Check | ListFolders | TryModel, line_out: FileIO) -> Event:
    """Carry out an order. Imports are local, so that no order waits for what another needs."""
    if isinstance(order, Evaluate):
        sys.excepthook = _error_writer(order.plan.values.model_args | order.plan.values.judge_args)
        from assay.app.team.evaluating import evaluate

        evaluate(order, lambda event: _send_event(line_out, event))
        return Done()
    if isinstance(order, Check):
        from assay.app.team.checking import check_order

        return check_order(order)
    if isinstance(order, TryModel):
        from assay.app.team.checking import try_model

        try_model(order.values)
        return Done()
    from assay.app.team.folders import find_datasets

    return find_datasets(order.settings)


def _take_standard_streams() -> tuple[FileIO, FileIO]:
    """Take standard input and output for orders and events, so that no other code uses them.

    They are unbuffered: a thread in a buffered read would block the end of the process.
    """
    line_in, line_out = FileIO(os.dup(0), "rb"), FileIO(os.dup(1), "wb")
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    # All later output goes to the log.
    os.dup2(2, 1)
    return line_in, line_out


def _send_event(line_out: FileIO, event: Event) -> None:
    rest = memoryview(encode(event) + b"\n")
    while rest:
        rest = rest[line_out.write(rest) :]


def _end_when_closed(line_in: FileIO) -> None:
    """End this process when its standard input closes."""
    line_in.read()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_GRACE_S)
    # It hangs in code that ignores signals; its journal has every answer.
    os._exit(1)


def _error_writer(args: Mapping[str, str]) -> Callable[..., None]:
    """Return a function that writes unexpected errors without the secrets in environment variables."""
    named = [variable for name, variable in args.items() if name.endswith("_env")]
    secrets = [value for variable in named if (value := os.environ.get(variable))]

    def write(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        text = "".join(traceback.format_exception(kind, error, trace))
        for secret in secrets:
            text = text.replace(secret, "(hidden)")
        sys.stderr.write(text)

    return write


if __name__ == "__main__":
    main()
