"""What a serving benchmark sends: a made-up load, a trace, conversations, or any dataset that Assay reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from assay.app.settings import RunSettings
from assay.backends.local.model_search import find_tokenizer
from assay.bench.conversations import build_conversation_item, is_conversation
from assay.bench.item_stream import Items
from assay.bench.items import LoadItem
from assay.bench.lengths import ConstantLength, LengthDistribution, describe_lengths
from assay.bench.mooncake import TraceItemSource, TraceTimes, is_trace, read_trace
from assay.bench.rounds import Rounds
from assay.bench.synthetic import PromptKind, SyntheticItemSource, SyntheticSpec
from assay.bench.synthetic_config import is_synthetic_config, read_synthetic_config
from assay.bench.tokenizer import Tokenizer, open_tokenizer
from assay.core.errors import AuthorError, Problem, UsageError
from assay.core.origin import Origin
from assay.core.request import Generate
from assay.core.task import Task
from assay.dialects.shared.request_selection import SamplingMode, select_rows
from assay.sources.file_settings import FileSettings, UndecidedFile
from assay.sources.files import find_suffix, open_source
from assay.sources.record import Record

SYNTHETIC = "synthetic"
"""The name of the source that is made up."""
_A_CONFIG = Origin("(config)")
DEFAULT_N = 100
DEFAULT_INPUT = ConstantLength(512)
DEFAULT_OUTPUT = ConstantLength(128)


class ItemSettings(msgspec.Struct, frozen=True):
    """What is asked of the items, whatever they come from."""

    n: int | None = None
    """How many. None: all that there are; of a synthetic load DEFAULT_N."""
    at_most: int | None = None
    """Not more than so many; unlike `n`, it does not make a short source begin again."""
    seed: int = 0
    is_chat: bool = True
    """Whether prompts are messages for the model's chat template, or plain text."""
    output: LengthDistribution | None = None
    """How long answers may be. None: as the source says."""
    tokenizer: str | None = None
    """Folder or file of a tokenizer, for texts of an exact length; it counts the prompts of datasets."""
    order: SamplingMode = "default"
    """Which rows of a dataset, in which order: the first, drawn ones, or the first ones shuffled."""
    input: LengthDistribution | None = None
    """Of a synthetic load: how long prompts are."""
    kind: PromptKind = "text"
    """Of a synthetic load: what prompts are made of."""
    shared_prefix: int = 0
    """Of a synthetic load: tokens at the beginning that prompts have in common."""
    prefix_groups: int = 1
    """Of a synthetic load: how many such beginnings there are."""
    trace: TraceTimes = TraceTimes()
    """Of a trace: which part is sent, and how fast."""
    run: RunSettings = RunSettings()
    """Of a dataset: how it is read, as for `assay run`. What is said above counts more; its limit is `n`."""


def load_items(source: str | Mapping[str, Any], asked: ItemSettings, where: Origin = _A_CONFIG) -> Items:
    """Return the items of a source: `synthetic`, AISBench's config of a synthetic dataset, or a dataset by
    its file or name. What a file is shows in its first row. `where`: the place of such a config.
    """
    _check(asked)
    asked = _pin_tokenizer(asked)
    if isinstance(source, str) and source != SYNTHETIC:
        return _load_file_items(source, asked)
    _reject_trace_options(asked, "a synthetic load")
    if isinstance(source, str):
        return _synthetic(_spec(asked), asked)
    _reject_lengths(asked, "the config")
    return _load_config_items(source, where, asked)


def _load_file_items(source: str, asked: ItemSettings) -> Items:
    _reject_lengths(asked, repr(source))
    config = _read_synthetic_config(source)
    first = None if config is not None else _first_row(source)
    if first is not None and is_trace(first.fields):
        return _trace(source, asked)
    _reject_trace_options(asked, repr(source))
    if config is not None:
        return _load_config_items(config, Origin(source), asked)
    if first is not None and is_conversation(first.fields):
        return _conversations(source, asked)
    return _dataset(source, asked)


def _check(asked: ItemSettings) -> None:
    for number in (asked.n, asked.at_most):
        if number is not None and number < 1:
            what = f"{number} requests are asked for, expected at least one"
            raise UsageError(Problem("BENCH-025", what, "ask for more"))
    if asked.prefix_groups != 1 and not asked.shared_prefix:
        what = (
            f"{asked.prefix_groups} groups of prompts that begin alike are asked for, and they share 0 tokens"
        )
        raise UsageError(Problem("BENCH-025", what, "say how many: --shared-prefix N"))


def _count_items(asked: ItemSettings, n_there: int) -> int:
    """Return how many items are sent, of a source that has so many."""
    n = asked.n or n_there
    return n if asked.at_most is None else min(n, asked.at_most)


