"""Tables of promptfoo tests: csv with `__expected` columns; json, jsonl or yaml with `vars` and `assert`.

A row passes if all its assertions pass, or if their weighted share reaches the row's threshold. The prompt is
in promptfoo's config, not in the tests: a single variable is the prompt, several need `--human-prompt`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from assay.core.assertion import ASSERTIONS, format_assertion, iter_rubrics
from assay.core.errors import AuthorError, Problem, listing
from assay.core.origin import Origin
from assay.dialects.table.assertions import (
    BadAssertion,
    check_pattern,
    fill_assertion,
    find_variables,
    read_assertion_cell,
    read_assertion_object,
)
from assay.dialects.table.meta import TableMeta
from assay.dialects.table.readings import AmbiguousTableError, TableReading
from assay.dialects.table.row_adapters import AdaptedSource, RowProblem
from assay.sources.record import Record
from assay.sources.source import Source

EXPECTED = "__expected"
THRESHOLD = "__threshold"
METRIC = "__metric"
PREFIX, SUFFIX = "__prefix", "__suffix"
_EXPECTED_COLUMN = re.compile(r"__expected\d*")
_SPECIAL = re.compile(r"__(expected\d*|description|prefix|suffix|metric|threshold|metadata(:.*)?|config:.*)")
_CONFIG = re.compile(r"__config:__expected\d*:(?P<key>.*)")
_TEST_KEYS = frozenset({"vars", "assert", "description", "threshold", "metadata"})
_QUESTIONS = frozenset({"question", "query", "input", "prompt", "problem", "instruction", "text"})
_IDS = frozenset({"id", "idx", "index", "row_id"})
_CONTEXTS = frozenset({"context", "passage", "document", "documents", "article"})


class _Test(NamedTuple):
    """One test as written, before its assertions are filled."""

    variables: dict[str, Any]
    others: dict[str, Any]
    assertions: list[dict[str, Any]]
    threshold: float | None


def find_variable_columns(columns: Iterable[str]) -> tuple[str, ...]:
    """Return the columns of a promptfoo csv that are prompt variables."""
    return tuple(name for name in columns if not _SPECIAL.fullmatch(name))


def read_promptfoo(
    source: Source, meta: TableMeta, sample: Sequence[dict[str, Any]], notes: list[str]
) -> tuple[Source, TableMeta] | None:
    """Return promptfoo tests as rows with a prompt and assertions; None for other tables.

    The second value is the settings, completed by what the tests imply.
    """
    columns = source.columns
    is_csv = any(map(_EXPECTED_COLUMN.fullmatch, columns))
    if not is_csv and not _is_test_table(columns, sample):
        return None
    if meta.output_column is not None:
        return None
    if is_csv:
        _check_columns(source)
    reader = _TestReader(source, is_csv=is_csv)
    variables = find_variable_columns(columns) if is_csv else _variables(sample)
    special = [name for name in (PREFIX, SUFFIX) if name in columns]
    others = columns if is_csv else [name for name in ("description", "metadata") if name in columns]
    shown = tuple(dict.fromkeys((*variables, *others, EXPECTED)))
    shaped = PromptfooSource(source, shown, reader)
    variables = tuple(name for name in variables if name.lower() not in _IDS) or variables
    implied = TableMeta(data_type="qa", output_column=EXPECTED)
    if meta.input_columns is None and not (meta.human_prompt or meta.template):
        if len(variables) > 1:
            shaped.check()
        # A variable that only assertions use is an answer, not part of the prompt.
        inputs = _inputs(source, [name for name in variables if name not in reader.named] or list(variables))
        implied = msgspec.structs.replace(
            implied, input_columns=inputs, human_prompt=_format_default_prompt(inputs)
        )
    return shaped, _add_affixes(meta.merge_over(implied), special, source)


class PromptfooSource(AdaptedSource):
    """The rows of promptfoo tests. After a full pass it knows what their assertions need."""

    def __init__(self, source: Source, columns: tuple[str, ...], reader: _TestReader) -> None:
        super().__init__(source, columns, reader.read)
        self._reader = reader

    def _finish(self) -> None:
        self._reader.is_checked = True

    def list_row_notes(self) -> list[str]:
        """Return notes on when a row passes, and on unused parts."""
        share = ", or if their share reaches the row's threshold" if self._reader.has_threshold else ""
        notes = [f"promptfoo tests: a row passes if all its assertions pass{share}"]
        if self._reader.has_provider:
            notes.append("the 'provider' of an assertion has no effect; set the judge with --judge")
        return notes

    @property
    def needs_judge(self) -> bool:
        """Whether any assertion needs a judge."""
        return self._reader.needs_judge


def _is_test_table(columns: Sequence[str], sample: Sequence[Mapping[str, Any]]) -> bool:
    return (
        "vars" in columns
        and any(isinstance(one.get("assert"), list) for one in sample)
        and all(isinstance(one.get("vars"), Mapping) for one in sample)
    )


def _variables(sample: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for one in sample for name in one["vars"]))


def _check_columns(source: Source) -> None:
    for name in source.columns:
        if (match := _CONFIG.fullmatch(name)) and match["key"] != "threshold":
            what = f"the column {name!r} sets {match['key']!r}; promptfoo supports only 'threshold' there"
            raise AuthorError(Problem("TABLE-033", what, "correct or delete the column", Origin(source.path)))


def _inputs(source: Source, candidates: Sequence[str]) -> tuple[str, ...]:
    """Return the variables that form the prompt, contexts before the question."""
    questions = [name for name in candidates if name.lower() in _QUESTIONS]
    contexts = [name for name in candidates if name.lower() in _CONTEXTS]
    if len(candidates) == 1:
        return (candidates[0],)
    if len(questions) == 1 and len(contexts) == len(candidates) - 1:
        return (*contexts, *questions)
    if not candidates:
        what = "the tests have no variables, so there is no prompt"
        fix = "add a column with the prompt, or give the prompt with --human-prompt"
        raise AuthorError(Problem("TABLE-034", what, fix, Origin(source.path)))
    what = (
        f"the tests have the variables {listing(candidates)}; the prompt that uses them is in promptfoo's "
        "config, not in this file"
    )
    readings = [
        TableReading("all variables, one after the other", TableMeta(human_prompt=_one_line(candidates))),
        *(
            TableReading(f"{name!r} alone", TableMeta(human_prompt=_one_line([name])))
            for name in candidates[:2]
        ),
    ]
    raise AmbiguousTableError(source.path, what, readings, code="TABLE-034")


def _one_line(names: Sequence[str]) -> str:
    return " ".join(f"{{{name}}}" for name in names)


def _format_default_prompt(inputs: Sequence[str]) -> str:
    return "\n\n".join(f"{{{name}}}" for name in inputs)


def _add_affixes(meta: TableMeta, special: Sequence[str], source: Source) -> TableMeta:
    """Return the settings with the rows' prefix and suffix added to the prompt."""
    if not special:
        return meta
    key = "template" if meta.template is not None else "human_prompt"
    prompt = getattr(meta, key)
    if not isinstance(prompt, str):
        what = f"the columns {listing(special)} need a prompt of one text, but the template has several turns"
        fix = "write the prompt as one text, or delete the columns"
        raise AuthorError(Problem("TABLE-034", what, fix, Origin(source.path)))
    hole = "{{{{ {} }}}}" if "{{" in prompt or "{%" in prompt else "{{{}}}"
    before = hole.format(PREFIX) if PREFIX in special else ""
    after = hole.format(SUFFIX) if SUFFIX in special else ""
    changed: TableMeta = msgspec.structs.replace(meta, **{key: f"{before}{prompt}{after}"})
    return changed


