"""The compiler from a table and its settings to a task."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from assay.core.compilation import Compilation
from assay.core.errors import AuthorError, PlanError, Problem, Problems, listing
from assay.core.method import Method
from assay.core.names import compose_name
from assay.core.origin import Origin
from assay.core.request import Sampling
from assay.core.sample import Sample
from assay.core.setting_names import list_settings, name_setting, naming_settings
from assay.core.sizes import format_size
from assay.core.task import TaskSettings, TaskSpec
from assay.dialects.shared.choices import ANSWER_FORMS
from assay.dialects.shared.dialogue import SHOT_SEPARATOR, Dialogue, RoleMarks
from assay.dialects.shared.fewshot import ShotPolicy, ShotPool
from assay.dialects.shared.request_selection import AnswerLengths, select_rows
from assay.dialects.shared.sample_store import StoredSamples
from assay.dialects.shared.template import TemplateFailure, build_limit_problem, get_field, has_field
from assay.dialects.table.answer_columns import AnswerColumnsSource
from assay.dialects.table.differences import find_differences
from assay.dialects.table.label_map import LabelMap
from assay.dialects.table.layout import FULL_QUESTION, OPTION_LIST, Layout, build_template_values
from assay.dialects.table.meta import META_FIELDS, SeveralRight, TableMeta, meta_path, read_meta, read_methods
from assay.dialects.table.prompts import (
    CHAT_STOPS,
    ChatDialogue,
    compute_prompt_version,
    has_bare_text,
    make_dialogue,
    make_label_map,
)
from assay.dialects.table.reading_summary import describe_settings
from assay.dialects.table.row_adapters import AdaptedSource
from assay.dialects.table.rows import TableRows
from assay.dialects.table.shapes import (
    build_shape_scorer,
    build_shape_settings,
    check_shape,
    list_shape_notes,
    read_shape,
)
from assay.dialects.table.survey import Survey, survey_table
from assay.dialects.table.task import AnswerStyle, PromptSetup, TableTask, build_question_reader
from assay.dialects.table.texts import TextTask, build_windows, check_texts, is_joined
from assay.sources.file_names import find_on_disk
from assay.sources.file_settings import FileSettings
from assay.sources.files import open_source, select_settings
from assay.sources.hub_name import is_address
from assay.sources.json_file import JsonSource
from assay.sources.source import Source

DEFAULT_MAX_TOKENS = 256
_LARGE_DOCUMENT = 100_000_000
"""Bytes from which on a note says that a JSON document is read into memory."""


class CompiledTable(Compilation[TableTask | TextTask], frozen=True):
    """A table's task, with what `assay init` and `assay check` show of the file."""

    survey: Survey
    pool: ShotPool | None
    given: TableMeta = TableMeta()
    """All given settings: command line or config entry first, then the meta file."""


class ModelDefaults(msgspec.Struct, frozen=True):
    """Defaults from the model's own config, for settings that the table leaves open."""

    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    """Stop texts, in addition to those of the table."""
    marks: RoleMarks | None = None
    """How to mark roles in a text for this model."""
    joins_turns: bool = False
    """Whether the original sends all turns to the model as one text."""


def compile_table(
    path: str,
    settings: TaskSettings,
    given: TableMeta | None = None,
    *,
    meta_file: str | None = None,
    find_split: Callable[[str, str], str] | None = None,
    model: ModelDefaults | None = None,
) -> CompiledTable:
    """Compile a table.

    The order of precedence is: `given` (command line, config entry), the meta file, the model's config,
    inference. `find_split` maps (this file, split name) to another file, for shots.
    """
    notes: list[str] = []
    given = given or TableMeta()
    in_file, file = _read_meta_file(path, meta_file, notes)
    meta = given.merge_over(in_file)
    own = [key for key in META_FIELDS if getattr(in_file, key) is not None and getattr(given, key) is None]
    with naming_settings({key: f'"{key}" in {file.name}' for key in own}):
        where = Origin(str(file) if _has_own_prompt(in_file, given) else path)
        return _compile(path, settings, meta, where, notes, find_split, model or ModelDefaults())


