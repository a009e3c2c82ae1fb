"""What a person may say of a transform's dataset on the command line."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from assay.core.errors import Problem, UsageError, listing, suggest_name


class TransformArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What `--dataset-arg` may say."""

    transform: str | None = None
    """The version of the script (`v0`), or its file; also `--transform`."""
    data: str | None = None
    """The file of standard rows, where no config and no data folder name it."""
    params: str | None = None
    """The file of sampling parameters for tasks whose config names none."""
    postprocess: str | None = None
    """The post-processor of what the model says, where the config names none."""
    description: str | None = None
    """The instruction before everything, in place of the config's."""


def read_transform_arguments(given: Mapping[str, str]) -> TransformArguments:
    """Read `--dataset-arg` pairs; UsageError when one is unknown."""
    known = TransformArguments.__struct_fields__
    for key in given:
        if key not in known:
            what = f"--dataset-arg {key!r} is not known to transforms{suggest_name(key, known)}"
            raise UsageError(Problem("USAGE-007", what, f"use some of {listing(known)}"))
    return TransformArguments(**given)
