"""A table and what was said about it, compiled into a task."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from assay.core.errors import AuthorError, PlanError, Problem, Problems, listing
from assay.core.names import compose_name
from assay.core.origin import Origin
from assay.core.request import Sampling
from assay.core.sample import Sample
from assay.core.sizes import format_size
from assay.core.task import TaskSettings, TaskSpec
from assay.dialects.shared.choices import ANSWER_FORMS
from assay.dialects.shared.described_task import METHOD_KINDS
from assay.dialects.shared.dialogue import SHOT_SEPARATOR, Dialogue, RoleMarks
from assay.dialects.shared.fewshot import ShotPolicy, ShotPool
from assay.dialects.shared.request_selection import AnswerLengths, select_rows
from assay.dialects.shared.sample_store import StoredSamples
from assay.dialects.shared.template import TemplateFailure, build_limit_problem, get_field, has_field
from assay.dialects.table.differences import find_differences
from assay.dialects.table.label_map import LabelMap
from assay.dialects.table.layout import FULL_QUESTION, OPTION_LIST, Layout, build_template_values
from assay.dialects.table.meta import SeveralRight, TableMeta, meta_path, read_meta
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
"""Bytes of a JSON document from which on a person is told that it is held in memory."""


class CompiledTable(msgspec.Struct, frozen=True):
    """A table's task together with what was learnt on the way, for a person to see."""

    task: TableTask | TextTask
    survey: Survey
    pool: ShotPool | None
    notes: tuple[str, ...]
    said: TableMeta = TableMeta()
    """All that was said: the meta file below the command line or the config entry."""

    @property
    def kind(self) -> str:
        """Return what kind of table it is."""
        return self.survey.layout.data_type

    def facts(self) -> list[tuple[str, str]]:
        """Return in words which column is what."""
        return describe_settings(self.survey, self.task.spec)


class ModelDefaults(msgspec.Struct, frozen=True):
    """What the model's own config says, for tables that say nothing else."""

    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    """Texts that end an answer, beside those of the table."""
    marks: RoleMarks | None = None
    """How the model wants roles to be marked in a text."""
    joins_turns: bool = False
    """Whether the original sends the model all turns as one text."""


