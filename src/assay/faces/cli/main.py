"""The command `assay`: dispatch, Ctrl-C, and standard streams that survive closed terminals."""

from __future__ import annotations

import atexit
import errno
import gc
import os
import select
import signal
import sys
import threading
from io import BufferedWriter, FileIO, TextIOWrapper
from types import FrameType
from typing import TYPE_CHECKING, NoReturn, TextIO

import click

from assay.app.bytecode import keep_bytecode
from assay.core.download_listeners import reporting_downloads
from assay.faces.cli.lazy import Command, LazyGroup

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

    from assay.core.download import Download
    from assay.core.errors import AssayError


_COMMANDS = {
    "run": Command("assay.faces.cli.run:run", "Evaluate a model on one or more datasets.", "Evaluate"),
    "check": Command("assay.faces.cli.check:check", "Check a dataset without running a model.", "Evaluate"),
    "init": Command("assay.faces.cli.init:init", "Describe the columns of a table step by step.", "Evaluate"),
    "score": Command(
        "assay.faces.cli.score:score", "Score a run's responses again, without the model.", "Evaluate"
    ),
    "demo": Command(
        "assay.faces.cli.demo:demo", "Try Assay: a small model on bundled questions.", "Evaluate"
    ),
    "view": Command("assay.faces.cli.view:view", "Browse runs in a browser.", "Results"),
    "report": Command("assay.faces.cli.report:report", "Print a run's report.", "Results"),
    "explain": Command(
        "assay.faces.cli.explain:explain",
        "Show one sample in full: prompt, tokens, scores, extraction rules.",
        "Results",
    ),
    "compare": Command(
        "assay.faces.cli.compare:compare", "Compare runs: differences and their significance.", "Results"
    ),
    "gate": Command(
        "assay.faces.cli.gate:gate", "Evaluate a model, and fail if it is worse than a baseline.", "Evaluate"
    ),
    "baseline": Command(
        "assay.faces.cli.baseline:baseline", "Write a run's scores to a file for `assay gate`.", "Results"
    ),
    "diff": Command("assay.faces.cli.diff:diff", "Explain why two runs have different numbers.", "Results"),
    "leaderboard": Command(
        "assay.faces.cli.leaderboard:leaderboard", "Rank models over datasets, with significance.", "Results"
    ),
    "ls": Command(
        "assay.faces.cli.report:ls", "List runs, benchmarks by name, or the datasets in a folder.", "Results"
    ),
    "note": Command("assay.faces.cli.note:note", "Tag runs and samples, and write notes on them.", "Results"),
    "serve": Command(
        "assay.faces.cli.serve:serve", "Run a team server: REST API, queue, leaderboard.", "Servers"
    ),
    "bench": Command("assay.faces.cli.bench:bench", "Measure the speed of a model server.", "Servers"),
    "new": Command("assay.faces.cli.new:new", "Create a dataset from a template.", "Datasets"),
    "prepare": Command(
        "assay.faces.cli.prepare:prepare", "Build the data of UltraEval dataset folders.", "Datasets"
    ),
    "docs": Command("assay.faces.cli.docs:docs", "Update the task table in a dataset's README.", "Datasets"),
    "import": Command(
        "assay.faces.cli.exchange:import_log", "Read another program's log as a run.", "Other systems"
    ),
    "export": Command(
        "assay.faces.cli.exchange:export_run", "Write a run in another program's format.", "Other systems"
    ),
    "config": Command(
        "assay.faces.cli.config:config", "Show the settings that apply here, and their sources.", "Set up"
    ),
    "completion": Command(
        "assay.faces.cli.completion:completion", "Print the script for completion in your shell.", "Set up"
    ),
    "track": Command(
        "assay.faces.cli.track:track", "Log a run to MLflow, Weights & Biases or Trackio.", "Other systems"
    ),
    "as": Command(
        "assay.systems.command_line:other_systems",
        "Use the flags of lm-eval, OpenCompass, AISBench, LLMBox, UltraEval or LEAP.",
        "Other systems",
    ),
}


_SYSTEM_FAULTS = {
    *(errno.EACCES, errno.EPERM, errno.EROFS, errno.ENAMETOOLONG, errno.ENOTDIR, errno.EISDIR),
    *(errno.ENOENT, errno.EEXIST, errno.ELOOP, errno.EIO, errno.EMFILE, errno.ENFILE),
}
"""Errors about a file that a person can fix."""
_COLLECT_AT = (50_000, 100, 50)
"""Collection thresholds: rows and answers form no cycles, and the default cost a seventh of a run.

The second one decides when what survived is searched again, which includes all of torch.
"""


_HELP = """Assay tells you what a language model scores on your own dataset.

\b
assay run data.csv                     score your own file
assay run lm_eval:mmlu -m hf:ORG/NAME  run a benchmark
assay view                             browse every sample
"""


@click.command(
    cls=LazyGroup,
    table=_COMMANDS,
    help=_HELP,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="assay-eval", prog_name="assay")
def cli() -> None:
    """Show the help, or run a command."""


STOPPED = 130
"""Exit status of a command that Ctrl-C ended."""


def run_process() -> None:
    """Run the command line as a whole process, and end it as soon as everything is written."""
    keep_bytecode()
    try:
        main()
    except SystemExit as ended:
        _end_process(int(ended.code or 0))


def _end_process(status: int) -> NoReturn:
    """End the process with what Python's own shutdown does, but leave its memory to the system.

    With torch and a model in memory, clearing every module takes up to seconds, on a GPU more.
    """
    try:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(status)


