"""Rows written as a Python file with one public object. The file is the person's own program: it is run."""

from __future__ import annotations

import runpy
from pathlib import Path
from types import ModuleType
from typing import Any

from assay.core.errors import AuthorError, Problem, listing
from assay.core.origin import Origin
from assay.dialects.llmbox.library.rows import Rows

_FIX = "write one public object in it, a list of dicts; names that begin with _ do not count"


def read_python_rows(path: Path) -> Rows:
    """Run a file and return the rows of the only public object that it makes."""
    where = Origin(str(path))
    try:
        variables = runpy.run_path(str(path))
        public = {
            name: value
            for name, value in variables.items()
            if not name.startswith("_") and not isinstance(value, ModuleType)
        }
        # Made here, since what makes the rows may be a generator of the file's own.
        tables = [list(value) for value in public.values()] if len(public) == 1 else []
    except Exception as error:
        what = f"the file raised {type(error).__name__}: {error}"
        raise AuthorError(Problem("DATA-004", what, _FIX, where)) from error
    if not tables:
        what = f"expected one public object, found {listing(public) or 'none'}"
        raise AuthorError(Problem("DATA-004", what, _FIX, where))
    rows: list[Any] = tables[0]
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            what = f"expected a dict, found {row!r:.80}"
            raise AuthorError(Problem("DATA-004", what, _FIX, Origin(str(path), row=number)))
    if not rows:
        raise AuthorError(Problem("DATA-004", f"{next(iter(public))!r} holds no rows", _FIX, where))
    return rows
