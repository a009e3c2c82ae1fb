"""Records torch's compilations as a phase of their own."""

from __future__ import annotations

from contextlib import AbstractContextManager

from assay.core.time_profile import get_recorder, measuring


def measure_compilations() -> None:
    """Record all further compilations of this process, if anything records now."""
    if get_recorder() is None:
        return
    with measuring("import"):
        from torch._dynamo.callback import callback_handler

    begun: list[AbstractContextManager[None]] = []

    def begin(*_: object) -> None:
        begun.append(measuring("compile"))
        begun[-1].__enter__()

    def end(*_: object) -> None:
        begun.pop().__exit__(None, None, None)

    callback_handler.register_start_callback(begin)
    callback_handler.register_end_callback(end)
