"""The items that a serving benchmark sends: synthetic prompts, a trace, conversations, or any dataset."""

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
from assay.core.method import Method
from assay.core.origin import Origin
from assay.core.request import Generate
from assay.core.task import Task
from assay.dialects.shared.request_selection import SamplingMode, select_rows
from assay.sources.file_settings import FileSettings, UndecidedFile
from assay.sources.files import find_suffix, open_source
from assay.sources.record import Record

SYNTHETIC = "synthetic"
"""The name of the synthetic source."""
_A_CONFIG = Origin("(config)")
DEFAULT_N = 100
DEFAULT_INPUT = ConstantLength(512)
DEFAULT_OUTPUT = ConstantLength(128)


class ItemSettings(msgspec.Struct, frozen=True):
    """Settings of the items, whatever their source."""

    n: int | None = None
    """Number of items. None: all items of the source; DEFAULT_N for a synthetic load."""
    at_most: int | None = None
    """Upper limit; unlike `n`, it does not repeat a short source."""
    seed: int = 0
    is_chat: bool = True
    """Whether prompts are messages for the model's chat template, or plain text."""
    output: LengthDistribution | None = None
    """Output length. None: the source's own."""
    tokenizer: str | None = None
    """Folder or file of a tokenizer, for exact prompt lengths; it also counts the prompts of datasets."""
    order: SamplingMode = "default"
    """Which rows of a dataset, in which order: the first ones, random ones, or the first ones shuffled."""
    input: LengthDistribution | None = None
    """Synthetic load: prompt length."""
    kind: PromptKind = "text"
    """Synthetic load: what prompts consist of."""
    shared_prefix: int = 0
    """Synthetic load: tokens of the prefix that prompts share."""
    prefix_groups: int = 1
    """Synthetic load: number of different shared prefixes."""
    trace: TraceTimes = TraceTimes()
    """Trace: which part is sent, and how fast."""
    run: RunSettings = RunSettings()
    """Dataset: how it is read, as for `assay run`. The settings above have priority; its limit is `n`."""


def load_items(source: str | Mapping[str, Any], settings: ItemSettings, where: Origin = _A_CONFIG) -> Items:
    """Return the items of a source: `synthetic`, AISBench's config of a synthetic dataset, or a dataset by
    file or name. The first row shows what a file contains. `where`: the location of such a config.
    """
    _check(settings)
    settings = _pin_tokenizer(settings)
    if isinstance(source, str) and source != SYNTHETIC:
        return _load_file_items(source, settings)
    _reject_trace_options(settings, "a synthetic load")
    if isinstance(source, str):
        return _synthetic(_spec(settings), settings)
    _reject_lengths(settings, "the config")
    return _load_config_items(source, where, settings)


def _load_file_items(source: str, settings: ItemSettings) -> Items:
    _reject_lengths(settings, repr(source))
    config = _read_synthetic_config(source)
    first = None if config is not None else _first_row(source)
    if first is not None and is_trace(first.fields):
        return _trace(source, settings)
    _reject_trace_options(settings, repr(source))
    if config is not None:
        return _load_config_items(config, Origin(source), settings)
    if first is not None and is_conversation(first.fields):
        return _conversations(source, settings)
    return _dataset(source, settings)


def _check(settings: ItemSettings) -> None:
    for number in (settings.n, settings.at_most):
        if number is not None and number < 1:
            what = f"--requests is {number}, expected at least 1"
            raise UsageError(Problem("BENCH-025", what, "increase it"))
    if settings.prefix_groups != 1 and not settings.shared_prefix:
        what = f"--prefix-groups is {settings.prefix_groups}, but the prompts of a group share 0 tokens"
        raise UsageError(Problem("BENCH-025", what, "set the length of the prefix: --shared-prefix N"))


def _count_items(settings: ItemSettings, n_there: int) -> int:
    """Return the number of items to send from a source with `n_there` items."""
    n = settings.n or n_there
    return n if settings.at_most is None else min(n, settings.at_most)


def _pin_tokenizer(settings: ItemSettings) -> ItemSettings:
    """Return the settings with the commit of a hub tokenizer, so that the result names the exact version."""
    files = None if settings.tokenizer is None else find_tokenizer(settings.tokenizer)
    return settings if files is None else msgspec.structs.replace(settings, tokenizer=f"hf:{files.weights()}")


def _tokenizer(settings: ItemSettings) -> Tokenizer | None:
    if settings.tokenizer is None:
        return None
    files = find_tokenizer(settings.tokenizer)
    return open_tokenizer(settings.tokenizer if files is None else str(files.tokenizer_source()))