def _pin_tokenizer(asked: ItemSettings) -> ItemSettings:
    """Return the same with the commit of a tokenizer on the hub, so that the result names what was used."""
    files = None if asked.tokenizer is None else find_tokenizer(asked.tokenizer)
    return asked if files is None else msgspec.structs.replace(asked, tokenizer=f"hf:{files.weights()}")


def _tokenizer(asked: ItemSettings) -> Tokenizer | None:
    if asked.tokenizer is None:
        return None
    files = find_tokenizer(asked.tokenizer)
    return open_tokenizer(asked.tokenizer if files is None else str(files.tokenizer_source()))


def _reject_lengths(asked: ItemSettings, name: str) -> None:
    if asked.input is not None or asked.shared_prefix or asked.prefix_groups != 1 or asked.kind != "text":
        what = f"lengths or beginnings of prompts are asked for, and {name} has prompts of its own"
        raise UsageError(Problem("BENCH-025", what, f"leave them away, or name {SYNTHETIC!r} as the dataset"))


def _reject_trace_options(asked: ItemSettings, name: str) -> None:
    if asked.trace != TraceTimes():
        what = f"a part or the speed of a trace is asked for, and {name} is no trace"
        raise UsageError(Problem("BENCH-025", what, "leave it away"))


def _reject_order(asked: ItemSettings, what: str) -> None:
    if asked.order != "default":
        said = f"the order {asked.order!r} is asked for, which means nothing to {what}"
        raise UsageError(Problem("BENCH-025", said, "leave it away"))


# --- synthetic loads ---


def _spec(asked: ItemSettings) -> SyntheticSpec:
    return SyntheticSpec(
        _count_items(asked, DEFAULT_N),
        asked.input or DEFAULT_INPUT,
        asked.output or DEFAULT_OUTPUT,
        kind=asked.kind,
        shared_prefix=asked.shared_prefix,
        prefix_groups=asked.prefix_groups,
        seed=asked.seed,
        is_chat=asked.is_chat,
    )


def _load_config_items(config: Mapping[str, Any], where: Origin, asked: ItemSettings) -> Items:
    spec = read_synthetic_config(config, where, seed=asked.seed, is_chat=asked.is_chat)
    said = msgspec.structs.replace(spec, n=_count_items(asked, spec.n), output=asked.output or spec.output)
    return _synthetic(said, asked)


def _read_synthetic_config(source: str) -> Mapping[str, Any] | None:
    """Return the config that a JSON file holds; None where it holds something else."""
    path = Path(source)
    if path.suffix != ".json" or not path.is_file():
        return None
    try:
        document = msgspec.json.decode(path.read_bytes())
    except (msgspec.DecodeError, OSError, RecursionError):
        # What is wrong with the file is told where it is read as a dataset.
        return None
    return document if is_synthetic_config(document) else None


def _synthetic(spec: SyntheticSpec, asked: ItemSettings) -> Items:
    _reject_order(asked, "a synthetic load")
    described_by = {**spec.describes(), "tokenizer": asked.tokenizer}
    return Items(
        SyntheticItemSource(spec, _tokenizer(asked)), spec.n, described_by, _note_uncounted_tokens(asked)
    )


def _note_uncounted_tokens(asked: ItemSettings) -> Sequence[str]:
    if asked.tokenizer is not None:
        return ()
    return (
        "no tokenizer was named: prompts have about the tokens asked for, and the server's count is reported",
    )


# --- files of rows ---


def _first_row(source: str) -> Record | None:
    """Return the first row of a file that holds rows; None where the source is something else."""
    path = Path(source)
    if not path.is_file() or find_suffix(path.name) is None:
        return None
    try:
        return next(iter(open_source(source, FileSettings()).records()), None)
    except UndecidedFile:
        # Its meta file may settle it; whoever compiles the table finds out.
        return None


def _trace(source: str, asked: ItemSettings) -> Items:
    _reject_order(asked, "a trace")
    rows = ((record.fields, record.origin) for record in open_source(source).records())
    trace = read_trace(rows, asked.trace, source)
    n = _count_items(asked, len(trace.rows))
    load = TraceItemSource(trace, n, seed=asked.seed, is_chat=asked.is_chat, tokenizer=_tokenizer(asked))
    described_by = {**_describe_source("trace", source, asked), "part": asked.trace._asdict()}
    return Items(load, n, described_by, (*trace.notes, *_note_uncounted_tokens(asked)), _output(asked, n))


def _conversations(source: str, asked: ItemSettings) -> Items:
    if not asked.is_chat:
        what = f"{source!r} holds conversations, which plain text cannot be"
        raise UsageError(Problem("BENCH-025", what, "send them as chats"))
    rows = _ConversationRows(source)
    return _build_row_items("conversations", source, rows.once, asked, remarks=rows.remarks)