def _compile(
    path: str,
    settings: TaskSettings,
    meta: TableMeta,
    meta_where: Origin,
    notes: list[str],
    find_split: Callable[[str, str], str] | None,
    model: ModelDefaults,
) -> CompiledTable:
    """Compile a table whose settings are read; `meta_where`: where the prompt is defined."""
    source = _open_table(path, meta.file_settings, settings)
    notes += (*_list_document_notes(source), *source.notes)
    notes += _check_media(source, meta)
    has_decimal_comma = source.has_decimal_comma
    meta = TableMeta(
        windows=settings.windows, window_tokens=settings.window_tokens, stride=settings.stride
    ).merge_over(meta)
    with _reporting_bad_rows(source):
        source, meta = read_shape(source, meta, notes, settings)
        if meta.eval_task is not None and settings.samples is None and meta.eval_task.epochs > 1:
            settings = msgspec.structs.replace(settings, samples=meta.eval_task.epochs)
        survey = _survey_all(source, meta, settings)
    survey.layout = msgspec.structs.replace(survey.layout, has_decimal_comma=has_decimal_comma)
    layout = survey.layout
    notes += survey.notes
    name = compose_name(meta.abbr or Path(path).name.split(".")[0])
    if layout.data_type == "text":
        task = _text_task(path, name, source, meta, settings, survey, notes)
        return _finish(task, survey, None, notes, meta)
    check_shape(meta, settings, path)
    notes += _list_ignored_settings(meta, layout, settings)
    methods = _methods(settings, meta, layout, source)
    where = meta_where if meta.template or meta.human_prompt or meta.bot_prompt else Origin(path)
    # The original drops texts outside turns from a chat.
    drops = settings.is_faithful and settings.is_chat and not model.joins_turns
    make = partial(make_dialogue, faithful=settings.is_faithful, marks=model.marks, drops_bare_text=drops)
    label_map = make_label_map(
        meta, layout, where, faithful=settings.is_faithful, marks=model.marks, drops_bare_text=drops
    )
    if label_map is not None:
        _check_label_map(label_map, methods, where, is_chat=settings.is_chat)
        # Only ppl is supported here. Where a question is needed, the default prompt provides it.
        without_template = msgspec.structs.replace(meta, template=None)
        dialogue = make(without_template, layout, where) if layout.question_columns else label_map.all[0]
    else:
        dialogue = make(meta, layout, where)
    shows_options = _has_visible_options(dialogue, layout)
    ppl_target = meta.ppl_target or ("label" if shows_options or label_map else "text")
    without_options = dialogue
    if not (meta.template or meta.human_prompt):
        without_options = make(meta, layout, where, hides_options=True)
    # The prompt does not show options whose texts are scored.
    ppl_dialogue = without_options if ppl_target == "text" else dialogue
    several_right = None
    if not settings.is_faithful and survey.has_several_right:
        several_right = meta.several_right or "exact"
    notes += _matching_notes(meta, layout, methods, several_right, is_faithful=settings.is_faithful)
    notes += list_shape_notes(source, meta)
    shown = (dialogue, ppl_dialogue) if label_map is None else label_map.all
    _check_prompts(source, layout, survey.filled, shown, faithful=settings.is_faithful)
    if Method.PROB in methods and not shows_options:
        raise _build_plan_error(
            "TABLE-007",
            "method 'prob' compares the option labels, but the prompt does not show the options",
            "add {option_list} to the prompt, or use --method ppl or gen",
            source,
        )
    pool, shot_source, shot_survey = _shot_pool(
        source, meta, survey, settings, name, build_question_reader(without_options), find_split
    )
    if shot_source is not None and shot_survey is not None:
        _check_prompts(shot_source, layout, shot_survey.filled, shown, faithful=settings.is_faithful)
    sampling = Sampling(
        max_tokens=settings.max_tokens or meta.max_tokens or model.max_tokens or DEFAULT_MAX_TOKENS,
        temperature=settings.temperature or 0.0,
        top_p=1.0 if settings.top_p is None else settings.top_p,
        stop=_stops(settings, meta, layout, model.stop),
        seed=settings.seed if settings.temperature else None,
        n=settings.samples or 1,
    )
    notes += _list_repeat_notes(settings, methods)
    prompting = PromptSetup(
        AnswerStyle(
            dialogue,
            "label" if shows_options else "text",
            shows_solution=layout.answer_form in ("after_hashes", "boxed"),
        ),
        AnswerStyle(ppl_dialogue, ppl_target),
        settings.is_chat,
        settings.is_faithful,
        settings.score_by or "sum",
        sampling,
        label_map,
        build_shape_scorer(source, meta),
        _gen_style(make, meta, layout, where, shows_options) if several_right == "exact" else None,
        meta.match or "stated",
        several_right,
    )
    rows = _rows(meta, settings, survey, source, name, notes)
    lengths = None
    if meta.output_config is not None:
        lengths = AnswerLengths(meta.output_config, len(rows), settings.seed, name, settings.is_faithful)
    recorded = _build_settings(meta, layout, settings, prompting, pool) | build_shape_settings(source)
    spec = TaskSpec(
        name,
        "table",
        path,
        source.content_hash()
        if shot_source is None
        else f"{source.content_hash()}+{shot_source.content_hash()}",
        methods,
        len(rows),
        survey.n_rows,
        recorded,
        find_differences(
            methods,
            layout.data_type,
            meta,
            is_faithful=settings.is_faithful,
            has_shots=pool is not None,
            has_bare_text=settings.is_chat and not model.joins_turns and has_bare_text(meta.template),
        ),
    )
    table = TableTask(spec, TableRows(source, layout, survey.twins, rows, lengths), prompting, pool)
    return _finish(table, survey, pool, notes, meta)