def _reject_lengths(settings: ItemSettings, name: str) -> None:
    if (
        settings.input is not None
        or settings.shared_prefix
        or settings.prefix_groups != 1
        or settings.kind != "text"
    ):
        what = f"prompt lengths, kinds or prefixes are set, but {name} has its own prompts"
        fix = f"remove --input, --token-ids, --shared-prefix and --prefix-groups, or use {SYNTHETIC!r}"
        raise UsageError(Problem("BENCH-025", what, fix))


def _reject_trace_options(settings: ItemSettings, name: str) -> None:
    if settings.trace != TraceTimes():
        what = f"a part or speed of a trace is set, but {name} is not a trace"
        fix = "remove --trace-start-ms, --trace-end-ms and --trace-speed"
        raise UsageError(Problem("BENCH-025", what, fix))


def _reject_order(settings: ItemSettings, what: str) -> None:
    if settings.order != "default":
        problem = f"--order {settings.order} has no effect on {what}"
        raise UsageError(Problem("BENCH-025", problem, "remove --order"))


# --- synthetic loads ---


def _spec(settings: ItemSettings) -> SyntheticSpec:
    return SyntheticSpec(
        _count_items(settings, DEFAULT_N),
        settings.input or DEFAULT_INPUT,
        settings.output or DEFAULT_OUTPUT,
        kind=settings.kind,
        shared_prefix=settings.shared_prefix,
        prefix_groups=settings.prefix_groups,
        seed=settings.seed,
        is_chat=settings.is_chat,
    )


def _load_config_items(config: Mapping[str, Any], where: Origin, settings: ItemSettings) -> Items:
    spec = read_synthetic_config(config, where, seed=settings.seed, is_chat=settings.is_chat)
    spec = msgspec.structs.replace(
        spec, n=_count_items(settings, spec.n), output=settings.output or spec.output
    )
    return _synthetic(spec, settings)


def _read_synthetic_config(source: str) -> Mapping[str, Any] | None:
    """Return the config in a JSON file; None if it contains something else."""
    path = Path(source)
    if path.suffix != ".json" or not path.is_file():
        return None
    try:
        document = msgspec.json.decode(path.read_bytes())
    except (msgspec.DecodeError, OSError, RecursionError):
        # Reading the file as a dataset reports this error.
        return None
    return document if is_synthetic_config(document) else None


def _synthetic(spec: SyntheticSpec, settings: ItemSettings) -> Items:
    _reject_order(settings, "a synthetic load")
    described_by = {**spec.describes(), "tokenizer": settings.tokenizer}
    return Items(
        SyntheticItemSource(spec, _tokenizer(settings)),
        spec.n,
        described_by,
        _note_uncounted_tokens(settings),
    )


def _note_uncounted_tokens(settings: ItemSettings) -> Sequence[str]:
    if settings.tokenizer is not None:
        return ()
    return ("no tokenizer is set: prompt lengths are approximate, and reported counts come from the server",)


# --- files of rows ---


def _first_row(source: str) -> Record | None:
    """Return the first row of a file of rows; None if the source is something else."""
    path = Path(source)
    if not path.is_file() or find_suffix(path.name) is None:
        return None
    try:
        return next(iter(open_source(source, FileSettings()).records()), None)
    except UndecidedFile:
        # Its meta file may decide; compiling the table finds out.
        return None


def _trace(source: str, settings: ItemSettings) -> Items:
    _reject_order(settings, "a trace")
    rows = ((record.fields, record.origin) for record in open_source(source).records())
    trace = read_trace(rows, settings.trace, source)
    n = _count_items(settings, len(trace.rows))
    load = TraceItemSource(
        trace, n, seed=settings.seed, is_chat=settings.is_chat, tokenizer=_tokenizer(settings)
    )
    described_by = {**_describe_source("trace", source, settings), "part": settings.trace._asdict()}
    return Items(
        load, n, described_by, (*trace.notes, *_note_uncounted_tokens(settings)), _output(settings, n)
    )


def _conversations(source: str, settings: ItemSettings) -> Items:
    if not settings.is_chat:
        what = f"{source!r} contains conversations, which cannot be sent as plain text"
        raise UsageError(Problem("BENCH-025", what, "remove --text, to send them as chats"))
    rows = _ConversationRows(source)
    return _build_row_items("conversations", source, rows.once, settings, remarks=rows.remarks)