class _TestReader:
    """Reads tests, and records what their assertions need."""

    def __init__(self, source: Source, *, is_csv: bool) -> None:
        self._is_csv = is_csv
        self._expected = [name for name in source.columns if _EXPECTED_COLUMN.fullmatch(name)]
        self._special = frozenset(filter(_SPECIAL.fullmatch, source.columns))
        self._affixes = [name for name in (PREFIX, SUFFIX) if name in source.columns]
        self.is_checked = False
        """Whether all rows have been read once."""
        self.named: set[str] = set()
        """Variables that assertions use."""
        self.needs_judge = False
        self.has_threshold = False
        self.has_provider = False

    def read(self, record: Record) -> dict[str, Any]:
        """Return a test's fields: its variables, its assertions, and a description of the assertions."""
        test = self._read_cells(record) if self._is_csv else self._read_object(record)
        place = EXPECTED if self._is_csv else "assert"
        assertions = [
            _run_for_row(record, place, fill_assertion, one, test.variables) for one in test.assertions
        ]
        if not self.is_checked:
            self._note(test)
            for one in assertions:
                _run_for_row(record, place, check_pattern, one)
        kept: dict[str, Any] = {"assert": assertions}
        if test.threshold is not None:
            kept["threshold"] = test.threshold
        return {
            **test.others,
            **test.variables,
            EXPECTED: [format_assertion(one) for one in assertions],
            ASSERTIONS: kept,
        }

    def _note(self, test: _Test) -> None:
        for assertion in test.assertions:
            self.named |= find_variables(assertion)
        self.needs_judge = self.needs_judge or any(True for _ in iter_rubrics(test.assertions))
        self.has_threshold = self.has_threshold or test.threshold is not None

    def _read_cells(self, record: Record) -> _Test:
        fields = record.fields
        metric = fields.get(METRIC)
        assertions = []
        for name in self._expected:
            cell = fields.get(name)
            for one in cell if isinstance(cell, list) else (cell,):
                if one is None or not str(one).strip():
                    continue
                is_cell = type(one) is str or not isinstance(one, Mapping)
                read, written = (read_assertion_cell, str(one)) if is_cell else (read_assertion_object, one)
                assertion = _run_for_row(record, name, read, written)
                assertions.append({**assertion, "metric": metric} if metric else assertion)
        special: dict[str, Any] = {}
        variables: dict[str, Any] = {}
        for name, value in fields.items():
            (special if name in self._special else variables)[name] = value
        for affix in self._affixes:
            if isinstance(text := special.get(affix), str) and "{{" in text:
                rendered = _run_for_row(
                    record, affix, fill_assertion, {"type": "equals", "value": text}, variables
                )
                special[affix] = rendered["value"]
        return _Test(variables, special, assertions, _threshold(record, fields.get(THRESHOLD), THRESHOLD))

    def _read_object(self, record: Record) -> _Test:
        fields = record.fields
        for key, value in fields.items():
            if key not in _TEST_KEYS and value not in (None, {}, []):
                raise _problem(record, key, f"the test has {key!r}, which is not supported", "remove the key")
        variables = fields.get("vars")
        if not isinstance(variables, Mapping):
            raise _problem(record, "vars", f"'vars' is {variables!r:.60}, expected an object", "correct it")
        for name, value in variables.items():
            if isinstance(value, list):
                what = f"the variable {name!r} has several values, which promptfoo expands to several tests"
                raise _problem(record, "vars", what, "write one test per value")
            if isinstance(value, str) and value.startswith("file://"):
                what = f"the variable {name!r} is in the file {value!r}"
                raise _problem(record, "vars", what, "copy the text into the test")
        written = fields.get("assert") or []
        if not isinstance(written, list):
            raise _problem(record, "assert", f"'assert' is {written!r:.60}, expected a list", "correct it")
        self.has_provider = self.has_provider or any(
            isinstance(one, Mapping) and one.get("provider") is not None for one in written
        )
        assertions = [_run_for_row(record, "assert", read_assertion_object, one) for one in written]
        others = {key: fields[key] for key in ("description", "metadata") if fields.get(key) is not None}
        threshold = _threshold(record, fields.get("threshold"), "threshold")
        return _Test(dict(variables), others, assertions, threshold)


def _run_for_row(record: Record, column: str, make: Any, *args: Any) -> dict[str, Any]:
    """Return the result of a call; convert a BadAssertion to a RowProblem."""
    try:
        made: dict[str, Any] = make(*args)
    except BadAssertion as trouble:
        fix = "use a supported assertion, or delete the test; docs/guides/table-shapes.md lists them"
        raise _problem(record, column, str(trouble), fix) from None
    return made


def _threshold(record: Record, value: Any, column: str) -> float | None:
    if value in (None, ""):
        return None
    try:
        if isinstance(value, bool):
            raise ValueError
        return float(value)
    except (TypeError, ValueError):
        raise _problem(record, column, f"found {value!r:.60}, expected a number", "correct it") from None


def _problem(record: Record, column: str, what: str, fix: str) -> RowProblem:
    return RowProblem(Problem("TABLE-033", what, fix, record.origin.at(column)))