def _finish(
    task: TableTask | TextTask, survey: Survey, pool: ShotPool | None, notes: list[str], given: TableMeta
) -> CompiledTable:
    facts = describe_settings(survey, task.spec)
    return CompiledTable(task, tuple(notes), survey.layout.data_type, tuple(facts), survey, pool, given)


def _survey_all(source: Source, meta: TableMeta, settings: TaskSettings) -> Survey:
    """Survey a table. If that fails, first report all rows that do not match the shape of the table."""
    try:
        return survey_table(
            source,
            meta,
            faithful=settings.is_faithful,
            seed=settings.seed,
            is_scored=settings.is_scored,
        )
    except AuthorError:
        if isinstance(source, AdaptedSource):
            source.check()
        raise


def _gen_style(
    make: Callable[..., Dialogue], meta: TableMeta, layout: Layout, where: Origin, shows_options: bool
) -> AnswerStyle:
    """Return the style that asks for all right options. A custom prompt stays unchanged."""
    dialogue = make(meta, layout, where, asks_for_all=shows_options)
    return AnswerStyle(dialogue, "label" if shows_options else "text", names_all=True)


def _matching_notes(
    meta: TableMeta,
    layout: Layout,
    methods: tuple[Method, ...],
    several_right: SeveralRight | None,
    *,
    is_faithful: bool,
) -> list[str]:
    """Return notes on `match` and `several_right` settings that have no or limited effect."""
    notes = []
    if meta.match is not None and (is_faithful or layout.data_type != "qa"):
        why = "faithful runs compare literally" if is_faithful else f"the table is {layout.data_type}"
        notes.append(f"{name_setting('match')} applies only to free-form answers: {why}")
    if meta.several_right is not None and several_right is None:
        why = "faithful runs count any right option" if is_faithful else "no row has several right options"
        notes.append(f"{name_setting('several_right')} has no effect: {why}")
    others = [method for method in methods if method != Method.GEN]
    if several_right == "exact" and others:
        notes.append(f"{listing(others)} can choose only one option: any of several right options counts")
    return notes


