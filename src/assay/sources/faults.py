"""Errors that files of every format share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from assay.core.errors import AuthorError, Problem, listing
from assay.core.origin import Origin

_LFS_POINTER = b"version https://git-lfs"


def build_no_rows_error(path: str, content: str) -> AuthorError:
    """Return the error for a file without rows."""
    return AuthorError(
        Problem(
            "SOURCE-003",
            f"the file holds no rows: {content}",
            "check that the file was written or downloaded completely; a dataset needs at least one row",
            Origin(path),
        )
    )


def build_not_installed_error(path: str, kind: str, package: str, extra: str) -> AuthorError:
    """Return the error for a format whose package is not installed."""
    what = f"reading {kind} files needs {package}, which is not installed"
    return AuthorError(Problem("SOURCE-008", what, f"pip install 'assay-eval[{extra}]'", Origin(path)))


def require_column_names(names: Sequence[str], where: Origin) -> None:
    """Raise an AuthorError unless every column has a unique name."""
    unnamed = [str(place) for place, name in enumerate(names, 1) if not name.strip()]
    doubled = sorted(name for name, n in Counter(names).items() if n > 1 and name.strip())
    problems = []
    if unnamed:
        few = ", ".join(unnamed[:12]) + (f" and {len(unnamed) - 12} more" if len(unnamed) > 12 else "")
        what = f"column {few} of {len(names)} has no name; the header is {listing(names)}"
        fix = "name or remove it; pandas omits the index with `to_csv(..., index=False)`"
        problems.append(Problem("SOURCE-009", what, fix, where))
    if doubled:
        what = f"column name {listing(doubled)} appears more than once in the header {listing(names)}"
        problems.append(Problem("SOURCE-009", what, "give every column a unique name", where))
    if problems:
        raise AuthorError(problems)


def build_too_large_error(path: str, limit: int, *, whole: bool) -> AuthorError:
    """Return the error for a line, or an unpacked file, that is too large to keep in memory."""
    if whole:
        what = f"the file unpacks to more than {limit:,} bytes, and this format cannot be read in parts"
        fix = "unpack it to see what it contains; convert it to .jsonl.gz, which is read line by line"
    else:
        what = f"a line has more than {limit:,} bytes"
        fix = "check that the file is text with line breaks; put such long texts into separate files"
    return AuthorError(Problem("SOURCE-013", what, fix, Origin(path)))


def build_unreadable_error(path: str, error: OSError) -> AuthorError:
    """Return the error for a file that cannot be opened."""
    what = f"the file cannot be opened: {error.strerror or error}"
    return AuthorError(Problem("SOURCE-001", what, "check the path and your read permission", Origin(path)))


def build_damaged_error(path: str, kind: str, error: Exception) -> AuthorError:
    """Return the error for a packed or binary file that cannot be decoded."""
    with open(path, "rb") as stream:
        head = stream.read(len(_LFS_POINTER))
    if head == _LFS_POINTER:
        what = f"this is a Git LFS pointer, not the {kind} file itself"
        fix = "fetch the file itself with `git lfs pull`"
    else:
        what = f"not a complete {kind} file: {error} (it begins with {head[:8]!r})"
        fix = "download or write the file again; if it has another format, give it that format's suffix"
    return AuthorError(Problem("SOURCE-011", what, fix, Origin(path)))
