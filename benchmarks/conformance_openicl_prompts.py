"""Whether Assay's prompts are the originals', byte for byte, over all entries of a checkout's configs.

    python -m benchmarks.conformance_openicl_prompts --checkout DIR

Every entry that differs from all others is given a dozen made-up rows that fit its columns and labels. Both
sides get the same rows: the original's own reader, retriever, templates and template parser, and Assay's
compiler with `--fidelity faithful`; dataset classes are not run. The packages that the original imports must
be installed.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

if not __package__:  # run by its path
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import msgspec

from assay.core.compilation import Compilation
from assay.core.errors import AssayError
from assay.core.prompt import Prompt
from assay.dialects.openicl.authored.code import get_short_name
from assay.dialects.openicl.config.entry import DatasetEntry
from assay.dialects.openicl.entries import ConfigEntry
from assay.dialects.openicl.multimodal_prompts import MULTIMODAL_TEMPLATE as MULTIMODAL
from assay.dialects.openicl.task import ConfigTask
from assay.dialects.shared.template import TemplateFailure
from assay.results.rows import markdown_list, markdown_table
from benchmarks.openicl_compiled import Compiler, with_fixed_examples
from benchmarks.openicl_entries import count_checkout, distinct_entries, package_of
from benchmarks.openicl_made_rows import N_ROWS, made_splits
from benchmarks.openicl_original import WAYS, Asking, Messages, Original, Way
from benchmarks.record import setting

_GENERATING = ("GenInferencer", "ParallelGenInferencer", "SCInferencer", "CLPInferencer", "PPLOnlyInferencer")
_LABELLED = ("PPLInferencer", "LLInferencer")
_SHOWN = 12


class Compared(NamedTuple):
    """What came out for one entry and one kind of model."""

    found: ConfigEntry
    way: Way
    n_equal: int = 0
    n_different: int = 0
    original_raised: str | None = None
    refused: str | None = None
    """What Assay says is wrong with the entry."""
    first: tuple[Any, Any] | None = None
    """The first two prompts that differ, the original's first."""


def main() -> None:
    """Compare and hand the counts over."""
    count_checkout(__doc__, "prompts", section)


def section(checkout: Path) -> str:
    """Return the counts, and what differs."""
    original = Original(checkout, package_of(checkout))
    entries = prompts_of(distinct_entries(checkout))
    compiler = Compiler(checkout)
    compared = [one for found in entries for one in every_way(found, compiler, original)]
    rows = [counted(way, [one for one in compared if one.way == way]) for way in WAYS]
    head = (
        *("model", "entries", "entries equal", "prompts equal", "different"),
        *("original raises", "refused or left out"),
    )
    parts = [
        f"{len(entries):,} entries that differ in what they ask, {N_ROWS} rows each and more where they "
        "name more.",
        markdown_table(head, rows),
    ]
    for title, reason in (("The original raises:", "original_raised"), ("Refused:", "refused")):
        reasons = Counter(str(getattr(one, reason)) for one in compared if getattr(one, reason))
        if reasons:
            parts += [title, markdown_list([f"{n:,}: {why}" for why, n in reasons.most_common(_SHOWN)])]
    different = [one for one in compared if one.n_different]
    if different:
        parts += ["Different:", markdown_list([described(one) for one in different[:_SHOWN]])]
    return "\n\n".join([*parts, setting()])


def prompts_of(entries: Sequence[ConfigEntry]) -> list[ConfigEntry]:
    """Return entries without their evaluation, those that ask alike once."""
    bare: dict[str, ConfigEntry] = {}
    for found in entries:
        assert isinstance(found.entry, DatasetEntry)
        entry = with_fixed_examples(found.entry)
        entry = msgspec.structs.replace(entry, eval_cfg=None, judge_infer_cfg=None, n=1, k=(1,))
        bare.setdefault(repr((entry.reader_cfg, entry.infer_cfg)), found._replace(entry=entry))
    return list(bare.values())


def counted(way: Way, compared: Sequence[Compared]) -> tuple[str, ...]:
    """Return a row of the table."""
    numbers = (
        len(compared),
        sum(bool(one.n_equal) and not one.n_different for one in compared),
        sum(one.n_equal for one in compared),
        sum(one.n_different for one in compared),
        sum(one.original_raised is not None for one in compared),
        sum(one.refused is not None for one in compared),
    )
    return (way.name, *(f"{number:,}" for number in numbers))


