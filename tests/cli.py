"""Running the command line inside the test process."""

from __future__ import annotations

import contextlib
import io
import sys
from typing import NamedTuple

import pytest

from assay.faces.cli.main import main


class Result(NamedTuple):
    status: int
    out: str
    err: str


def assay(*arguments: str) -> Result:
    """Run `assay ARGUMENTS` and return its exit status and what it printed."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["assay", *arguments])
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                main()
            except SystemExit as exit_:
                status = exit_.code if isinstance(exit_.code, int) else 0
    return Result(status, out.getvalue(), err.getvalue())
