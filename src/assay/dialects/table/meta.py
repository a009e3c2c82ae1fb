"""The settings of a table: from `<file>.meta.json`, a config entry or the command line.

The nine documented fields of OpenCompass and the three of AISBench keep their names and meanings. The other
fields are Assay's own.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from assay.core.errors import (
    AuthorError,
    PlanError,
    Problem,
    Problems,
    explain_type_error,
    format_allowed_values,
    listing,
    suggest_name,
)
from assay.core.method import Method
from assay.core.origin import Origin
from assay.core.request import WindowScheme
from assay.core.sampling_bounds import Length
from assay.core.setting_names import name_setting
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
    """All settings of a table; None means not set."""

    abbr: str | None = None
    """The task's name. Default: the file's name up to its first dot."""
    data_type: DataType | None = None
    """`mcq`: rows with options; `qa`: rows with free-form answers; `text`: plain texts."""
    infer_method: str | tuple[str, ...] | None = None
    """`ppl`, `prob`, `gen`, or several of these."""
    human_prompt: str | None = None
    """Template of the user turn."""
    bot_prompt: str | None = None
    """Template of the model turn, including the answer."""
    template: str | dict[str, Any] | None = None
    """One text, or `{"begin": [...], "round": [...]}` with roles; replaces the two prompts above."""
    prompt_style: PromptStyle | None = None
    """The default prompt to use. `aisbench`: a single user text that ends in `Answer: `."""
    messages_column: str | None = None
    """The column with each row's conversation, a list of messages. It is the whole prompt."""
    eval_task: EvalTask | None = None
    """The task of an `eval.yaml`: how to prompt and score the rows."""
    input_columns: tuple[str, ...] | None = None
    output_column: str | None = None
    context_columns: tuple[str, ...] | None = None
    """Columns of texts that precede the question in the prompt, such as a passage."""
    options: tuple[str, ...] | str | None = None
    """The option columns, or the field that lists all options."""
    distractors: tuple[str, ...] | None = None
    """Columns of wrong options; the answer column has the right one. The seed shuffles them."""
    label_names: tuple[str, ...] | dict[str, str] | None = None
    """Names of the answer values, which are the options of every row: a list counted from 0, or a mapping."""
    shuffle_options: bool | None = None
    """Whether the seed shuffles the options of each row."""
    option_labels: tuple[str, ...] | str | None = None
    """The option labels if they are not A, B, C ...: a list, or the field that contains one."""
    answer_is: AnswerIs | None = None
    """How the answer names an option: by label, by text, or by index counted from 0 or 1.

    For free-form answers: `boolean`, or the end of a solution (`after_hashes`, `boxed`).
    """
    no_answers: bool | None = None
    """Whether the table has no right answers, so that replies are saved without scoring them."""
    ppl_target: PplTarget | None = None
    """What `ppl` scores after the prompt: the option's label or its text."""
    category_column: str | None = None
    """Column of groups; each group also gets its own score."""
    cluster_column: str | None = None
    """Column of clusters. Rows of a cluster are not independent; the interval takes this into account."""
    id_column: str | None = None
    max_tokens: Length | None = None
    stop: tuple[str, ...] | None = None
    test_range: str | None = None
    """Rows to evaluate, as a Python slice: `[0:100]`."""
    windows: WindowScheme | None = None
    """The window scheme for the perplexity of texts. Default: `classic`."""
    window_tokens: Annotated[int, msgspec.Meta(ge=2)] | None = None
    """Tokens per window. Default: the model's context length."""
    stride: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Tokens between the starts of `hf-stride` windows."""
    request_count: Positive | None = None
    """Number of requests: the first rows, or all rows repeated from the first."""
    sampling_mode: SamplingMode | None = None
    """Which rows to use, and in which order."""
    output_config: OutputConfig | None = None
    """The maximum answer length of each row."""
    match: Match | None = None
    """When a free-form answer counts as right. Default: `stated`."""
    several_right: SeveralRight | None = None
    """For rows with several right options: whether a generated answer must name exactly these (`exact`, the
    default) or any one of them."""
    sheet: str | None = None
    """The table to read: a sheet of a workbook, a list of a JSON document, or a file of an archive."""
    has_header: bool | None = None
    """Whether the first row contains the column names."""
    header_row: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Line of a text file, or row of a sheet, with the column names."""
    columns: tuple[str, ...] | None = None
    """Column names of a file without a header."""
    separator: str | None = None
    """The column separator: one character, or `tab`."""
    quotes: bool | None = None
    """Whether a value in double quotes may contain separators and line breaks."""
    encoding: str | None = None
    """Text encoding of the file, by its Python name."""
    decimal_comma: bool | None = None
    """Whether a right answer such as `3,5` is the number 3.5."""

    @property
    def file_settings(self) -> FileSettings:
        """The settings for reading the file."""
        values = {name: getattr(self, name) for name in FileSettings.__struct_fields__}
        return FileSettings(**{**values, "separator": "\t" if self.separator == "tab" else self.separator})

    @property
    def uses_one_text(self) -> bool:
        """Whether the prompt is AISBench's default prompt."""
        own = (self.template, self.human_prompt, self.bot_prompt)
        return self.prompt_style == "aisbench" and own == (None, None, None)

    def merge_over(self, lower: TableMeta) -> TableMeta:
        """Return these settings, with unset ones taken from `lower`."""
        mine = {name: value for name, value in msgspec.structs.asdict(self).items() if value is not None}
        return msgspec.structs.replace(lower, **mine)


