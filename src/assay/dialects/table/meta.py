"""What a person may say about a table: in `<file>.meta.json`, in a config entry, or on the command line.

OpenCompass's nine documented fields and AISBench's three keep names and meanings; the others are Assay's own.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from assay.core.errors import AuthorError, Problem, Problems, format_allowed_values, suggest_name
from assay.core.origin import Origin
from assay.core.request import WindowScheme
from assay.core.sampling_bounds import Length
from assay.dialects.shared.request_selection import OutputConfig, Positive, SamplingMode
from assay.dialects.table.eval_task import EvalTask
from assay.sources.file_settings import FileSettings
from assay.sources.json_keys import require_unique_keys

DataType: TypeAlias = Literal["mcq", "qa", "text"]
AnswerIs: TypeAlias = Literal["label", "text", "index0", "index1", "boolean", "after_hashes", "boxed"]
PplTarget: TypeAlias = Literal["label", "text"]
PromptStyle: TypeAlias = Literal["opencompass", "aisbench"]
Match: TypeAlias = Literal["stated", "exact", "contains", "f1", "judge"]
SeveralRight: TypeAlias = Literal["exact", "any"]


class TableMeta(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Everything that can be said; None is not said."""

    abbr: str | None = None
    """The task's name. Default: the file's name up to its first dot."""
    data_type: DataType | None = None
    """`mcq` has options, `qa` a free answer, `text` nothing but a text."""
    infer_method: str | tuple[str, ...] | None = None
    """`ppl`, `prob`, `gen`, or several of them."""
    human_prompt: str | None = None
    """Template of the user's turn."""
    bot_prompt: str | None = None
    """Template of the model's turn, with the answer in it."""
    template: str | dict[str, Any] | None = None
    """One text, or `{"begin": [...], "round": [...]}` with roles; replaces the two prompts."""
    prompt_style: PromptStyle | None = None
    """Whose default prompt is used. `aisbench`: one text of the user's that ends in `Answer: `."""
    messages_column: str | None = None
    """The column that holds each row's conversation, a list of messages: the whole prompt."""
    eval_task: EvalTask | None = None
    """How an `eval.yaml` says the rows are asked and scored."""
    input_columns: tuple[str, ...] | None = None
    output_column: str | None = None
    context_columns: tuple[str, ...] | None = None
    """Texts that come before the question in the prompt, such as a passage."""
    options: tuple[str, ...] | str | None = None
    """The columns that hold the options, or one field that holds a list of them."""
    distractors: tuple[str, ...] | None = None
    """Columns of wrong options; the right one is in the answer's column. The seed shuffles them."""
    label_names: tuple[str, ...] | dict[str, str] | None = None
    """What the answer's values mean, the same options in every row: names from 0 on, or name by value."""
    shuffle_options: bool | None = None
    """Whether the seed shuffles the options of each row."""
    option_labels: tuple[str, ...] | str | None = None
    """The options' names when they are not A, B, C ...: a list, or the field that holds one."""
    answer_is: AnswerIs | None = None
    """How the answer names an option: by label, by its text, by index from 0 or from 1.

    Of a free answer: `boolean`, or the end of a solution (`after_hashes`, `boxed`).
    """
    no_answers: bool | None = None
    """Whether the table has no right answers, so that replies are kept and nothing is scored."""
    ppl_target: PplTarget | None = None
    """What `ppl` scores after the prompt: the option's label, or its text."""
    category_column: str | None = None
    """Scores are also given for each value of this column."""
    cluster_column: str | None = None
    """Rows that share a value here are not independent; the interval takes it into account."""
    id_column: str | None = None
    max_tokens: Length | None = None
    stop: tuple[str, ...] | None = None
    test_range: str | None = None
    """Rows to evaluate, as a Python slice: `[0:100]`."""
    windows: WindowScheme | None = None
    """How the perplexity of texts is measured; `classic` unless said."""
    window_tokens: Annotated[int, msgspec.Meta(ge=2)] | None = None
    """Tokens of a window. Default: as many as the model reads."""
    stride: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Tokens between the beginnings of `hf-stride` windows."""
    request_count: Positive | None = None
    """How many rows are asked: the first ones, or all and then again from the first one on."""
    sampling_mode: SamplingMode | None = None
    """Which rows are asked, and in which order."""
    output_config: OutputConfig | None = None
    """How long the answers may be, row by row."""
    match: Match | None = None
    """What makes a free answer right; `stated` unless said."""
    several_right: SeveralRight | None = None
    """Where rows have several right options: whether a generated answer must name exactly those (`exact`, the
    default) or any one of them."""
    sheet: str | None = None
    """Which table of the file: a sheet of a workbook, a list of a JSON document, a file of an archive."""
    has_header: bool | None = None
    """Whether the first row holds the column names."""
    header_row: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Line of a text file, or row of a sheet, that holds the column names."""
    columns: tuple[str, ...] | None = None
    """Column names of a file that has no header."""
    separator: str | None = None
    """What separates the columns: one character, or `tab`."""
    quotes: bool | None = None
    """Whether a value in double quotes may hold separators and line breaks."""
    encoding: str | None = None
    """Text encoding of the file, by the name that Python knows."""
    decimal_comma: bool | None = None
    """Whether a right answer such as `3,5` is the number 3.5."""

    @property
    def file_settings(self) -> FileSettings:
        """How the file is written, as far as it is said."""
        said = {name: getattr(self, name) for name in FileSettings.__struct_fields__}
        return FileSettings(**{**said, "separator": "\t" if self.separator == "tab" else self.separator})

    @property
    def uses_one_text(self) -> bool:
        """Whether the prompt is AISBench's default."""
        own = (self.template, self.human_prompt, self.bot_prompt)
        return self.prompt_style == "aisbench" and own == (None, None, None)

    def over(self, lower: TableMeta) -> TableMeta:
        """Return this, with what it leaves unsaid taken from a lower authority."""
        mine = {name: value for name, value in msgspec.structs.asdict(self).items() if value is not None}
        return msgspec.structs.replace(lower, **mine)


