"""Finds the files of a model by the name after `hf:` or `vllm:`."""

from __future__ import annotations

import re
from pathlib import Path

from assay.backends.local.hub_files import HubFiles, HubGgufFiles, HubTokenizerFile, read_hub_name
from assay.backends.local.model_files import FolderFiles, GgufFiles, ModelFiles, absent_model_error
from assay.backends.problems import load_error, missing_files_error

_BARE_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")


def find_files(
    where: str, revision: str | None, *, with_code: bool = False, backend: str = "hf"
) -> ModelFiles:
    """Return the files that `WHERE` names: a folder, a GGUF file, or `ORG/NAME[/FILE.gguf][@REVISION]`."""
    try:
        path = Path(where).expanduser()
        is_folder, is_file = path.is_dir(), path.is_file()
    except (OSError, ValueError, RuntimeError) as error:  # Too long, contains NUL, or `~name` of no user.
        what = f"{where[:60]!r} is not a valid path: {error.__class__.__name__}"
        raise load_error(what, "correct the path") from None
    if is_folder:
        return FolderFiles(path).check(backend)
    name = None if is_file else read_hub_name(where)
    if name is not None and (name.file is None or not path.parent.is_dir()):
        name = name._replace(revision=name.revision or revision)
        if name.file is not None:
            return HubGgufFiles(name, backend=backend)
        return HubFiles(name, with_code=with_code, backend=backend)
    if path.suffix == ".gguf":
        return GgufFiles(path)
    if not is_file and _BARE_NAME.fullmatch(where):
        fix = f"give the path of a folder, or ORG/NAME of a repository on the hub: {backend}:ORG/{where}"
        raise missing_files_error(f"there is no folder {where!r}", fix)
    raise absent_model_error(path, "folder", backend)


def find_tokenizer(where: str) -> HubTokenizerFile | None:
    """Return the tokenizer.json of a hub repository, `[hf:]ORG/NAME[@REVISION]`; None if it is a path."""
    text = where.removeprefix("hf:")
    if Path(where).expanduser().exists() or Path(text).expanduser().exists():
        return None
    name = read_hub_name(text)
    return None if name is None or name.file is not None else HubTokenizerFile(name)
