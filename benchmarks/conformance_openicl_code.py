"""Which code that a checkout's configs name can be run here, and which entries would run, given their data.

    python -m benchmarks.conformance_openicl_code --checkout DIR

A name in a config is *Assay's own* where Assay has the part itself; else it is looked for in the checkout,
and the one file that defines it is run. An entry *would run* when it compiles with made-up rows in place of
what its class loads: its inferencer, retriever, templates, evaluator and post-processors are all there.
Files of the checkout are run, and may need packages that are not installed.
"""

from __future__ import annotations

import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

if not __package__:  # run by its path
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from assay.app.openicl_scoring import build_author_imports
from assay.core.errors import AssayError
from assay.dialects.openicl.authored.code import AuthorCode, find_source_file, get_short_name
from assay.dialects.openicl.authored.own_datasets import build_dataset_classes
from assay.dialects.openicl.config.entry import DatasetEntry
from assay.dialects.openicl.config.symbol import Symbol
from assay.dialects.openicl.entries import ConfigEntry
from assay.dialects.shared.template import TemplateFailure
from assay.results.rows import markdown_list, markdown_table
from assay.scoring.originals.opencompass.evaluators.registry import EVALUATORS
from assay.scoring.originals.opencompass.postprocess import ALIASES, POSTPROCESSORS
from benchmarks.openicl_compiled import Compiler, with_fixed_examples
from benchmarks.openicl_entries import (
    count_checkout,
    dataset_folder,
    distinct_entries,
    every_entry,
)
from benchmarks.openicl_made_rows import made_splits
from benchmarks.openicl_original import WAYS
from benchmarks.record import setting

_MISSING = re.compile(r"it imports '([^'.]+)[^']*', which is not installed")
_FOLDERS = re.compile(r"(?:, nor does| in) '/.*")
"""Where something was looked for: folders of one machine."""
_REGISTERED = re.compile(r"@LOAD_DATASET\.register_module\([^)]*\)\s*\n(?:@.*\n)*class (\w+)")
_ASKING_A_JUDGE = ("GenericLLMEvaluator", "LMEvaluator", "CascadeEvaluator")
_OURS, _THEIRS, _LACKING, _RAISING, _ABSENT = (
    "Assay's own",
    "from the checkout",
    "package missing",
    "file raises",
    "not there",
)
_FATES = (_OURS, _THEIRS, _LACKING, _RAISING, _ABSENT)


class Fate(NamedTuple):
    """What a name came to."""

    kind: str
    name: str
    fate: str
    why: str = ""


def main() -> None:
    """Go through a checkout and hand the counts over."""
    count_checkout(__doc__, "code", section)


def section(checkout: Path) -> str:
    """Return the counts, and the reasons."""
    entries = distinct_entries(checkout)
    # One for all: a file that is run twice may define twice what may be there once.
    code = AuthorCode([], checkout, None, build_author_imports())
    names = [*fates(checkout, code), *all_classes(checkout, code)]
    kinds = dict.fromkeys(one.kind for one in names)
    rows = []
    for kind in kinds:
        counts = Counter(one.fate for one in names if one.kind == kind)
        rows.append((kind, f"{counts.total():,}", *(f"{counts[fate]:,}" for fate in _FATES)))
    parts = [markdown_table(("named in configs", "names", *_FATES), rows)]
    lacking: dict[str, set[str]] = defaultdict(set)
    for one in names:
        if one.fate == _LACKING:
            lacking[one.why].add(one.name)
    if lacking:
        said = [f"{package} ({len(those)})" for package, those in sorted(lacking.items())]
        parts.append(f"Packages that are missing, and for how many names: {', '.join(said)}.")
    others = [f"{one.kind} {one.name}: {one.why}" for one in names if one.fate in (_RAISING, _ABSENT)]
    if others:
        parts.append(markdown_list(others))
    return "\n\n".join([*parts, *entry_parts(entries, checkout), setting()])