META_FIELDS = TableMeta.__struct_fields__
_SHOWN_CHARS = 200
"""Maximum characters of a wrong value in a message."""
_NUMBERS_AS_TEXT = ("request_count", "output_config")
"""Keys that accept a number as text, as AISBench does."""
_EXPECTED = {
    "output_config": (
        '; expected {"method": "uniform", "params": {"min_value": 1, "max_value": 64}} or {"method": '
        '"percentage", "params": {"percentage_distribute": [[16, 0.5], [64, 0.5]]}}'
    )
}
"""The expected form of keys with structured values."""


def read_methods(meta: TableMeta, path: str) -> tuple[Method, ...]:
    """Return the methods that a table's settings name, in order; PlanError for an unknown name."""
    names = (meta.infer_method,) if isinstance(meta.infer_method, str) else meta.infer_method or ()
    for name in names:
        if name not in tuple(Method):
            what, fix = f"there is no method {name!r}", f"use {listing(Method)}"
            raise PlanError(Problem("TABLE-007", what, fix, Origin(path)))
    return tuple(map(Method, names))


def build_unknown_column_problem(name: str, key: str, columns: Sequence[str], path: str) -> Problem:
    """Return the problem of a setting that names a column which the table does not have."""
    given = name_setting(key)
    what = f"there is no column {name!r} (named by {given}){suggest_name(name, columns)}; "
    what += f"the columns are {listing(columns)}"
    return Problem("TABLE-001", what, f"correct {given}, or rename the column", Origin(path))


def meta_path(data_path: Path) -> Path:
    """Return the path of a table's meta file: the full file name plus `.meta.json`."""
    return Path(f"{data_path}.meta.json")


def read_meta(path: Path, notes: list[str]) -> TableMeta:
    """Read a meta file. Add tolerated mistakes to `notes`."""
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
    what, fix = f"the meta file cannot be read: {error.strerror}", "check its permissions"
    if path.is_dir():
        what, fix = "this is a folder, not a meta file", "rename the folder, or use a file"
    elif path.is_symlink() and not path.exists():
        what = f"the meta file is a link to {os.readlink(path)!r}, which does not exist"
        fix = "correct the link, or delete it"
    return Problem("TABLE-002", what, fix, Origin(str(path)))


def to_meta(values: dict[str, Any], where: Origin | None = None) -> TableMeta:
    """Check keys and types of settings and return them; raise all problems at once.

    `where`: the file that contains them; None: messages name what the person wrote.
    """
    name = name_setting if where is None else repr
    problems = Problems()
    for key in values:
        if key not in META_FIELDS:
            problems.add(
                Problem(
                    "TABLE-003",
                    f"unknown key {name(key)}{suggest_name(key, META_FIELDS)}",
                    "correct the key, or delete it; docs/formats/table.md lists all keys",
                    where,
                )
            )
    kinds = {field.name: field.type for field in msgspec.structs.fields(TableMeta)}
    converted = {}
    for key, value in values.items():
        if key in kinds:
            try:
                converted[key] = msgspec.convert(value, kinds[key], strict=key not in _NUMBERS_AS_TEXT)
            except msgspec.ValidationError as error:
                problems.add(
                    Problem(
                        "TABLE-004",
                        f"key {name(key)}: found {_format_beginning(value)}: {explain_type_error(error)}"
                        f"{format_allowed_values(kinds[key])}{_EXPECTED.get(key, '')}",
                        "correct the value",
                        where,
                    )
                )
    problems.raise_if_any()
    return TableMeta(**converted)


def _format_beginning(value: Any) -> str:
    """Return a value as Python writes it, shortened if it is long."""
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}..."


_TRAILING_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,(\s*[}\]])', re.DOTALL)


def _parse(text: str, where: Origin, notes: list[str]) -> dict[str, Any]:
    try:
        values = msgspec.json.decode(text)
    except RecursionError:
        what = "the brackets are nested many hundred levels deep; settings need only a few levels"
        raise AuthorError(Problem("TABLE-002", what, "correct the file, or delete it", where)) from None
    except msgspec.DecodeError as error:
        # The example in OpenCompass's documentation has a comma after its last entry.
        repaired = _TRAILING_COMMA.sub(lambda match: match[1] or match[2], text)
        try:
            values = msgspec.json.decode(repaired)
        except msgspec.DecodeError:
            raise AuthorError(
                Problem("TABLE-002", f"not valid JSON: {error}", "correct the file, or delete it", where)
            ) from error
        notes.append(f"{Path(where.path).name}: ignored a comma after the last entry")
    if not isinstance(values, dict):
        raise AuthorError(
            Problem(
                "TABLE-002",
                f"found a JSON {type(values).__name__}, expected an object of settings",
                'write {"human_prompt": "...", ...}',
                where,
            )
        )
    return values