def _check_label_map(
    label_map: LabelMap, methods: tuple[Method, ...], where: Origin, *, is_chat: bool
) -> None:
    """Raise if the per-label prompts cannot be compared."""
    others = [method for method in methods if method != Method.PPL]
    if others:
        what = f"{name_setting('template')}: per-label templates need method ppl, not {listing(others)}"
        fix = 'use --method ppl ("infer_method": "ppl"), or write one template for all labels'
        raise PlanError(Problem("TABLE-006", what, fix, where))
    if is_chat and not label_map.differs_in_reply:
        what = f"{name_setting('template')}: per-label templates differ before the last turn, "
        what += "which a chat cannot score"
        fix = "move the differing text to the last turn, with role BOT, or send plain text with --chat off"
        raise PlanError(Problem("TABLE-006", what, fix, where))


def _list_repeat_notes(settings: TaskSettings, methods: tuple[Method, ...]) -> list[str]:
    """Return notes on several answers per row that have no effect."""
    n = settings.samples or 1
    if n == 1:
        return []
    if Method.GEN not in methods:
        return [f"{n} answers per row are requested, which has no effect on {listing(methods)}"]
    if not settings.temperature:
        return [f"{n} answers per row are requested at temperature 0: they will all be the same"]
    return []


def _open_table(path: str, file: FileSettings, settings: TaskSettings) -> Source:
    """Open the file of a table, or of its examples. The survey checks every row.

    Missing file settings are inferred, except in a faithful run: the original infers nothing.
    """
    source = open_source(path, None if settings.is_faithful and not file.list_given() else file)
    # Reads the header. JSON files have none: reading the names of all fields checks every row.
    _ = source.columns
    return source


@contextmanager
def _reporting_bad_rows(source: Source) -> Iterator[None]:
    """If the block fails, first report all rows that cannot be read: they may be the reason."""
    try:
        yield
    except AuthorError:
        source.check()
        raise


def _list_document_notes(source: Source) -> list[str]:
    """Return a note if the source is a large JSON document, which cannot be streamed."""
    if not isinstance(source, JsonSource) or (size := Path(source.path).stat().st_size) < _LARGE_DOCUMENT:
        return []
    return [f"the .json file ({format_size(size)}) is read into memory; JSON lines (.jsonl) are streamed"]


def _check_media(source: Source, meta: TableMeta) -> list[str]:
    """Raise if rows contain media, which a table's prompt cannot show; only note it for a custom prompt."""
    if not source.media_columns:
        return []
    column, medium = next(iter(source.media_columns.items()))
    what = f"the column contains {medium} files, which the prompt of a table cannot show"
    if meta.template or meta.human_prompt:
        return [f"{column}: {what}"]
    fix = (
        "write a config with a media template (docs/formats/openicl.md); to use the text only, "
        "give a template, such as --template '{question}'"
    )
    raise PlanError(Problem("HUB-014", what, fix, Origin(source.path, column=column)))


def _text_task(
    path: str,
    name: str,
    source: Source,
    meta: TableMeta,
    settings: TaskSettings,
    survey: Survey,
    notes: list[str],
) -> TextTask:
    check_texts(path, meta, settings)
    windows = build_windows(meta)
    rows = _rows(meta, settings, survey, source, name, notes)
    recorded = {
        "said": meta,
        "layout": survey.layout,
        "form": "text",
        "windows": windows,
        "seed": settings.seed,
    }
    spec = TaskSpec(
        name,
        "table",
        path,
        source.content_hash(),
        (Method.PPL,),
        1 if is_joined(windows) else len(rows),
        survey.n_rows,
        msgspec.json.decode(msgspec.json.encode(recorded)),
    )
    return TextTask(spec, TableRows(source, survey.layout, survey.twins, rows), windows)