def entry_parts(entries: Sequence[ConfigEntry], checkout: Path) -> Iterator[str]:
    """Yield how many entries would run, and why the others would not."""
    compiler = Compiler(checkout)
    problems = [problem_of(found, compiler) for found in entries]
    n_fine = problems.count(None)
    yield f"Of {len(entries):,} entries that differ in more than their data, **{n_fine:,} would run**."
    reasons = Counter(filter(None, problems))
    if reasons:
        yield markdown_list([f"{n:,}: {why}" for why, n in reasons.most_common()])


def first_line(text: str) -> str:
    """Return what stands before the first line break: a list in a table has one line for each thing."""
    return text.partition("\n")[0]


def problem_of(found: ConfigEntry, compiler: Compiler) -> str | None:
    """Return why an entry would not run; None where it would."""
    entry = found.entry
    assert isinstance(entry, DatasetEntry)
    bare = found._replace(entry=with_fixed_examples(entry))
    try:
        task = compiler.compiled(bare, made_splits(entry), WAYS[0], is_faithful=False).task
        for sample in task.samples():
            task.requests(sample)
    except AssayError as error:
        what, code = _FOLDERS.sub("", error.problems[0].what), error.problems[0].code
        missing = _MISSING.search(what)
        return f"package {missing[1]} is missing" if missing else f"{first_line(what):.160} ({code})"
    except TemplateFailure as error:
        return str(error)
    return None


def fates(checkout: Path, code: AuthorCode) -> Iterator[Fate]:
    """Yield what became of each name that configs have."""
    named: dict[str, dict[Any, None]] = defaultdict(dict)
    for found in every_entry(checkout):
        entry = found.entry
        assert isinstance(entry, DatasetEntry)
        named["dataset classes"][entry.type] = None
        if entry.eval_cfg is not None:
            named["evaluators"][entry.eval_cfg.evaluator.type] = None
            for one in (entry.eval_cfg.pred_postprocessor, entry.eval_cfg.dataset_postprocessor):
                if one is not None:
                    named["post-processors"][one.type] = None
    own = {
        "dataset classes": {*build_dataset_classes(code.data)},
        "evaluators": {*EVALUATORS, *_ASKING_A_JUDGE},
        "post-processors": {*POSTPROCESSORS, *ALIASES},
    }
    for kind, ours in own.items():
        for one in named[kind]:
            name = get_short_name(one)
            yield Fate(kind, name, _OURS) if name in ours else fate_of(kind, one, code)


def fate_of(kind: str, name: Any, code: AuthorCode) -> Fate:
    """Look for a name in the checkout."""
    short = get_short_name(name)
    try:
        found = code.find(name)
    except AssayError as error:
        problem = error.problems[0]
        missing = _MISSING.search(problem.what)
        place = f" ({Path(problem.where.path).name})" if problem.where else ""
        if missing:
            return Fate(kind, short, _LACKING, missing[1])
        return Fate(kind, short, _RAISING, f"{first_line(problem.what):.160}{place}")
    if found is None:
        return Fate(kind, short, _ABSENT, "no file of the checkout defines it")
    return Fate(kind, short, _THEIRS if find_source_file(found) else _OURS)


def all_classes(checkout: Path, code: AuthorCode) -> Iterator[Fate]:
    """Yield what becomes of every dataset class that a checkout registers, named by a config or not."""
    folder = dataset_folder(checkout)
    assert folder is not None
    package = folder.relative_to(checkout).parts[:-2]
    for path in sorted(checkout.joinpath(*package, "datasets").rglob("*.py")):
        module = ".".join(path.relative_to(checkout).with_suffix("").parts)
        for name in _REGISTERED.findall(path.read_text(encoding="utf-8", errors="replace")):
            yield fate_of("dataset classes that the checkout registers", Symbol(module, name), code)


if __name__ == "__main__":
    main()