def compile_table(
    path: str,
    settings: TaskSettings,
    said: TableMeta | None = None,
    *,
    meta_file: str | None = None,
    find_split: Callable[[str, str], str] | None = None,
    model: ModelDefaults | None = None,
) -> CompiledTable:
    """Compile a table.

    `said` (command line, config entry) wins over the meta file, which wins over the model's config, and that
    over inference. `find_split` turns (this file, split name) into another file, for shots.
    """
    notes: list[str] = []
    model = model or ModelDefaults()
    said, meta_where = _read_all_settings(path, said or TableMeta(), meta_file, notes)
    source = _open_table(path, said.file_settings, settings)
    notes += (*_list_document_notes(source), *source.notes)
    notes += _check_media(source, said)
    has_decimal_comma = source.has_decimal_comma
    said = TableMeta(
        windows=settings.windows, window_tokens=settings.window_tokens, stride=settings.stride
    ).over(said)
    source, said = read_shape(source, said, notes, settings)
    if said.eval_task is not None and settings.samples is None and said.eval_task.epochs > 1:
        settings = msgspec.structs.replace(settings, samples=said.eval_task.epochs)
    found = _survey_all(source, said, settings)
    found.layout = msgspec.structs.replace(found.layout, has_decimal_comma=has_decimal_comma)
    layout = found.layout
    notes += found.notes
    name = compose_name(said.abbr or Path(path).name.split(".")[0])
    if layout.data_type == "text":
        task = _text_task(path, name, source, said, settings, found, notes)
        return CompiledTable(task, found, None, tuple(notes), said)
    check_shape(said, settings, path)
    notes += _list_ignored_settings(said, layout, settings)
    methods = _methods(settings, said, layout, source)
    where = meta_where if said.template or said.human_prompt or said.bot_prompt else Origin(path)
    # The original leaves texts outside turns out of a chat.
    drops = settings.is_faithful and settings.is_chat and not model.joins_turns
    make = partial(make_dialogue, faithful=settings.is_faithful, marks=model.marks, drops_bare_text=drops)
    label_map = make_label_map(
        said, layout, where, faithful=settings.is_faithful, marks=model.marks, drops_bare_text=drops
    )
    if label_map is not None:
        _check_label_map(label_map, methods, where, is_chat=settings.is_chat)
        # Other methods than ppl are rejected; the default prompt stands for the question where one is needed.
        said_without = msgspec.structs.replace(said, template=None)
        dialogue = make(said_without, layout, where) if layout.question_columns else label_map.all[0]
    else:
        dialogue = make(said, layout, where)
    shows_options = _has_visible_options(dialogue, layout)
    ppl_target = said.ppl_target or ("label" if shows_options or label_map else "text")
    without_options = dialogue
    if not (said.template or said.human_prompt):
        without_options = make(said, layout, where, hides_options=True)
    # Options that are to be scored by their own words are not shown beforehand.
    ppl_dialogue = without_options if ppl_target == "text" else dialogue
    several_right = None
    if not settings.is_faithful and found.has_several_right:
        several_right = said.several_right or "exact"
    notes += _matching_notes(said, layout, methods, several_right, is_faithful=settings.is_faithful)
    notes += list_shape_notes(source, said)
    shown = (dialogue, ppl_dialogue) if label_map is None else label_map.all
    _check_prompts(source, layout, found.filled, shown, faithful=settings.is_faithful)
    if "prob" in methods and not shows_options:
        raise _build_plan_error(
            "TABLE-007",
            "method 'prob' compares the options' labels, but the prompt does not show the options",
            "show them in the prompt ({option_list}), or use method ppl or gen",
            source,
        )
    pool, shot_source, found_shots = _shot_pool(
        source, said, found, settings, name, build_question_reader(without_options), find_split
    )
    if shot_source is not None and found_shots is not None:
        _check_prompts(shot_source, layout, found_shots.filled, shown, faithful=settings.is_faithful)
    sampling = Sampling(
        max_tokens=settings.max_tokens or said.max_tokens or model.max_tokens or DEFAULT_MAX_TOKENS,
        temperature=settings.temperature or 0.0,
        top_p=1.0 if settings.top_p is None else settings.top_p,
        stop=_stops(settings, said, layout, model.stop),
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
        build_shape_scorer(source, said),
        _gen_style(make, said, layout, where, shows_options) if several_right == "exact" else None,
        said.match or "stated",
        several_right,
    )
    rows = _rows(said, settings, found, source, name, notes)
    lengths = None
    if said.output_config is not None:
        lengths = AnswerLengths(said.output_config, len(rows), settings.seed, name, settings.is_faithful)
    recorded = _build_settings(said, layout, settings, prompting, pool) | build_shape_settings(source)
    spec = TaskSpec(
        name,
        "table",
        path,
        source.content_hash()
        if shot_source is None
        else f"{source.content_hash()}+{shot_source.content_hash()}",
        methods,
        len(rows),
        found.n_rows,
        recorded,
        find_differences(
            methods,
            layout.data_type,
            said,
            is_faithful=settings.is_faithful,
            has_shots=pool is not None,
            has_bare_text=settings.is_chat and not model.joins_turns and has_bare_text(said.template),
        ),
    )
    table = TableTask(spec, TableRows(source, layout, found.twins, rows, lengths), prompting, pool)
    return CompiledTable(table, found, pool, tuple(notes), said)


def _survey_all(source: Source, said: TableMeta, settings: TaskSettings) -> Survey:
    """Survey a table; where that fails, report first all rows that do not have the shape of the table."""
    try:
        return survey_table(
            source,
            said,
            faithful=settings.is_faithful,
            seed=settings.seed,
            is_scored=settings.is_scored,
        )
    except AuthorError:
        if isinstance(source, AdaptedSource):
            source.check()
        raise


def _gen_style(
    make: Callable[..., Dialogue], said: TableMeta, layout: Layout, where: Origin, shows_options: bool
) -> AnswerStyle:
    """Return how all of several right options are asked for; a person's own prompt stays as it is."""
    dialogue = make(said, layout, where, asks_for_all=shows_options)
    return AnswerStyle(dialogue, "label" if shows_options else "text", names_all=True)