def _list_ignored_settings(meta: TableMeta, layout: Layout, settings: TaskSettings) -> list[str]:
    """Return notes on window and length settings that have no effect."""
    notes = []
    given = [name for name in ("windows", "window_tokens", "stride") if getattr(meta, name) is not None]
    if given:
        notes.append(
            f"{list_settings(given)} apply to plain texts, not to a {layout.data_type} table; ignored"
        )
    if layout.length_column is not None and (settings.max_tokens or meta.max_tokens):
        where = name_setting("output_config") if meta.output_config else f"column {layout.length_column!r}"
        notes.append(
            f"{where} sets the answer length; {name_setting('max_tokens')} applies only to rows without one"
        )
    return notes


def _read_meta_file(path: str, meta_file: str | None, notes: list[str]) -> tuple[TableMeta, Path]:
    """Return the settings of a table's meta file, empty if there is none, and the path of the file."""
    file = find_on_disk(Path(meta_file) if meta_file else meta_path(Path(path)))
    if not file.exists() and not file.is_symlink():
        if meta_file:
            raise AuthorError(
                Problem("TABLE-002", "there is no such meta file", "correct --meta", Origin(str(file)))
            )
        return TableMeta(), file
    return read_meta(file, notes), file


def _has_own_prompt(in_file: TableMeta, given: TableMeta) -> bool:
    """Whether the prompt is the one of the meta file."""
    has_prompt = in_file.template or in_file.human_prompt or in_file.bot_prompt
    is_overridden = given.template or (given.human_prompt and given.bot_prompt)
    return bool(has_prompt and not is_overridden)


def _methods(settings: TaskSettings, meta: TableMeta, layout: Layout, source: Source) -> tuple[Method, ...]:
    methods = tuple(dict.fromkeys(settings.methods or read_methods(meta, source.path) or (Method.GEN,)))
    for method in methods:
        if method != Method.GEN and layout.data_type == "qa":
            raise _build_plan_error(
                "TABLE-007",
                f"method {method!r} needs options, but this is a qa table without options",
                "use --method gen, or name the option columns with --options",
                source,
            )
    return methods


def _build_plan_error(code: str, what: str, fix: str, source: Source) -> PlanError:
    return PlanError(Problem(code, what, fix, Origin(source.path)))


def _check_prompts(
    source: Source,
    layout: Layout,
    filled: frozenset[str],
    dialogues: tuple[Dialogue, ...],
    *,
    faithful: bool,
) -> None:
    """Raise if rows lack a field that the prompt uses, or if a Jinja prompt fails.

    `filled`: columns with a value in every row, for which no row needs to be checked. The original leaves
    `{field}` unchanged if a row lacks the field; it has no Jinja.
    """
    if all(isinstance(one, ChatDialogue) for one in dialogues):
        return  # Conversations are checked while they are read.
    problems = Problems()
    different = tuple(dict.fromkeys(dialogues))
    plain = () if faithful else tuple(dialogue for dialogue in different if dialogue.is_plain)
    braces = sorted({name for dialogue in plain for name in dialogue.fields})
    has_jinja = not all(dialogue.is_plain for dialogue in different)
    # Computed fields always exist. Most rows have all other fields too, which the loop checks first.
    made = {OPTION_LIST} if layout.data_type == "mcq" else set()
    made |= {FULL_QUESTION} if layout.joins_question else set()
    wanted = [name for name in braces if name not in made]
    if not has_jinja and filled.issuperset(wanted):
        return
    for record in source.records():
        fields = record.fields
        if not has_jinja and all(fields.get(name) is not None for name in wanted):
            continue
        values = build_template_values(layout.sample(fields, record.origin, ""))
        for name in braces:
            if get_field(values, name, None) is None:
                seen = "is null" if has_field(values, name) else "is missing"
                problems.add(
                    Problem(
                        "TABLE-005",
                        f"the prompt uses {{{name}}}, which {seen} in this row",
                        "fill it in, or use a Jinja template with {% if ... %}",
                        record.origin,
                    )
                )
        if has_jinja and (trouble := _find_render_failure(different, values)) is not None:
            if trouble.is_limit:
                raise AuthorError(build_limit_problem("the prompt", str(trouble), record.origin))
            problems.add(
                Problem(
                    "TABLE-015",
                    f"the prompt cannot be rendered: {trouble}",
                    "correct the template, or guard it with {% if ... %}",
                    record.origin,
                )
            )
    problems.raise_if_any()