def main() -> None:
    """Run the command line: streams, interrupts, exit status."""
    try:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, _interrupt_once)
        install_streams()
        gc.set_threshold(*_COLLECT_AT)
        if "_ASSAY_COMPLETE" in os.environ:
            from assay.faces.cli.completion import register_shells

            register_shells()
        status = run_command()
        if signal.getsignal(signal.SIGINT) is _interrupt_once:
            # An interrupt while Python shuts down must not end in a traceback.
            signal.signal(signal.SIGINT, _stop_at_once)
    except KeyboardInterrupt:
        status = STOPPED
    # Everything is written. Python would search all of torch for garbage, for up to a second.
    gc.freeze()
    sys.exit(status)


def run_command() -> int:
    """Run the command that the arguments of the process name; return its exit status."""
    try:
        with reporting_downloads(_show_download):
            status = _run_for_program() if "--json" in sys.argv[1:] else _run_for_person()
        return status if (lost := find_output_error()) is None else _report_lost_output(lost)
    except (click.Abort, KeyboardInterrupt):
        click.echo("\nStopped. The same command resumes from here.", err=True)
        return STOPPED


def _show_download(download: Download) -> None:
    from assay.faces.cli.downloads import default_screen

    default_screen().show(download)


def _interrupt_once(number: int, frame: FrameType | None) -> None:
    """Let the first Ctrl-C end the command cleanly, and the second end the process at once."""
    signal.signal(signal.SIGINT, _stop_at_once)
    raise KeyboardInterrupt


def _stop_at_once(number: int, frame: FrameType | None) -> None:
    # Nothing is lost: a run may be killed at any instant.
    os._exit(STOPPED)


def _report_lost_output(error: OSError) -> int:
    from assay.core.errors import AssayError, Problem
    from assay.faces.cli.render import show_error

    what = f"standard output could not be written: {error.strerror}"
    fix = "write the output elsewhere; the run's files are complete: `assay report` shows them"
    show_error(AssayError(Problem("STORE-015", what, fix)))
    return 2


def _run_for_person() -> int:
    """Run the command; return its exit status."""
    try:
        status = cli.main(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except Exception as error:
        if (user_error := _to_user_error(error)) is None:
            raise
        from assay.faces.cli.render import show_error

        show_error(user_error)
        return 2
    return status if isinstance(status, int) else 0


def _run_for_program() -> int:
    """Run the command and write its answer or error as JSON; return the exit status."""
    from assay.faces.cli.json_output import Answer, build_error_answer, build_usage_answer, write_answer

    try:
        answer = cli.main(standalone_mode=False)
    except click.ClickException as error:
        answer = build_usage_answer(error)
    except Exception as error:
        if (user_error := _to_user_error(error)) is None:
            raise
        answer = build_error_answer(user_error)
    if not isinstance(answer, Answer):
        return answer if isinstance(answer, int) else 0
    write_answer(answer)
    return answer.status


def _to_user_error(error: Exception) -> AssayError | None:
    """Return the error to show to a person; None for a bug in the program."""
    from assay.core.errors import AssayError, Problem, StoreError
    from assay.core.origin import Origin

    if isinstance(error, OSError):
        from assay.core.disk_space import build_disk_full_error

        if (
            full := build_disk_full_error(error, "free disk space; the same command then resumes")
        ) is not None:
            return full
        where = None if error.filename is None else Origin(os.fsdecode(error.filename))
        if isinstance(error, PermissionError):
            what = f"the system rejects it: {error.strerror}"
            fix = "check the owner and the permissions with `ls -l`, or use another path"
            return StoreError(Problem("STORE-014", what, fix, where))
        if where is not None and error.errno in _SYSTEM_FAULTS:
            what = f"the file cannot be read or written: {error.strerror}"
            return StoreError(Problem("STORE-014", what, "name another path", where))
    return error if isinstance(error, AssayError) else None


class LastingFile(FileIO):
    """A file descriptor that accepts everything: output that cannot be written is discarded."""

    fault: OSError | None = None
    """Why output was lost, other than a closed pipe."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor, "wb", closefd=False)

    def write(self, data: ReadableBuffer, /) -> int:
        """Write data, or discard it and all further data."""
        try:
            while (n_written := super().write(data)) is None:
                # The descriptor is non-blocking and full.
                select.select((), (self,), ())
        except OSError as error:
            if not isinstance(error, BrokenPipeError):
                self.fault = error
            self._discard_output()
            return memoryview(data).nbytes
        return n_written

    def _discard_output(self) -> None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.fileno())
        os.close(nowhere)


def install_streams() -> None:
    """Replace standard output and error by such files; connect closed descriptors to the null device."""
    _reserve_descriptors()
    sys.stdout = _wrap_stream(sys.stdout, 1)
    sys.stderr = _wrap_stream(sys.stderr, 2)


def find_output_error() -> OSError | None:
    """Return why standard output could not be written; None if it was, or if its pipe was closed."""
    sys.stdout.flush()
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    return raw.fault if isinstance(raw, LastingFile) else None


def _reserve_descriptors() -> None:
    """Open the null device for closed standard descriptors, so that no file of the run takes their number."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _wrap_stream(stream: TextIO | None, descriptor: int) -> TextIOWrapper:
    file = BufferedWriter(LastingFile(descriptor))
    # Write unencodable characters as escapes: an ASCII terminal must not end a run with Korean text.
    errors = "backslashreplace"
    if not isinstance(stream, TextIOWrapper):
        return TextIOWrapper(file, encoding="utf-8", errors=errors)
    stream.flush()
    return TextIOWrapper(
        file,
        encoding=stream.encoding,
        errors=errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