def _matching_notes(
    said: TableMeta,
    layout: Layout,
    methods: tuple[str, ...],
    several_right: SeveralRight | None,
    *,
    is_faithful: bool,
) -> list[str]:
    """Say where a choice of what counts as right has no effect, or cannot be kept."""
    notes = []
    if said.match is not None and (is_faithful or layout.data_type != "qa"):
        why = "faithful runs compare to the letter" if is_faithful else f"this is a {layout.data_type} table"
        notes.append(f"match {said.match!r} is for free answers and has no effect: {why}")
    if said.several_right is not None and several_right is None:
        why = "faithful runs count any right option" if is_faithful else "no row has several right options"
        notes.append(f"several_right {said.several_right!r} has no effect: {why}")
    others = [method for method in methods if method != "gen"]
    if several_right == "exact" and others:
        notes.append(f"{listing(others)} can choose one option: any of several right options counts there")
    return notes


def _check_label_map(label_map: LabelMap, methods: tuple[str, ...], where: Origin, *, is_chat: bool) -> None:
    """Raise where prompts that each label has of its own cannot be compared."""
    others = [method for method in methods if method != "ppl"]
    if others:
        what = f"key 'template': a template for each label is for method ppl, not for {listing(others)}"
        fix = 'write "infer_method": "ppl" (or --method ppl), or one template for all labels'
        raise PlanError(Problem("TABLE-006", what, fix, where))
    if is_chat and not label_map.differs_in_reply:
        what = "key 'template': the labels' templates differ before the last turn, which a chat cannot score"
        fix = "write what differs into the last turn, with role BOT, or ask the model as text: --chat off"
        raise PlanError(Problem("TABLE-006", what, fix, where))


def _list_repeat_notes(settings: TaskSettings, methods: tuple[str, ...]) -> list[str]:
    """Say what becomes of several answers to a row."""
    n = settings.samples or 1
    if n == 1:
        return []
    if "gen" not in methods:
        return [f"{n} answers to each row were asked for, which has no effect on {listing(methods)}"]
    if not settings.temperature:
        return [f"every row is asked {n} times at temperature 0: all answers will be the same"]
    return []


def _open_table(path: str, asked: FileSettings, settings: TaskSettings) -> Source:
    """Open the file of a table, or of its examples, and check every row.

    What is not said about the file is inferred from it, but for a faithful run: the original infers nothing.
    """
    source = open_source(path, None if settings.is_faithful and not asked.given() else asked)
    source.check()
    return source


def _list_document_notes(source: Source) -> list[str]:
    """Say that a large document does not stream, as files of lines and columns do."""
    if not isinstance(source, JsonSource) or (size := Path(source.path).stat().st_size) < _LARGE_DOCUMENT:
        return []
    return [f"a .json document is read whole, {format_size(size)} of it; JSON lines (.jsonl) take no memory"]


def _check_media(source: Source, said: TableMeta) -> list[str]:
    """Raise where rows have media, which a table's prompt cannot show; note it beside an own prompt."""
    if not source.media_columns:
        return []
    column, medium = next(iter(source.media_columns.items()))
    what = f"the column holds {medium} files, which the prompt of a table cannot show"
    if said.template or said.human_prompt:
        return [f"{column}: {what}"]
    fix = (
        "write a config with a media template (docs/formats/openicl.md); to ask about the text alone, "
        "say so with a template, such as --template '{question}'"
    )
    raise PlanError(Problem("HUB-014", what, fix, Origin(source.path, column=column)))


def _text_task(
    path: str,
    name: str,
    source: Source,
    said: TableMeta,
    settings: TaskSettings,
    found: Survey,
    notes: list[str],
) -> TextTask:
    check_texts(path, said, settings)
    windows = build_windows(said)
    rows = _rows(said, settings, found, source, name, notes)
    recorded = {
        "said": said,
        "layout": found.layout,
        "form": "text",
        "windows": windows,
        "seed": settings.seed,
    }
    spec = TaskSpec(
        name,
        "table",
        path,
        source.content_hash(),
        ("ppl",),
        1 if is_joined(windows) else len(rows),
        found.n_rows,
        msgspec.json.decode(msgspec.json.encode(recorded)),
    )
    return TextTask(spec, TableRows(source, found.layout, found.twins, rows), windows)


