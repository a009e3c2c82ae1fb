"""The program of every process that the server and its workers start: it follows one order.

Datasets' own code runs here, and not in the server. What it prints goes to the log; the line out carries
events alone. The process ends when it is told to, and when the line into it is cut.
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
"""Evaluations give way to the server: whoever looks does not wait for whoever computes."""
_GRACE_S = 5.0
"""How long an evaluation may take to end in order when nobody waits for it any more."""


def main() -> None:
    """Follow the order on standard input."""
    line_in, line_out = _take_standard_streams()
    order = decode_order(line_in.readline())
    if isinstance(order, Serve):
        from assay.app.team.worker import serve

        serve(order, line_in)
        return
    os.nice(NICENESS)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # As Ctrl-C in a terminal: everything that was opened is closed on the way out.
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
    """Do what is asked. Imported when needed: nobody waits for what another order needs."""
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
    """Take standard input and output for orders and events, so that nobody else reads or writes there.

    They are not buffered: a thread that waits in a buffered read cannot be left when the process ends.
    """
    line_in, line_out = FileIO(os.dup(0), "rb"), FileIO(os.dup(1), "wb")
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    # What anybody prints from now on goes to the log.
    os.dup2(2, 1)
    return line_in, line_out


def _send_event(line_out: FileIO, event: Event) -> None:
    rest = memoryview(encode(event) + b"\n")
    while rest:
        rest = rest[line_out.write(rest) :]


def _end_when_closed(line_in: FileIO) -> None:
    """End this process when the line into it is cut."""
    line_in.read()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_GRACE_S)
    # It hangs in something that hears no signal; its journal has every answer.
    os._exit(1)


def _error_writer(args: Mapping[str, str]) -> Callable[..., None]:
    """Return what writes an error that nobody foresaw, without the secrets that variables hold."""
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
