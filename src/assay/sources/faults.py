"""What can be wrong with a file of any format, said the same way by every reader."""

from __future__ import annotations

from collections.abc import Sequence

from assay.core.errors import AuthorError, Problem, listing
from assay.core.origin import Origin

_LFS_POINTER = b"version https://git-lfs"


def no_rows(path: str, found: str) -> AuthorError:
    """Return the error of a file that holds no record."""
    return AuthorError(
        Problem(
            "SOURCE-003",
            f"the file holds no rows: {found}",
            "check that the file was written or downloaded whole; a dataset needs at least one row",
            Origin(path),
        )
    )


def require_good_names(path: str, names: Sequence[str], line: int | None = None) -> None:
    """Raise an AuthorError unless every column has a name and no two share one."""
    unnamed = [str(place) for place, name in enumerate(names, 1) if not name.strip()]
    doubled = sorted({name for name in names if name.strip() and names.count(name) > 1})
    problems = []
    if unnamed:
        what = f"column {', '.join(unnamed)} of {len(names)} has no name; the header is {listing(names)}"
        fix = "name or remove it; pandas leaves the index out with `to_csv(..., index=False)`"
        problems.append(Problem("SOURCE-009", what, fix, Origin(path, line=line)))
    if doubled:
        what = f"column name {listing(doubled)} stands more than once in the header {listing(names)}"
        problems.append(
            Problem("SOURCE-009", what, "give every column a name of its own", Origin(path, line=line))
        )
    if problems:
        raise AuthorError(problems)


def unreadable(path: str, error: OSError) -> AuthorError:
    """Return the error of a file that the system does not let us open."""
    what = f"the file cannot be opened: {error.strerror or error}"
    return AuthorError(Problem("SOURCE-001", what, "check the path and your rights to read it", Origin(path)))


def damaged(path: str, kind: str, error: Exception) -> AuthorError:
    """Return the error of a packed or binary file whose bytes make no sense."""
    with open(path, "rb") as stream:
        head = stream.read(len(_LFS_POINTER))
    if head == _LFS_POINTER:
        what = f"this is a Git LFS pointer, not the {kind} file it stands for"
        fix = "fetch the file itself with `git lfs pull`"
    else:
        what = f"not a whole {kind} file: {error} (it begins with {head[:8]!r})"
        fix = "download or write the file again; if it is another format, name it by its own suffix"
    return AuthorError(Problem("SOURCE-011", what, fix, Origin(path)))