def _find_render_failure(
    dialogues: tuple[Dialogue, ...], values: Mapping[str, Any]
) -> TemplateFailure | None:
    try:
        for dialogue in dialogues:
            dialogue.render_opening(values, (), chat=False)
    except TemplateFailure as error:
        return error
    return None


def _has_visible_options(dialogue: Dialogue, layout: Layout) -> bool:
    shown = dialogue.fields
    if OPTION_LIST in shown:
        return True
    if isinstance(layout.options, str):
        return layout.options.split(".")[0] in {name.split(".")[0] for name in shown} or "A" in shown
    return bool(shown & {*layout.options, "A"})


def _shot_pool(
    source: Source,
    meta: TableMeta,
    survey: Survey,
    settings: TaskSettings,
    name: str,
    question: Callable[[Sample], str],
    find_split: Callable[[str, str], str] | None,
) -> tuple[ShotPool | None, Source | None, Survey | None]:
    """Return the pool of solved examples, and the source and survey of their file if it is another file."""
    if not settings.shots:
        return None, None, None
    other: Source | None = None
    pool_survey: Survey | None = None
    layout, n_rows = survey.layout, survey.n_rows
    if settings.shots_from is None:
        samples = TableRows(source, layout, survey.twins).samples()
    else:
        given = settings.shots_from
        if not is_address(given):
            given = str(find_on_disk(Path(given)))
        file = given if Path(given).exists() or find_split is None else find_split(source.path, given)
        other = _open_table(file, select_settings(file, meta.file_settings), settings)
        if isinstance(source, AnswerColumnsSource):
            other = source.read_other(other)
        # Read the examples like the dataset, so that answers have the same form.
        form = layout.answer_form if layout.answer_form in ANSWER_FORMS else survey.meta.answer_is
        pool_meta = msgspec.structs.replace(survey.meta, id_column=None, answer_is=form)
        with _reporting_bad_rows(other):
            pool_survey = survey_table(other, pool_meta, seed=settings.seed)
        n_rows = pool_survey.n_rows
        pool_layout = msgspec.structs.replace(
            pool_survey.layout,
            has_decimal_comma=other.has_decimal_comma,
            # Examples need the fields that the dataset's prompt uses.
            joins_question=layout.joins_question,
        )
        samples = TableRows(other, pool_layout, pool_survey.twins).samples()
    policy: ShotPolicy = "first" if other is not None else "random"
    if settings.shot_policy is not None:
        policy = "first" if settings.shot_policy == "first" else "random"
    pool = ShotPool(
        samples,
        settings.shots,
        policy=policy,
        seed=settings.seed,
        task=name,
        question=question,
        keep=StoredSamples,
    )
    # The row with the most duplicates decides: no row may silently get fewer examples than the others.
    if other is None:
        spare = pool.count_fewest_left()
    else:
        spare = min(
            (pool.n_left(sample) for sample in TableRows(source, layout).samples()), default=len(pool)
        )
    if spare < settings.shots:
        raise PlanError(
            Problem(
                "TABLE-013",
                f"{settings.shots} shots requested, but only {spare:,} of {n_rows:,} rows can be examples "
                f"for every row: {_explain_left_out(pool, spare, n_rows, is_own=other is None)}",
                "reduce --shots, or name a larger file with --shots-from",
                Origin((other or source).path),
            )
        )
    return pool, other, pool_survey


