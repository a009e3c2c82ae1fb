"""The compiler from a table and its settings to a task."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from assay.core.compilation import Compilation
from assay.core.errors import AuthorError, PlanError, Problem
from assay.core.method import Method
from assay.core.names import compose_name
from assay.core.origin import Origin
from assay.core.python_objects import PREFIX, is_python_name
from assay.core.request import Sampling
from assay.core.setting_names import name_setting, naming_settings
from assay.core.task import TaskSettings, TaskSpec
from assay.dialects.shared.dialogue import SHOT_SEPARATOR, Dialogue, RoleMarks
from assay.dialects.shared.fewshot import ShotPool
from assay.dialects.shared.request_selection import AnswerLengths, select_rows
from assay.dialects.table.differences import find_differences
from assay.dialects.table.layout import Layout
from assay.dialects.table.meta import META_FIELDS, TableMeta, meta_path, read_meta, read_methods
from assay.dialects.table.prompt_checks import check_label_map, check_prompts, has_visible_options
from assay.dialects.table.prompts import (
    CHAT_STOPS,
    compute_prompt_version,
    has_bare_text,
    make_dialogue,
    make_label_map,
)
from assay.dialects.table.reading_summary import describe_settings
from assay.dialects.table.row_adapters import AdaptedSource
from assay.dialects.table.rows import TableRows
from assay.dialects.table.setting_notes import list_ignored_settings, list_matching_notes, list_repeat_notes
from assay.dialects.table.shapes import (
    build_shape_scorer,
    build_shape_settings,
    check_shape,
    list_shape_notes,
    read_shape,
)
from assay.dialects.table.shot_pool import build_shot_pool
from assay.dialects.table.survey import Survey, survey_table
from assay.dialects.table.table_file import check_media, list_document_notes, open_table, report_bad_rows
from assay.dialects.table.task import AnswerStyle, PromptSetup, TableTask, build_question_reader
from assay.dialects.table.texts import TextTask, build_windows, check_texts, is_joined
from assay.sources.file_names import find_on_disk
from assay.sources.source import Source

DEFAULT_MAX_TOKENS = 256


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
    source = open_table(path, meta.file_settings, settings)
    notes += (*list_document_notes(source), *source.notes)
    notes += check_media(source, meta)
    has_decimal_comma = source.has_decimal_comma
    meta = TableMeta(
        windows=settings.windows, window_tokens=settings.window_tokens, stride=settings.stride
    ).merge_over(meta)
    with report_bad_rows(source):
        source, meta = read_shape(source, meta, notes, settings)
        if meta.eval_task is not None and settings.samples is None and meta.eval_task.epochs > 1:
            settings = msgspec.structs.replace(settings, samples=meta.eval_task.epochs)
        survey = _survey_all(source, meta, settings)
    survey.layout = msgspec.structs.replace(survey.layout, has_decimal_comma=has_decimal_comma)
    layout = survey.layout
    notes += survey.notes
    own_name = path.removeprefix(PREFIX) if is_python_name(path) else Path(path).name.split(".")[0]
    name = compose_name(meta.abbr or own_name)
    if layout.data_type == "text":
        task = _build_text_task(path, name, source, meta, settings, survey, notes)
        return _build_compiled_table(task, survey, None, notes, meta)
    check_shape(meta, settings, path)
    notes += list_ignored_settings(meta, layout, settings)
    methods = _read_methods(settings, meta, layout, source)
    where = meta_where if meta.template or meta.human_prompt or meta.bot_prompt else Origin(path)
    # The original drops texts outside turns from a chat.
    drops = settings.is_faithful and settings.is_chat and not model.joins_turns
    make = partial(make_dialogue, faithful=settings.is_faithful, marks=model.marks, drops_bare_text=drops)
    label_map = make_label_map(
        meta, layout, where, faithful=settings.is_faithful, marks=model.marks, drops_bare_text=drops
    )
    if label_map is not None:
        check_label_map(label_map, methods, where, is_chat=settings.is_chat)
        # Only ppl is supported here. Where a question is needed, the default prompt provides it.
        without_template = msgspec.structs.replace(meta, template=None)
        dialogue = make(without_template, layout, where) if layout.question_columns else label_map.all[0]
    else:
        dialogue = make(meta, layout, where)
    shows_options = has_visible_options(dialogue, layout)
    ppl_target = meta.ppl_target or ("label" if shows_options or label_map else "text")
    without_options = dialogue
    if not (meta.template or meta.human_prompt):
        without_options = make(meta, layout, where, hides_options=True)
    # The prompt does not show options whose texts are scored.
    ppl_dialogue = without_options if ppl_target == "text" else dialogue
    several_right = None
    if not settings.is_faithful and survey.has_several_right:
        several_right = meta.several_right or "exact"
    notes += list_matching_notes(meta, layout, methods, several_right, is_faithful=settings.is_faithful)
    notes += list_shape_notes(source, meta)
    shown = (dialogue, ppl_dialogue) if label_map is None else label_map.all
    check_prompts(source, layout, survey.filled, shown, faithful=settings.is_faithful)
    used = {name.split(".")[0] for one in shown for name in one.fields}
    survey.unused = tuple(name for name in survey.unused if name not in used)
    if Method.PROB in methods and not shows_options:
        raise _build_plan_error(
            "TABLE-007",
            "method 'prob' compares the option labels, but the prompt does not show the options",
            "add {option_list} to the prompt, or use --method ppl or gen",
            source,
        )
    pool, shot_source, shot_survey = build_shot_pool(
        source, meta, survey, settings, name, build_question_reader(without_options), find_split
    )
    if shot_source is not None and shot_survey is not None:
        check_prompts(shot_source, layout, shot_survey.filled, shown, faithful=settings.is_faithful)
    sampling = Sampling(
        max_tokens=settings.max_tokens or meta.max_tokens or model.max_tokens or DEFAULT_MAX_TOKENS,
        temperature=settings.temperature or 0.0,
        top_p=1.0 if settings.top_p is None else settings.top_p,
        stop=_list_stops(settings, meta, layout, model.stop),
        seed=settings.seed if settings.temperature else None,
        n=settings.samples or 1,
    )
    notes += list_repeat_notes(settings, methods)
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
        _build_gen_style(make, meta, layout, where, shows_options) if several_right == "exact" else None,
        meta.match or "stated",
        several_right,
    )
    rows = _select_table_rows(meta, settings, survey, source, name, notes)
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
    return _build_compiled_table(table, survey, pool, notes, meta)


def _build_compiled_table(
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


def _build_gen_style(
    make: Callable[..., Dialogue], meta: TableMeta, layout: Layout, where: Origin, shows_options: bool
) -> AnswerStyle:
    """Return the style that asks for all right options. A custom prompt stays unchanged."""
    dialogue = make(meta, layout, where, asks_for_all=shows_options)
    return AnswerStyle(dialogue, "label" if shows_options else "text", names_all=True)


def _build_text_task(
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
    rows = _select_table_rows(meta, settings, survey, source, name, notes)
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


def _read_methods(
    settings: TaskSettings, meta: TableMeta, layout: Layout, source: Source
) -> tuple[Method, ...]:
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


def _list_stops(
    settings: TaskSettings, meta: TableMeta, layout: Layout, of_model: tuple[str, ...]
) -> tuple[str, ...]:
    if settings.stop is not None:
        return settings.stop
    own = _list_own_stops(settings, meta, layout) if meta.stop is None else meta.stop
    return tuple(dict.fromkeys((*own, *of_model)))


def _list_own_stops(settings: TaskSettings, meta: TableMeta, layout: Layout) -> tuple[str, ...]:
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


def _select_table_rows(
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
