"""The YAML file of --config: flags by their names, which those on the command line override."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from assay.core.errors import listing, suggest_name
from assay.systems.flag_table import Flag, usage_error
from assay.systems.lm_eval.flags import FLAGS

_RUN = "run"
_JOINED = ("tasks", "seed")


def expand_arguments(arguments: Sequence[str]) -> list[str]:
    """Return the arguments without `run`, and with the flags of the --config file; of none, --help."""
    given = list(arguments[1:] if arguments and arguments[0] == _RUN else arguments)
    if not given:
        return ["--help"]
    path = _find_config(given)
    if path is None:
        return given
    flags = {flag.attribute: flag for flag in (*FLAGS.options, *FLAGS.ignored)}
    added: list[str] = []
    for key, value in read_config(path).items():
        if key not in flags:
            what = f"{path}: unknown key {key!r}{suggest_name(key, flags)}"
            raise usage_error(what, f"use some of {listing(sorted(flags), at_most=50)}")
        if not any(_names_flag(argument, flags[key]) for argument in given):
            added += _format_flag(flags[key], key, value)
    return [*added, *given]


def read_config(path: str) -> dict[str, Any]:
    """Return the content of a --config file."""
    import yaml

    try:
        content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise usage_error(f"--config: cannot read {path!r}: {error.strerror}", "name a YAML file") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise usage_error(f"--config: {path} is not valid YAML: {error}", "correct the file") from error
    if not isinstance(content, dict):
        what = f"--config: {path} contains {type(content).__name__}, expected flags and their values"
        raise usage_error(what, "write lines such as `tasks: [hellaswag]`")
    return {str(key): value for key, value in content.items()}


def _find_config(arguments: Sequence[str]) -> str | None:
    for at, argument in enumerate(arguments):
        name, equals, value = argument.partition("=")
        if name in ("--config", "-C"):
            return value if equals else next(iter(arguments[at + 1 : at + 2]), None)
    return None


def _names_flag(argument: str, flag: Flag) -> bool:
    return argument.partition("=")[0] in flag.names


def _format_flag(flag: Flag, key: str, value: Any) -> Iterator[str]:
    """Yield the arguments for a key of the file; none for an empty value."""
    if value is None or value is False or value in ({}, []):
        return
    yield flag.name
    if value is True:
        return
    if isinstance(value, list) and key in _JOINED:
        yield ",".join(map(str, value))
    elif isinstance(value, list) and key == "include_path":
        yield from map(str, value)
    else:
        yield json.dumps(value) if isinstance(value, dict | list) else str(value)
