"""Command-line arguments of a transform dataset."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from assay.core.errors import Problem, UsageError, listing, suggest_name


class TransformArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The `--dataset-arg` arguments of a transform dataset."""

    transform: str | None = None
    """The version of the script (`v0`), or its file; also `--transform`."""
    data: str | None = None
    """The file of standard rows, if neither a config nor a data folder names it."""
    params: str | None = None
    """The file of sampling parameters for tasks whose config names none."""
    postprocess: str | None = None
    """The post-processor of the model's replies, if the config names none."""
    description: str | None = None
    """The instruction before everything else, instead of the config's."""


def read_transform_arguments(given: Mapping[str, str]) -> TransformArguments:
    """Parse `--dataset-arg` pairs; raise UsageError if one is unknown."""
    known = TransformArguments.__struct_fields__
    for key in given:
        if key not in known:
            what = f"--dataset-arg {key!r} is not supported by transforms{suggest_name(key, known)}"
            raise UsageError(Problem("USAGE-007", what, f"use one of {listing(known)}"))
    return TransformArguments(**given)