def _explain_left_out(pool: ShotPool, spare: int, n_rows: int, *, is_own: bool) -> str:
    """Return why the other rows cannot be examples for the row with the fewest examples."""
    n_same = len(pool) - spare
    reasons = []
    if n_unanswered := n_rows - len(pool):
        reasons.append(f"{n_unanswered:,} have no answer")
    if is_own and n_same == 1:
        reasons.append("a row is never its own example")
    elif n_same:
        reasons.append(f"{n_same:,} have the same prompt as the row to be answered")
    return " and ".join(reasons) or "there are no more rows"


def _stops(
    settings: TaskSettings, meta: TableMeta, layout: Layout, of_model: tuple[str, ...]
) -> tuple[str, ...]:
    if settings.stop is not None:
        return settings.stop
    own = _own_stops(settings, meta, layout) if meta.stop is None else meta.stop
    return tuple(dict.fromkeys((*own, *of_model)))


def _own_stops(settings: TaskSettings, meta: TableMeta, layout: Layout) -> tuple[str, ...]:
    # A chat model ends its turn. A model that continues text must stop where the prompt's pattern would
    # begin again. Faithful runs have no stop texts, like the original.
    if settings.is_chat or settings.is_faithful or meta.uses_one_text:
        return ()
    if meta.messages_column is not None:
        return CHAT_STOPS
    stops = [SHOT_SEPARATOR] if settings.shots else []
    if layout.data_type == "mcq" and not meta.template and not meta.human_prompt:
        stops.append("\nQuestion:")
    return tuple(stops)


_SLICE = re.compile(r"^\[?(-?\d*):(-?\d*)(?::(-?\d*))?\]?$")


def _rows(
    meta: TableMeta, settings: TaskSettings, survey: Survey, source: Source, name: str, notes: list[str]
) -> range | tuple[int, ...]:
    """Return the rows to evaluate, in order: `request_count` rows from `test_range`."""
    rows = _parse_range(meta.test_range, survey.n_rows, source)
    mode = meta.sampling_mode or "default"
    chosen = select_rows(rows, meta.request_count, mode, seed=settings.seed, task=name)
    if len(chosen) > len(rows):
        notes.append(
            f"{len(rows):,} rows are repeated to {len(chosen):,} requests; repeats of a row count as one "
            "observation and do not narrow the interval"
        )
    return chosen


def _parse_range(test_range: str | None, n_rows: int, source: Source) -> range:
    if test_range is None:
        return range(n_rows)
    match = _SLICE.match(test_range.strip())
    if match is None or match[3] == "0":
        raise AuthorError(
            Problem(
                "TABLE-004",
                f"{name_setting('test_range')}: found {test_range!r}, expected a slice",
                'write, for example, "[0:100]"',
                Origin(source.path),
            )
        )
    bounds = [int(part) if part else None for part in match.groups()]
    return range(n_rows)[slice(*bounds)]


def _build_settings(
    meta: TableMeta, layout: Layout, settings: TaskSettings, prompting: PromptSetup, pool: ShotPool | None
) -> dict[str, Any]:
    """Return everything that determines a prompt or a score, in the form the manifest stores."""
    recorded = {
        "said": msgspec.to_builtins(meta),
        "layout": msgspec.to_builtins(layout),
        "form": "chat" if prompting.is_chat else "text",
        "ppl_target": prompting.ppl_style.answers_by,
        "score_by": settings.score_by or "sum",
        "sampling": msgspec.to_builtins(prompting.sampling),
        "shots": settings.shots or 0,
        "shots_from": settings.shots_from,
        "shot_policy": None if pool is None else pool.policy,
        "seed": settings.seed,
        "fidelity": "faithful" if settings.is_faithful else "corrected",
        "prompt_hash": compute_prompt_version(meta, layout),
    }
    if layout.data_type == "qa":
        recorded["match"] = prompting.match
    if prompting.several_right is not None:
        recorded["several_right"] = prompting.several_right
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(recorded))
    return plain