META_FIELDS = TableMeta.__struct_fields__
_SHOWN_CHARS = 200
"""As much of a wrong value is repeated."""
_NUMBERS_AS_TEXT = ("request_count", "output_config")
"""Keys in which a number may be written as a text, as AISBench allows."""
_EXPECTED = {
    "output_config": (
        '; expected {"method": "uniform", "params": {"min_value": 1, "max_value": 64}} or {"method": '
        '"percentage", "params": {"percentage_distribute": [[16, 0.5], [64, 0.5]]}}'
    )
}
"""Keys whose form takes more words than the names of values."""


def meta_path(data_path: Path) -> Path:
    """Return where a table's meta file lies: the whole file name with `.meta.json` behind it."""
    return data_path.with_name(data_path.name + ".meta.json")


def read_meta(path: Path, notes: list[str]) -> TableMeta:
    """Read a meta file; what was let pass is added to `notes`."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise AuthorError(
            Problem(
                "TABLE-002", f"byte {error.start} is not utf-8", "save the file as utf-8", Origin(str(path))
            )
        ) from error
    except OSError as error:
        raise AuthorError(_build_unreadable_problem(path, error)) from error
    require_unique_keys(text.encode(), Origin(str(path)))
    return to_meta(_parse(text, Origin(str(path)), notes), Origin(str(path)))


def _build_unreadable_problem(path: Path, error: OSError) -> Problem:
    what, fix = f"the meta file cannot be read: {error.strerror}", "check your rights to read it"
    if path.is_dir():
        what, fix = "this is a folder, not a meta file", "rename the folder, or put the settings into a file"
    elif path.is_symlink() and not path.exists():
        what = f"the meta file is a link to {os.readlink(path)!r}, which is not there"
        fix = "correct the link, or delete it"
    return Problem("TABLE-002", what, fix, Origin(str(path)))


def to_meta(said: dict[str, Any], where: Origin) -> TableMeta:
    """Check keys and types of what was said, all problems at once."""
    problems = Problems()
    for key in said:
        if key not in META_FIELDS:
            problems.add(
                Problem(
                    "TABLE-003",
                    f"unknown key {key!r}{suggest_name(key, META_FIELDS)}",
                    "correct the key, or delete it; docs/formats/table.md lists all keys",
                    where,
                )
            )
    kinds = {field.name: field.type for field in msgspec.structs.fields(TableMeta)}
    made = {}
    for key, value in said.items():
        if key in kinds:
            try:
                made[key] = msgspec.convert(value, kinds[key], strict=key not in _NUMBERS_AS_TEXT)
            except msgspec.ValidationError as error:
                problems.add(
                    Problem(
                        "TABLE-004",
                        f"key {key!r}: found {_format_beginning(value)}: {error}"
                        f"{format_allowed_values(kinds[key])}{_EXPECTED.get(key, '')}",
                        "correct the value",
                        where,
                    )
                )
    problems.raise_if_any()
    return TableMeta(**made)


def _format_beginning(value: Any) -> str:
    """Return a value as it is written, or its beginning where it is long."""
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}..."


_TRAILING_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,(\s*[}\]])', re.DOTALL)


def _parse(text: str, where: Origin, notes: list[str]) -> dict[str, Any]:
    try:
        said = msgspec.json.decode(text)
    except RecursionError:
        what = "found brackets within brackets, many hundreds deep; no setting needs more than a few"
        raise AuthorError(Problem("TABLE-002", what, "correct the file, or delete it", where)) from None
    except msgspec.DecodeError as error:
        # The seed document's own example ends its last entry with a comma.
        repaired = _TRAILING_COMMA.sub(lambda match: match[1] or match[2], text)
        try:
            said = msgspec.json.decode(repaired)
        except msgspec.DecodeError:
            raise AuthorError(
                Problem("TABLE-002", f"not valid JSON: {error}", "correct the file, or delete it", where)
            ) from error
        notes.append(f"{Path(where.path).name}: a comma after the last entry was let pass")
    if not isinstance(said, dict):
        raise AuthorError(
            Problem(
                "TABLE-002",
                f"found a JSON {type(said).__name__}, expected an object of settings",
                'write {"human_prompt": "...", ...}',
                where,
            )
        )
    return said