def _list_ignored_settings(said: TableMeta, layout: Layout, settings: TaskSettings) -> list[str]:
    """Say what was asked for and has no effect: windows where there are none, a length that rows have."""
    notes = []
    given = [name for name in ("windows", "window_tokens", "stride") if getattr(said, name) is not None]
    if given:
        notes.append(f"{listing(given)} concern plain texts and have no effect on a {layout.data_type} table")
    if layout.length_column is not None and (settings.max_tokens or said.max_tokens):
        where = "'output_config'" if said.output_config else f"the column {layout.length_column!r}"
        notes.append(f"{where} says how long answers may be; max_tokens counts where a row says nothing")
    return notes


def _read_all_settings(
    path: str, said: TableMeta, meta_file: str | None, notes: list[str]
) -> tuple[TableMeta, Origin]:
    file = find_on_disk(Path(meta_file) if meta_file else meta_path(Path(path)))
    if not file.exists() and not file.is_symlink():
        if meta_file:
            raise AuthorError(
                Problem("TABLE-002", "there is no such meta file", "correct --meta", Origin(str(file)))
            )
        return said, Origin(path)
    in_file = read_meta(file, notes)
    has_prompt = in_file.template or in_file.human_prompt or in_file.bot_prompt
    is_overridden = said.template or (said.human_prompt and said.bot_prompt)
    where = Origin(str(file)) if has_prompt and not is_overridden else Origin(path)
    return said.over(in_file), where


def _methods(settings: TaskSettings, said: TableMeta, layout: Layout, source: Source) -> tuple[str, ...]:
    wanted = settings.methods or said.infer_method or ("gen",)
    methods = (wanted,) if isinstance(wanted, str) else tuple(dict.fromkeys(wanted))
    for method in methods:
        if method not in METHOD_KINDS:
            raise _build_plan_error(
                "TABLE-007", f"there is no method {method!r}", f"use some of {listing(METHOD_KINDS)}", source
            )
        if method != "gen" and layout.data_type == "qa":
            raise _build_plan_error(
                "TABLE-007",
                f"method {method!r} chooses between options, and this is a qa table without options",
                "use --method gen, or name the options in the meta file",
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
    """Find the rows that lack what a prompt shows, or on which a Jinja prompt fails.

    `filled`: columns that were found to have a value in every row, which need no look at the rows.
    The original leaves `{field}` as it is where a row lacks the field; it has no Jinja.
    """
    if all(isinstance(one, ChatDialogue) for one in dialogues):
        return  # Their rows were checked when they were read.
    problems = Problems()
    different = tuple(dict.fromkeys(dialogues))
    plain = () if faithful else tuple(dialogue for dialogue in different if dialogue.is_plain)
    braces = sorted({name for dialogue in plain for name in dialogue.fields})
    has_jinja = not all(dialogue.is_plain for dialogue in different)
    # Rows that were found to have options have a list of them; most have all else too, seen at a glance.
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
                seen = "is null" if has_field(values, name) else "is not there"
                problems.add(
                    Problem(
                        "TABLE-005",
                        f"the prompt shows {{{name}}}, which {seen} in this row",
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
            dialogue.opening(values, (), chat=False)
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
    said: TableMeta,
    found: Survey,
    settings: TaskSettings,
    name: str,
    question: Callable[[Sample], str],
    find_split: Callable[[str, str], str] | None,
) -> tuple[ShotPool | None, Source | None, Survey | None]:
    """Return the solved examples; those of another file with that file, and what a pass over it found."""
    if not settings.shots:
        return None, None, None
    other: Source | None = None
    pool_found: Survey | None = None
    layout, n_rows = found.layout, found.n_rows
    if settings.shots_from is None:
        samples = TableRows(source, layout, found.twins).samples()
    else:
        given = settings.shots_from
        if not is_address(given):
            given = str(find_on_disk(Path(given)))
        file = given if Path(given).exists() or find_split is None else find_split(source.path, given)
        other = _open_table(file, select_settings(file, said.file_settings), settings)
        # The examples are read as the dataset is, so that both answer in one form.
        form = layout.answer_form if layout.answer_form in ANSWER_FORMS else found.meta.answer_is
        pool_said = msgspec.structs.replace(found.meta, id_column=None, answer_is=form)
        pool_found = survey_table(other, pool_said, seed=settings.seed)
        n_rows = pool_found.n_rows
        pool_layout = msgspec.structs.replace(
            pool_found.layout,
            has_decimal_comma=other.has_decimal_comma,
            # Examples have the fields that the dataset's own prompt names.
            joins_question=layout.joins_question,
        )
        samples = TableRows(other, pool_layout, pool_found.twins).samples()
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
    # The row with the most twins decides: no row may be given fewer examples than the others in silence.
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
                f"{settings.shots} shots asked for, but only {spare:,} of {n_rows:,} rows can be examples "
                f"for every row: {_explain_left_out(pool, spare, n_rows, is_own=other is None)}",
                "ask for fewer shots, or name a larger file with --shots-from",
                Origin((other or source).path),
            )
        )
    return pool, other, pool_found


