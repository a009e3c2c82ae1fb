"""Conversion of config dicts to checked entries, with all problems raised together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from assay.core.errors import Problem, Problems, explain_type_error, listing, suggest_name
from assay.core.origin import Origin
from assay.dialects.openicl.config.entry import (
    Component,
    DatasetEntry,
    Entry,
    EvalConfig,
    InferConfig,
    ReaderConfig,
    TableEntry,
    is_code_reference,
)
from assay.dialects.openicl.config.lists import DatasetList
from assay.dialects.openicl.config.loading import LoadedConfig

_OWN_KEYS = ("type", "abbr", "reader_cfg", "infer_cfg", "eval_cfg", "n", "k", "judge_infer_cfg")
_IGNORED_KEYS = {
    "infer_cfg": ("max_out_len",),
    "eval_cfg": ("model_postprocessor", "sc_size", "analyze_contamination", "ds_split", "ds_column", "k"),
}
"""Keys of shipped configs that the originals do not read (any more)."""


class CheckedEntry(NamedTuple):
    """A checked entry with its origin."""

    entry: Entry
    where: Origin
    written: dict[str, Any]
    """The entry as written in the config."""


def check_entries(
    config: LoadedConfig, lists: Sequence[DatasetList], same_names: list[Problem] | None = None
) -> list[CheckedEntry]:
    """Return the entries of some lists of a config, or raise all their problems.

    An entry that occurs in two lists counts once, because configs combine lists. With `same_names`, entries
    that share a name are all returned, and the problem is added to that list, so that other problems are also
    found.
    """
    problems = Problems()
    entries: list[CheckedEntry] = []
    first_of: dict[str, tuple[str, dict[str, Any]]] = {}
    for variable, written in lists:
        for index, entry in enumerate(written):
            place = f"{variable}[{index}]"
            where = Origin(f"{config.path} {place}")
            check = _EntryCheck(entry, where, problems)
            checked = check.entry()
            if checked is None:
                continue
            first, seen = first_of.setdefault(checked.name, (place, entry))
            if first == place:
                entries.append(CheckedEntry(checked, where, entry))
            elif seen != entry:
                what = f"the name {checked.name!r} is already used by {first}, which is another dataset"
                fix = "give each entry a unique abbr, or choose one of the lists by its suffix"
                if same_names is None:
                    check.problem(what, fix, code="OPENICL-010")
                else:
                    same_names.append(Problem("OPENICL-010", what, fix, where))
                    entries.append(CheckedEntry(checked, where, entry))
    problems.raise_if_any()
    return entries


class _EntryCheck:
    """Checks one entry."""

    def __init__(self, entry: dict[str, Any], where: Origin, problems: Problems) -> None:
        self._entry = entry
        self._where = where
        self._problems = problems

    def problem(self, what: str, fix: str, *, code: str = "OPENICL-009") -> None:
        """Add a problem of the entry."""
        self._problems.add(Problem(code, what, fix, self._where))

    def entry(self) -> Entry | None:
        """Return the entry, or add its problems and return None."""
        before = self._problems.total
        entry = self._entry
        abbr = self._abbr()
        if "type" not in entry and "infer_cfg" not in entry:
            return self._table(abbr)
        kind = self._type(entry, "the entry")
        reader = self._section("reader_cfg", self._reader)
        infer = self._section("infer_cfg", self._infer)
        evaluation = self._section("eval_cfg", self._eval) if entry.get("eval_cfg") is not None else None
        n, k = self._repeats()
        judge = self._judge()
        if reader is None or infer is None or self._problems.total > before:
            return None
        rest = {key: value for key, value in entry.items() if key not in _OWN_KEYS}
        return DatasetEntry(abbr, kind, reader, infer, evaluation, rest, n, k, judge)

    def _abbr(self) -> str:
        """Return the entry's abbr, or else path and name joined as in OpenCompass."""
        given, path, name = (self._entry.get(key) for key in ("abbr", "path", "name"))
        if isinstance(given, str) and given:
            return given
        if given is not None:
            self.problem(f"abbr is {given!r:.60}, expected a text", "write abbr='NAME'")
        elif isinstance(path, str):
            return (f"{path}_{name}" if name else path).replace("/", "_")
        else:
            self.problem("the dataset has neither an abbr nor a path to name it", "write abbr='NAME'")
        return ""

    def _table(self, abbr: str) -> TableEntry | None:
        path = self._entry.get("path")
        if not isinstance(path, str):
            what = "there is no 'type' and no 'path'"
            self.problem(what, "write type=CLASS, or path='FILE' for a table")
            return None
        if not abbr:
            return None
        if self._entry.get("abbr") is None:
            # The name of a table is its file name up to the first dot.
            abbr = path.rpartition("/")[2].partition(".")[0] or abbr
        given = {key: value for key, value in self._entry.items() if key not in ("abbr", "path")}
        return TableEntry(abbr, path, given)

    def _section(self, name: str, read: Callable[[dict[str, Any]], Any]) -> Any:
        value = self._entry.get(name)
        if isinstance(value, dict):
            return read(value)
        if value is None:
            others = [key for key in self._entry if key not in _OWN_KEYS]
            self.problem(f"there is no {name!r}{suggest_name(name, others)}", f"write {name}=dict(...)")
        else:
            is_comma = isinstance(value, tuple) and len(value) == 1
            why = "; a comma after the dict makes it a tuple" if is_comma else ""
            self.problem(
                f"{name} is {_describe_value(value)}, expected a dict{why}", f"write {name}=dict(...)"
            )
        return None

    def _reader(self, written: dict[str, Any]) -> ReaderConfig | None:
        self._note_unknown_keys(written, "reader_cfg", ReaderConfig.__struct_fields__)
        given = {key: value for key, value in written.items() if key in ReaderConfig.__struct_fields__}
        if isinstance(given.get("input_columns"), str):
            given["input_columns"] = given["input_columns"].split()
        try:
            return msgspec.convert(given, ReaderConfig)
        except msgspec.ValidationError:
            self._note_reader_problems(given)
            return None

    def _infer(self, given: dict[str, Any]) -> InferConfig | None:
        names = ("prompt_template", "ice_template", "retriever", "inferencer")
        dead = self._note_unknown_keys(given, "infer_cfg", names)
        parts = self._components(given, "infer_cfg", names, required=("retriever", "inferencer"))
        if "prompt_template" not in given and "ice_template" not in given:
            self.problem(
                "infer_cfg has neither a prompt_template nor an ice_template",
                "write prompt_template=dict(type=PromptTemplate, template=...)",
            )
        return None if parts is None else InferConfig(**parts, without_effect=dead)

    def _eval(self, given: dict[str, Any]) -> EvalConfig | None:
        names = ("evaluator", "pred_postprocessor", "dataset_postprocessor")
        dead = self._note_unknown_keys(given, "eval_cfg", (*names, "pred_role", "num_gpus"))
        parts = self._components(given, "eval_cfg", names, required=("evaluator",))
        role, gpus = given.get("pred_role"), given.get("num_gpus")
        if not isinstance(role, str | None):
            self.problem(
                f"eval_cfg.pred_role is {_describe_value(role)}, expected a text", "write pred_role='BOT'"
            )
        if not isinstance(gpus, int | None):
            self.problem(
                f"eval_cfg.num_gpus is {_describe_value(gpus)}, expected a whole number", "write num_gpus=1"
            )
        if parts is None:
            return None
        return EvalConfig(**parts, pred_role=role, num_gpus=gpus, without_effect=dead)

    def _repeats(self) -> tuple[int, tuple[int, ...]]:
        """Return `n` and `k`; a single `k` is a list of one."""
        n, given = self._entry.get("n", 1), self._entry.get("k", 1)
        k = tuple(given) if isinstance(given, list | tuple) else (given,)
        for name, value, every in (("n", n, (n,)), ("k", given, k)):
            if not every or not all(type(one) is int and one >= 1 for one in every):
                self.problem(f"{name} is {value!r:.60}, expected a whole number above 0", f"write {name}=4")
                return 1, (1,)
        if max(k) > n:
            what = f"k is {given!r}, but there are only {n} answers per row"
            self.problem(what, f"write n={max(k)}, or a smaller k")
        return n, k

    def _judge(self) -> dict[str, Any] | None:
        judge: dict[str, Any] | None = self._entry.get("judge_infer_cfg")
        if judge is None:
            return None
        model = judge.get("judge_model") if isinstance(judge, dict) else None
        if not isinstance(model, dict):
            what = f"judge_infer_cfg is {_describe_value(judge)}, expected a dict with a dict 'judge_model'"
            self.problem(what, "write judge_infer_cfg=dict(judge_model=dict(...), ...)")
            return None
        return judge

    def _components(
        self, given: Mapping[str, Any], of: str, names: Sequence[str], *, required: Sequence[str]
    ) -> dict[str, Component] | None:
        found: dict[str, Component] = {}
        is_whole = True
        for name in names:
            value = given.get(name)
            if value is None and name not in required:
                continue
            if isinstance(value, dict):
                kind = self._type(value, f"{of}.{name}")
                rest = {key: one for key, one in value.items() if key != "type"}
                found[name] = Component(kind, rest)
            else:
                missing = (
                    f"{of} has no {name!r}{suggest_name(name, [key for key in given if key not in names])}"
                )
                wrong = f"{of}.{name} is {_describe_value(value)}, expected a dict with a 'type'"
                self.problem(missing if value is None else wrong, f"write {name}=dict(type=...)")
                is_whole = False
        return found if is_whole else None

    def _type(self, given: Mapping[str, Any], of: str) -> Any:
        kind = given.get("type")
        if kind is None:
            self.problem(f"{of} has no 'type'", "write type=CLASS")
        elif not is_code_reference(kind):
            self.problem(
                f"the type of {of} is {_describe_value(kind)}, expected a class or its name",
                "write type=CLASS",
            )
        return kind

    def _note_unknown_keys(self, given: Mapping[str, Any], of: str, known: Sequence[str]) -> tuple[str, ...]:
        """Add problems for unknown keys; return the keys without effect."""
        dead = _IGNORED_KEYS.get(of, ())
        for key in given:
            if key not in known and key not in dead:
                what = f"{of} has the unknown key {key!r}{suggest_name(str(key), known)}"
                self.problem(what, f"supported: {listing(known)}")
        return tuple(key for key in given if key in dead)

    def _note_reader_problems(self, given: Mapping[str, Any]) -> None:
        """Add a problem for each value of the wrong type."""
        for field in msgspec.structs.fields(ReaderConfig):
            of = f"reader_cfg.{field.name}"
            if field.name not in given:
                if field.required:
                    others = [key for key in self._entry["reader_cfg"] if key not in given]
                    what = f"reader_cfg has no {field.name!r}{suggest_name(field.name, others)}"
                    self.problem(what, f"write {field.name}=...")
                continue
            try:
                msgspec.convert(given[field.name], field.type)
            except msgspec.ValidationError as error:
                self.problem(
                    f"{of} is {given[field.name]!r:.60}: {explain_type_error(error)}", "correct the value"
                )


def _describe_value(value: object) -> str:
    return f"a {type(value).__name__} ({value!r:.60})"
