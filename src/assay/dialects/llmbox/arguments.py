"""Command-line arguments of a dataset class, under the original's names."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from assay.core.errors import Problem, UsageError, listing, suggest_name
from assay.dialects.llmbox.authoring import MODEL_TYPES, RANKING_TYPES
from assay.dialects.llmbox.example_arguments import ExampleArguments, check_arguments


class ClassArguments(ExampleArguments, frozen=True, forbid_unknown_fields=True):
    """The `--dataset-arg` arguments of a dataset class, under the original's names."""

    ranking_type: str | None = None
    instruction: str | None = None
    evaluation_set: str | None = None
    example_set: str | None = None
    dataset_path: str | None = None
    max_example_tokens: int | None = None
    pass_at_k: int | None = None
    system_prompt: str | None = None
    model_type: str | None = None
    """The value of `self.model_type`; None: `chat` if prompts are conversations, else `base`."""


def read_class_arguments(given: Mapping[str, str]) -> ClassArguments:
    """Parse `--dataset-arg` pairs; raise UsageError if one is unknown or invalid."""
    known = ClassArguments.__struct_fields__
    for key in given:
        if key not in known:
            raise UsageError(
                Problem(
                    "USAGE-007",
                    f"--dataset-arg {key!r} is not supported by dataset classes{suggest_name(key, known)}",
                    f"use one of {listing(known)}",
                )
            )
    try:
        args = msgspec.convert(dict(given), ClassArguments, strict=False)
    except msgspec.ValidationError as error:
        # Texts are valid everywhere, except where a number is expected.
        name = str(error).rpartition("$.")[2].rstrip("`")
        what = f"--dataset-arg {name} is {given[name]!r}, expected a whole number"
        raise UsageError(Problem("USAGE-007", what, f"write for example {name}=10")) from error
    if args.ranking_type is not None and args.ranking_type not in RANKING_TYPES:
        what = f"ranking_type is {args.ranking_type!r}{suggest_name(args.ranking_type, RANKING_TYPES)}"
        raise UsageError(Problem("USAGE-007", what, f"use one of {listing(RANKING_TYPES)}"))
    if args.model_type not in (None, *MODEL_TYPES):
        what = f"model_type is {args.model_type!r}{suggest_name(args.model_type, MODEL_TYPES)}"
        raise UsageError(Problem("USAGE-007", what, f"use one of {listing(MODEL_TYPES)}"))
    check_arguments(args)
    return args
