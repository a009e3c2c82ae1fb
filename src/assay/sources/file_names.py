"""File names as people type them: in another Unicode form than on disk, or not decodable as text."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from assay.core.errors import AuthorError, Problem
from assay.core.names import is_same_decomposed
from assay.sources.encoding import guess_legacy


def find_on_disk(path: Path) -> Path:
    """Return a path as it is spelled on disk, if only composed and decomposed letters differ.

    Returns the path unchanged if it exists, or if no file or several files match.
    """
    if str(path).isascii() or path.exists():
        return path
    found = Path(path.anchor)
    for part in path.parts[bool(path.anchor) :]:
        step = found / part
        if not step.exists():
            alike = [entry for entry in found.iterdir() if is_same_decomposed(entry.name, part)]
            if len(alike) != 1:
                return path
            step = alike[0]
        found = step
    return found


def require_text(name: str) -> None:
    """Raise an AuthorError unless a file name is valid text: Assay stores results under it.

    Python represents bytes that the system cannot decode as lone surrogates.
    """
    if not any("\ud800" <= char <= "\udfff" for char in name):
        return
    spelled = os.fsencode(name)
    try:
        text = spelled.decode("utf-8")
    except UnicodeDecodeError:
        encoding = guess_legacy(spelled)
        what = f"the file name is not UTF-8: its bytes are {spelled!r}; decoded as {encoding} it is "
        what += repr(spelled.decode(encoding, errors="replace"))
        fix = "give the file a name in UTF-8; `convmv -f ENCODING -t utf-8 --notest FILE` renames it"
    else:
        what = f"this system reads file names as {sys.getfilesystemencoding()}, which cannot decode {text!r}"
        fix = "use a UTF-8 locale (`export LC_ALL=C.UTF-8`), or set PYTHONUTF8=1"
    raise AuthorError(Problem("SOURCE-012", what, fix))