class _ConversationRows:
    """The conversations of a file; those without a user message are skipped and counted."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._left_out: set[int | None] = set()

    def once(self) -> Iterator[LoadItem]:
        """Yield the conversations of the file once."""
        for record in open_source(self._source).records():
            item = build_conversation_item(str(record.origin.row), record.fields, record.origin)
            if item is None:
                self._left_out.add(record.origin.row)
            else:
                yield item

    def remarks(self) -> Sequence[str]:
        """Return a note with the number of skipped conversations."""
        n = len(self._left_out)
        return (f"{n:,} conversations without a user message were skipped",) if n else ()


# --- datasets ---


def _dataset(source: str, settings: ItemSettings) -> Items:
    # Imported here so that a synthetic load does not wait for the compilers of datasets.
    from assay.app.benchmarks import resolve_benchmarks
    from assay.app.dialects import TABLE, detect_dialect
    from assay.app.run import compile_with_settings

    named, values, benchmarks = resolve_benchmarks((source,), settings.run)
    is_table = all(detect_dialect(name, values.dialect, values.dataset_args) == TABLE for name in named)
    values = msgspec.structs.replace(
        values,
        method=(Method.GEN,) if is_table else values.method,
        stage="infer",
        seed=settings.seed,
        chat="on" if settings.is_chat else "off",
    )
    compiled = compile_with_settings(named, values, None, benchmarks)
    tasks = [one.task for one in compiled]
    notes = [note for one in compiled for note in one.notes]
    return _build_row_items("dataset", source, lambda: _iterate_generation_items(tasks), settings, notes)


def _iterate_generation_items(tasks: Iterable[Task]) -> Iterator[LoadItem]:
    """Yield the generation requests of tasks; likelihood requests are not a load for a server."""
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
    settings: ItemSettings,
    notes: Sequence[str] = (),
    remarks: Callable[[], Sequence[str]] = tuple,
) -> Items:
    """Return the items of rows, in the requested number and order."""
    tokenizer = _tokenizer(settings)
    if next(once(), None) is None:
        what = f"{source!r} contains no prompts for generation"
        raise AuthorError(Problem("BENCH-024", what, "name a dataset whose answers are generated"))
    described_by = {**_describe_source(kind, source, settings), "order": settings.order}
    if settings.order == "default":
        n = _count_items(settings, sum(1 for _ in once()))
        rounds = Rounds(lambda: _count_prompt_tokens(once(), tokenizer), n)
        return Items(rounds, n, described_by, notes, _output(settings, n), remarks)
    items = list(once())
    # Items that are not chosen follow the others, for the warm-up.
    chosen = select_rows(
        range(len(items)), settings.n, settings.order, seed=settings.seed, task=Path(source).name
    )
    chosen = chosen[: settings.at_most]
    others = sorted(set(range(len(items))).difference(chosen))
    reordered = list(
        _count_prompt_tokens(_make_ids_unique(items[at] for at in (*chosen, *others)), tokenizer)
    )
    n = len(chosen)
    if n > len(items):
        notes = (*notes, f"{len(items):,} prompts are repeated for a total of {n:,} requests")
    return Items(Rounds(lambda: reordered, n), n, described_by, notes, _output(settings, n), remarks)


def _make_ids_unique(items: Iterable[LoadItem]) -> list[LoadItem]:
    """Return items in which repeated ones get unique ids."""
    times = Counter[str]()
    unique = []
    for item in items:
        times[item.id] += 1
        nth = times[item.id]
        unique.append(item if nth == 1 else msgspec.structs.replace(item, id=f"{item.id}~{nth}"))
    return unique


def _count_prompt_tokens(items: Iterable[LoadItem], tokenizer: Tokenizer | None) -> Iterator[LoadItem]:
    """Yield items with token counts by the tokenizer, in case the server does not count."""
    for item in items:
        if tokenizer is None:
            yield item
            continue
        texts = (item.prompt,) if isinstance(item.prompt, str) else (message.text for message in item.prompt)
        yield msgspec.structs.replace(item, n_prompt_tokens=sum(map(tokenizer.count, texts)))


def _describe_source(kind: str, source: str, settings: ItemSettings) -> dict[str, Any]:
    output = None if settings.output is None else dict(describe_lengths(settings.output))
    return {
        "source": source,
        "kind": kind,
        "output": output,
        "seed": settings.seed,
        "tokenizer": settings.tokenizer,
    }


def _output(settings: ItemSettings, n: int) -> Callable[[int], int] | None:
    return None if settings.output is None else settings.output.draw(n, settings.seed, "output")