class _ConversationRows:
    """The conversations of a file; those in which the user says nothing are left out and counted."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._left_out: set[int | None] = set()

    def once(self) -> Iterator[LoadItem]:
        """Walk the file."""
        for record in open_source(self._source).records():
            item = build_conversation_item(str(record.origin.row), record.fields, record.origin)
            if item is None:
                self._left_out.add(record.origin.row)
            else:
                yield item

    def remarks(self) -> Sequence[str]:
        """Say how many were left out."""
        n = len(self._left_out)
        return (f"{n:,} conversations in which the user says nothing were left out",) if n else ()


# --- datasets ---


def _dataset(source: str, asked: ItemSettings) -> Items:
    # Imported when used: a made-up load has not to wait for the compilers of datasets.
    from assay.app.dialects import TABLE, detect_dialect
    from assay.app.run import compile_with_settings

    values = asked.run
    is_table = detect_dialect(source, values.dialect, values.dataset_args) == TABLE
    values = msgspec.structs.replace(
        values,
        method=("gen",) if is_table else values.method,
        stage="infer",
        seed=asked.seed,
        chat="on" if asked.is_chat else "off",
    )
    compiled = compile_with_settings((source,), values, None)
    tasks = [one.task for one in compiled]
    notes = [note for one in compiled for note in one.notes]
    return _build_row_items("dataset", source, lambda: _iterate_generation_items(tasks), asked, notes)


def _iterate_generation_items(tasks: Iterable[Task]) -> Iterator[LoadItem]:
    """Yield what tasks ask a model to write; what they ask by likelihood is no load of a server."""
    for task in tasks:
        for sample in task.samples():
            for request in task.requests(sample):
                if isinstance(request.ask, Generate):
                    ask = request.ask
                    yield LoadItem(request.id, ask.prompt, ask.sampling.max_tokens, ask.turns)


def _build_row_items(
    kind: str,
    source: str,
    once: Callable[[], Iterator[LoadItem]],
    asked: ItemSettings,
    notes: Sequence[str] = (),
    remarks: Callable[[], Sequence[str]] = tuple,
) -> Items:
    """Return items of rows: as many as are asked for, in the order that is asked for."""
    tokenizer = _tokenizer(asked)
    if next(once(), None) is None:
        what = f"nothing in {source!r} asks a model to write something"
        raise AuthorError(Problem("BENCH-024", what, "name a dataset whose answers are generated"))
    described_by = {**_describe_source(kind, source, asked), "order": asked.order}
    if asked.order == "default":
        n = _count_items(asked, sum(1 for _ in once()))
        rounds = Rounds(lambda: _count_prompt_tokens(once(), tokenizer), n)
        return Items(rounds, n, described_by, notes, _output(asked, n), remarks)
    held = list(once())
    # Those that are not chosen stand behind the others, where warm-up calls find them.
    chosen = select_rows(range(len(held)), asked.n, asked.order, seed=asked.seed, task=Path(source).name)
    chosen = chosen[: asked.at_most]
    others = sorted(set(range(len(held))).difference(chosen))
    reordered = list(_count_prompt_tokens(_make_ids_unique(held[at] for at in (*chosen, *others)), tokenizer))
    n = len(chosen)
    if n > len(held):
        notes = (*notes, f"{len(held):,} prompts are sent {n:,} times in all")
    return Items(Rounds(lambda: reordered, n), n, described_by, notes, _output(asked, n), remarks)


def _make_ids_unique(items: Iterable[LoadItem]) -> list[LoadItem]:
    """Return items, of which one that comes again has an id of its own."""
    times = Counter[str]()
    made = []
    for item in items:
        times[item.id] += 1
        nth = times[item.id]
        made.append(item if nth == 1 else msgspec.structs.replace(item, id=f"{item.id}~{nth}"))
    return made


def _count_prompt_tokens(items: Iterable[LoadItem], tokenizer: Tokenizer | None) -> Iterator[LoadItem]:
    """Yield items whose texts a tokenizer has counted, in case that the server does not."""
    for item in items:
        if tokenizer is None:
            yield item
            continue
        said = (item.prompt,) if isinstance(item.prompt, str) else (message.text for message in item.prompt)
        yield msgspec.structs.replace(item, n_prompt_tokens=sum(map(tokenizer.count, said)))


def _describe_source(kind: str, source: str, asked: ItemSettings) -> dict[str, Any]:
    output = None if asked.output is None else dict(describe_lengths(asked.output))
    return {
        "source": source,
        "kind": kind,
        "output": output,
        "seed": asked.seed,
        "tokenizer": asked.tokenizer,
    }


def _output(asked: ItemSettings, n: int) -> Callable[[int], int] | None:
    return None if asked.output is None else asked.output.draw(n, asked.seed, "output")