def _explain_left_out(pool: ShotPool, spare: int, n_rows: int, *, is_own: bool) -> str:
    """Say why rows cannot be examples for the row that has the fewest."""
    n_same = len(pool) - spare
    reasons = []
    if n_unanswered := n_rows - len(pool):
        reasons.append(f"{n_unanswered:,} have no answer")
    if is_own and n_same == 1:
        reasons.append("a row is never its own example")
    elif n_same:
        reasons.append(f"{n_same:,} show the same prompt as the row that is asked")
    return " and ".join(reasons) or "there are no more"


def _stops(
    settings: TaskSettings, said: TableMeta, layout: Layout, of_model: tuple[str, ...]
) -> tuple[str, ...]:
    if settings.stop is not None:
        return settings.stop
    own = _own_stops(settings, said, layout) if said.stop is None else said.stop
    return tuple(dict.fromkeys((*own, *of_model)))


def _own_stops(settings: TaskSettings, said: TableMeta, layout: Layout) -> tuple[str, ...]:
    # A chat model ends its turn; a model that goes on writing text must be stopped where the pattern
    # of the prompt would begin again. Faithful runs stop nowhere, as the original.
    if settings.is_chat or settings.is_faithful or said.uses_one_text:
        return ()
    if said.messages_column is not None:
        return CHAT_STOPS
    stops = [SHOT_SEPARATOR] if settings.shots else []
    if layout.data_type == "mcq" and not said.template and not said.human_prompt:
        stops.append("\nQuestion:")
    return tuple(stops)


_SLICE = re.compile(r"^\[?(-?\d*):(-?\d*)(?::(-?\d*))?\]?$")


def _rows(
    said: TableMeta, settings: TaskSettings, found: Survey, source: Source, name: str, notes: list[str]
) -> range | tuple[int, ...]:
    """Return which rows are asked, in order: of those in the range as many as are requested."""
    rows = _parse_range(said.test_range, found.n_rows, source)
    mode = said.sampling_mode or "default"
    chosen = select_rows(rows, said.request_count, mode, seed=settings.seed, task=name)
    if len(chosen) > len(rows):
        notes.append(
            f"{len(rows):,} rows are asked {len(chosen):,} times in all; the times of one row are one "
            "observation, and the interval is no narrower for them"
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
                f"key 'test_range': found {test_range!r}, expected a slice",
                'write for example "[0:100]"',
                Origin(source.path),
            )
        )
    bounds = [int(part) if part else None for part in match.groups()]
    return range(n_rows)[slice(*bounds)]


def _build_settings(
    said: TableMeta, layout: Layout, settings: TaskSettings, prompting: PromptSetup, pool: ShotPool | None
) -> dict[str, Any]:
    """Return everything that decides a prompt or a score, as it will be read back from the manifest."""
    recorded = {
        "said": msgspec.to_builtins(said),
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
        "prompt_hash": compute_prompt_version(said, layout),
    }
    if layout.data_type == "qa":
        recorded["match"] = prompting.match
    if prompting.several_right is not None:
        recorded["several_right"] = prompting.several_right
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(recorded))
    return plain