def described(one: Compared) -> str:
    """Return in a line where two prompts part."""
    assert one.first is not None
    wanted, got = map(repr, one.first)
    at = next((n for n, (a, b) in enumerate(zip(wanted, got, strict=False)) if a != b), 0)
    cut = slice(max(0, at - 30), at + 60)
    place = f"{one.found.config.path.name} {one.found.entry.name}, {one.way.name}"
    return f"{place}: the original has `{wanted[cut]}`, Assay `{got[cut]}`"


def every_way(found: ConfigEntry, compiler: Compiler, original: Original) -> Iterator[Compared]:
    """Compare the prompts of an entry for each kind of model."""
    entry = found.entry
    assert isinstance(entry, DatasetEntry)
    inferencer = get_short_name(entry.infer_cfg.inferencer.type)
    if inferencer not in _GENERATING and inferencer not in _LABELLED:
        yield from (Compared(found, way, refused=f"{inferencer} is not compared") for way in WAYS)
        return
    splits = made_splits(entry)
    is_generation = inferencer in _GENERATING
    try:
        asking: Asking | str = original.asking(entry, original.dataset(entry, splits))
    except Exception as error:  # noqa: BLE001 (whatever the original raises is what is counted)
        asking = f"{type(error).__name__}: {error!s:.100}"
    for way in WAYS:
        if way.is_chat and not is_generation:
            continue  # Models that chat have no likelihoods there.
        if not way.is_chat and is_multimodal(entry):
            continue  # Media are for models that chat.
        yield compared_way(found, way, splits, compiler, original, asking)


def is_multimodal(entry: DatasetEntry) -> bool:
    """Whether an entry's prompts have media in them."""
    template = entry.infer_cfg.prompt_template
    return template is not None and get_short_name(template.type) == MULTIMODAL


def compared_way(
    found: ConfigEntry,
    way: Way,
    splits: Mapping[str, Sequence[Mapping[str, Any]]],
    compiler: Compiler,
    original: Original,
    asking: Asking | str,
) -> Compared:
    """Compare the prompts of an entry for one kind of model."""
    result = Compared(found, way)
    try:
        wanted = asking if isinstance(asking, str) else originals(found.entry, way, original, asking)
    except Exception as error:  # noqa: BLE001 (whatever the original raises is what is counted)
        wanted = f"{type(error).__name__}: {error!s:.100}"
    if isinstance(wanted, str):
        result = result._replace(original_raised=wanted)
    try:
        got = list(asked(compiler.compiled(found, splits, way, is_faithful=True)))
    except AssayError as error:
        return result._replace(refused=f"{error.problems[0].what} ({error.problems[0].code})")
    except TemplateFailure as error:
        return result._replace(refused=str(error))
    if isinstance(wanted, str):
        return result
    pairs = list(zip(wanted, got, strict=False))
    different = [pair for pair in pairs if pair[0] != pair[1]]
    if len(wanted) != len(got):
        different.append((f"{len(wanted)} prompts", f"{len(got)} prompts"))
    n_equal = len(pairs) - sum(a != b for a, b in pairs)
    return result._replace(
        n_equal=n_equal, n_different=len(different), first=different[0] if different else None
    )


def originals(entry: Any, way: Way, original: Original, asking: Asking) -> list[str | Messages]:
    """Return what the original sends to a model, in the order of rows and labels."""
    arguments = entry.infer_cfg.inferencer.arguments
    name = get_short_name(entry.infer_cfg.inferencer.type)
    if name in _GENERATING:
        token = arguments.get("gen_field_replace_token", "")
        mode = name != "PPLOnlyInferencer"
        return [
            original.shown(asking.generation(row, token), way, is_generation=mode)
            for row in range(len(asking))
        ]
    labels = list(arguments.get("labels") or asking.labels())
    return [
        original.shown(asking.labelled(row, label), way, is_generation=False)
        for row in range(len(asking))
        for label in labels
    ]


def asked(compiled: Compilation[ConfigTask]) -> Iterator[str | Messages]:
    """Yield what Assay sends to a model, in the order of rows and labels."""
    for sample in compiled.task.samples():
        for request in compiled.task.requests(sample):
            if request.role != "unconditional":
                yield shown(request.ask.prompt)


def shown(prompt: Prompt) -> str | Messages:
    """Return a prompt as the original's are compared."""
    return prompt if isinstance(prompt, str) else tuple((one.role, one.text) for one in prompt)


if __name__ == "__main__":
    main()
