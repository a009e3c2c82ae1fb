"""Rows for a task of lm-eval, made by trying: a column is added or retyped until the original takes them.

Runs in the original's environment. Nothing here knows a dataset: the columns come from the original's own
errors, their types from names, and from the statement or template in which a value did not fit.
"""

from __future__ import annotations

import ast
import copy
import linecache
import random
import re
import string
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Schema = dict[str, Any]
"""The kind of each column; a dict is the schema of a nested one."""
Rows = dict[str, list[dict[str, Any]]]

MAX_TRIES = 60
MAX_TRIES_TO_SCORE = 15
_PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9"
    "awAAAABJRU5ErkJggg=="
)
_WORDS = (
    *("river", "stone", "copper", "window", "garden", "paper", "silver", "engine", "winter", "bridge"),
    *("letter", "market", "orange", "travel", "music", "island", "doctor", "number", "planet", "forest"),
    *("kitchen", "mirror", "cotton", "harbor", "ticket", "signal"),
)
_KINDS = ("text", "number", "letter", "options", "option", "digit", "labelled", "numbers", "blank", "truth")
_LATER_KINDS = (
    "five",
    "spans",
    "decimal",
    "written_list",
    "records",
    "lists",
    "nothing",
    "yes_no",
    "code",
    "json",
)
_NUMBER_NAMES = re.compile(
    r"label|gold|idx|index|correct|num_|_id$|^id$|answer_number|cop$|class|score|year|target_id|length|count"
)
_LIST_NAMES = re.compile(
    r"choices|options|endings|candidates|answers|targets|outputs|references|list|aliases|tests|evidence"
)
_LETTER_NAMES = re.compile(r"answerkey|^answer$|^target$|correct_answer|solution|gold_letter")


class MadeRows:
    """Finds rows that a trial accepts."""

    def __init__(self) -> None:
        self._accepted: dict[Any, Schema] = {}

    def find(
        self,
        family: Any,
        splits: Mapping[str, int],
        columns: Sequence[str],
        constants: Sequence[str],
        trial: Callable[[Rows], tuple[Any, BaseException | None]],
        seed: str,
    ) -> tuple[Rows, Any]:
        """Return accepted rows and what the trial returned; raise the last error if none are accepted.

        `family`: tasks of one family probably have the same columns. `columns`: those that the task names.
        `constants`: values that the task's file compares with.
        A trial raises if the rows cannot be asked, and returns an error if they cannot be scored.
        """
        schema: Schema = copy.deepcopy(self._accepted.get(family, {}))
        for name in columns:
            schema.setdefault(name, _candidates(name)[0])
        tried: dict[str, list[Any]] = {}
        best: tuple[Rows, Any] | None = None
        error: BaseException | None = None
        after_best = 0
        for _ in range(MAX_TRIES):
            rows = make_rows(schema, splits, seed)
            try:
                result, error = trial(rows)
            except Exception as raised:  # noqa: BLE001 (authors' code may raise anything)
                error = raised
            else:
                best = (rows, result)
                self._accepted[family] = copy.deepcopy(schema)
                if error is None or isinstance(error, OSError | ImportError):
                    break  # Other rows do not install a package.
            after_best += best is not None
            if after_best > MAX_TRIES_TO_SCORE or not _correct(schema, error, tried, constants):
                break
        if best is None:
            assert error is not None
            raise error
        return best


def make_rows(schema: Schema, splits: Mapping[str, int], seed: str) -> Rows:
    """Return rows of every split; the same each time."""
    return {
        split: [_make_row(schema, random.Random(f"{seed}:{split}:{number}"), number) for number in range(n)]
        for split, n in splits.items()
    }


def _make_row(schema: Schema, rng: random.Random, number: int) -> dict[str, Any]:
    options = [_phrase(rng) for _ in range(4)]
    gold = rng.randrange(4)
    row = {name: _make_value(kind, rng, options, gold) for name, kind in schema.items()}
    return row or {"unused": number}


def _phrase(rng: random.Random) -> str:
    return " ".join(rng.choice(_WORDS) for _ in range(rng.randint(1, 3)))


def _make_text(rng: random.Random) -> str:
    text = " ".join(rng.choice(_WORDS) for _ in range(rng.randint(4, 12))).capitalize()
    return text + rng.choice((".", "?", ".", "?", ". Né à Zürich, 東京.", "! ", ".\nIt is.", ""))


def _make_value(kind: Any, rng: random.Random, options: list[str], gold: int) -> Any:
    if isinstance(kind, dict):
        return {name: _make_value(one, rng, options, gold) for name, one in kind.items()} or {"unused": 0}
    if isinstance(kind, tuple) and kind[0] == "one_of":
        return rng.choice(kind[1])
    if isinstance(kind, tuple):
        return [_make_value(kind[1], rng, options, gold) for _ in range(2)]
    letters = list(string.ascii_uppercase[: len(options)])
    values: dict[str, Callable[[], Any]] = {
        "text": lambda: _make_text(rng),
        "number": lambda: rng.randrange(2),
        "letter": lambda: letters[gold],
        "options": lambda: list(options),
        "five": lambda: {"text": [*options, _phrase(rng)], "label": [*letters, "E"]},
        "option": lambda: options[gold],
        "digit": lambda: str(rng.randrange(1, 3)),
        "labelled": lambda: {"text": list(options), "label": letters},
        "numbers": lambda: [int(at == gold) for at in range(len(options))],
        "truth": lambda: bool(rng.randrange(2)),
        "decimal": lambda: rng.random(),
        "spans": lambda: {"text": [options[gold], options[0]], "answer_start": [0, 0]},
        "written_list": lambda: repr(options),
        "records": lambda: [{"text": one, "label": at} for at, one in enumerate(options)],
        "lists": lambda: [list(options), list(options)],
        "nothing": lambda: "",
        "yes_no": lambda: rng.choice(("yes", "no")),
        "code": lambda: "def f(x):\n    return x\n",
        "json": lambda: '{"a": 1}',
        "image": lambda: _PIXEL,
        "blank": lambda: f"{_phrase(rng)} _ {_phrase(rng)}.",
    }
    return values[kind]()


def _candidates(name: str) -> list[Any]:
    """Return the kinds of a column, the most likely by its name first."""
    low = name.lower()
    first: list[Any] = []
    if "image" in low:
        first = ["image"]
    elif _LIST_NAMES.search(low):
        first = ["options", "labelled", "spans"]
    elif _LETTER_NAMES.search(low):
        first = ["letter", "number", "option"]
    elif _NUMBER_NAMES.search(low):
        first = ["number", "letter", "options"]
    return [*first, *(kind for kind in (*_KINDS, *_LATER_KINDS) if kind not in first)]


def _correct(
    schema: Schema, error: BaseException, tried: dict[str, list[Any]], constants: Sequence[str]
) -> bool:
    """Change the schema by what an error says; return whether there was something to change."""
    text = f"{error}"
    if "out of bounds for size 0" in text or "did not find any docs" in text or "at least one" in text:
        return _fit_filter(schema, error, tried, constants)
    unread = _find_unread(schema, error)
    if unread:
        for name in unread:
            schema[name] = _candidates(name)[0]
        return True
    if "indices must be integers" in text and _find_template(error) is None:
        for name in _find_keys(error):
            parent, _ = _find_parent(schema, name, error)
            if parent is not None and name not in schema and _add_missing(schema, name, error, tried):
                return True
    missing = _find_missing(error, text)
    if missing is not None:
        return _add_missing(schema, missing, error, tried)
    known = _flat_names(schema)
    by_last = {name.rpartition(".")[2]: name for name in known}
    culprits = [by_last[name] for name in _find_mentioned(error) if name in by_last] or sorted(known)
    culprits.sort(key=lambda name: (not _can_be(_get_kind(schema, name), error), len(tried.get(name, ()))))
    for name in culprits:
        first = _find_values(error) if isinstance(error, KeyError | ValueError) else []
        if any("eval(" in ast.unparse(statement) for statement in _statements(error)):
            first = ["written_list"]
        left = [
            kind
            for kind in (*first, *_candidates(name.rpartition(".")[2]))
            if kind not in tried.get(name, [])
        ]
        place, last = _place(schema, name)
        left = [kind for kind in left if kind != place[last]]
        if left:
            tried.setdefault(name, []).append(place[last])
            place[last] = left[0]
            return True
    return False


def _get_kind(schema: Schema, name: str) -> Any:
    place, last = _place(schema, name)
    return place[last]


def _can_be(kind: Any, error: BaseException) -> bool:
    """Return whether the value that an error names can come from a column of this kind."""
    value = re.search(r"'([^']*)'", str(error)) if isinstance(error, ValueError | KeyError) else None
    return value is not None and kind == "letter" and len(value[1]) == 1


def _fit_filter(
    schema: Schema, error: BaseException, tried: dict[str, list[Any]], constants: Sequence[str]
) -> bool:
    """Give the columns that a filter compares values that pass it."""
    for tree in _module_trees(error):
        for node in ast.walk(tree):
            if isinstance(node, ast.Compare):
                parts = [node.left, *node.comparators]
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                parts = [node.func.value, *node.args] if node.func.attr in ("startswith", "endswith") else []
            else:
                continue
            inside = [inner for part in parts for inner in ast.walk(part)]
            column = next((text for one in inside if (text := _constant(one)) in schema), None)
            if column is None:
                continue
            values = [text for part in parts for text in _read_values(part, constants) if text != column]
            kind = ("one_of", values or list(constants) or _list_arguments(tree))
            if not kind[1] or kind in tried.get(column, []) or schema[column] == kind:
                continue
            tried.setdefault(column, []).append(kind)
            schema[column] = kind
            return True
    return False


def _read_values(part: ast.AST, constants: Sequence[str]) -> list[Any]:
    """Return the values that a part of a comparison stands for."""
    if isinstance(part, ast.JoinedStr):
        return [
            "".join(
                constant if isinstance(piece, ast.FormattedValue) else str(_constant(piece) or "")
                for piece in part.values
            )
            for constant in constants
        ]
    if isinstance(part, ast.List | ast.Tuple | ast.Set):
        return [value for one in part.elts for value in _read_values(one, constants)]
    if isinstance(part, ast.Constant) and isinstance(part.value, str | int):
        return [part.value]
    return []


def _list_arguments(tree: ast.AST) -> list[str]:
    """Return the texts that functions of a file pass to each other."""
    return [
        text
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        for argument in (*node.args, *(keyword.value for keyword in node.keywords))
        if (text := _constant(argument)) is not None
    ]


def _find_values(error: BaseException) -> list[Any]:
    """Return the lists and dicts of fixed texts in the author's file, as kinds of a column."""
    kinds: list[Any] = []
    for tree in _module_trees(error):
        for node in ast.walk(tree):
            elements: Sequence[ast.AST] = (
                node.elts if isinstance(node, ast.List | ast.Tuple | ast.Set) else ()
            )
            if isinstance(node, ast.Dict):
                elements = [key for key in node.keys if key is not None]
            texts = [text for one in elements if (text := _constant(one)) is not None]
            if len(texts) >= 2 and ("one_of", texts) not in kinds:
                kinds.append(("one_of", texts))
    return kinds[:12]


def _module_trees(error: BaseException) -> list[ast.AST]:
    """Return the author's files that an error passed through, or whose functions the frames hold."""
    files = {
        frame.filename for frame in traceback.extract_tb(error.__traceback__) if _is_authors(frame.filename)
    }
    trace = error.__traceback__
    while trace is not None:
        own = trace.tb_frame.f_locals.get("self")
        function = getattr(getattr(own, "config", None), "process_docs", None)
        function = getattr(function, "func", function)
        code = getattr(function, "__code__", None)
        if code is not None:
            files.add(code.co_filename)
        trace = trace.tb_next
    trees: list[ast.AST] = []
    for file in sorted(files):
        try:
            trees.append(ast.parse("".join(linecache.getlines(file))))
        except SyntaxError:
            continue
    return trees


def _find_unread(schema: Schema, error: BaseException) -> list[str]:
    """Return the variables of the template that failed which no row has."""
    trace, doc, template = error.__traceback__, None, None
    while trace is not None:
        if trace.tb_frame.f_code.co_name == "apply_template":
            template, doc = trace.tb_frame.f_locals["template"], trace.tb_frame.f_locals["doc"]
        elif trace.tb_frame.f_code.co_name == "doc_to_choice":
            template = trace.tb_frame.f_locals.get("doc_to_choice", template)
            doc = trace.tb_frame.f_locals.get("doc", doc)
        trace = trace.tb_next
    if not isinstance(template, str) or not isinstance(doc, Mapping):
        return []
    from jinja2 import Environment, meta

    environment = Environment()
    environment.filters["regex_replace"] = str
    names = meta.find_undeclared_variables(environment.parse(template))
    return sorted(name for name in names if name not in doc and name not in schema)


def _find_missing(error: BaseException, text: str) -> str | None:
    if isinstance(error, KeyError) and error.args and isinstance(error.args[0], str):
        found = re.search(r"^Column '?(\w+)'? not in", error.args[0])
        if found:
            return found[1]
        name = error.args[0]
        named = any(
            isinstance(node, ast.Subscript) and _constant(node.slice) == name
            for statement in _statements(error)
            for node in ast.walk(statement)
        )
        words = re.findall(r"\w+", name.lower())
        is_value = len(name) == 1 or not words or words[0] in (*_WORDS, "yes", "no", "a")
        return name if named or not is_value else None
    for pattern in (
        r"^'([^']+)' is undefined",
        r"has no attribute '(\w+)'$",
        r"Column name ['\[]+(\w+)",
        r"Column to remove \[?'(\w+)'",
        r"Original column name (\w+) not in",
        r"Column '?(\w+)'? (?:not in|does not exist)",
    ):
        found = re.search(pattern, text)
        if found and not (
            isinstance(error, AttributeError) and "object' has" in text and hasattr(str, found[1])
        ):
            if hasattr(str, found[1]) or hasattr(list, found[1]) or hasattr(dict, found[1]):
                return None
            template = _find_template(error) or ""
            is_value = len(found[1]) == 1 and "attribute" in pattern
            return None if is_value and f".{found[1]}" not in template else found[1]
    return None


def _add_missing(schema: Schema, name: str, error: BaseException, tried: dict[str, list[Any]]) -> bool:
    parent, is_element = _find_parent(schema, name, error)
    if parent is None:
        if name in schema:
            return False
        schema[name] = _candidates(name)[0]
        return True
    place, last = _place(schema, parent)
    inside = place[last]
    if isinstance(inside, tuple):
        if not isinstance(inside[1], dict):
            place[last] = ("list", {name: _candidates(name)[0]})
        else:
            inside[1].setdefault(name, _candidates(name)[0])
        return True
    if not isinstance(inside, dict):
        tried.setdefault(parent, []).append(inside)
        fresh = {name: _candidates(name)[0]}
        if name in ("text", "label") and inside != "labelled":
            place[last] = "labelled"
        else:
            place[last] = ("list", fresh) if is_element else fresh
        return True
    if name in inside:
        return False
    inside[name] = _candidates(name)[0]
    return True


def _find_parent(schema: Schema, name: str, error: BaseException) -> tuple[str | None, bool]:
    """Return the column inside which a name is missing, and whether in each of its elements."""
    template = _find_template(error)
    found = _find_parent_in_code(schema, name, error)
    if found is None and template is not None and "is undefined" not in str(error):
        found = _find_parent_in_template(schema, name, template)
    if found is None and template is None and isinstance(error, KeyError):
        value = _find_holder(error, name)
        held = (column for column, kind in schema.items() if value is not None and _holds(kind, value))
        column = next(held, None)
        found = None if column is None else (column, False)
    return found or (None, False)


def _find_parent_in_code(schema: Schema, name: str, error: BaseException) -> tuple[str, bool] | None:
    subscripts = [
        node
        for statement in _statements(error)
        for node in ast.walk(statement)
        if isinstance(node, ast.Subscript)
    ]
    for node in subscripts:
        if _constant(node.slice) != name:
            continue
        base, is_element = node.value, False
        while isinstance(base, ast.Subscript):
            found = _constant(base.slice)
            if found is not None and found in schema:
                return found, is_element
            is_element = is_element or found is None
            base = base.value
        if isinstance(base, ast.Name) and base.id in schema and base.id != name:
            return base.id, is_element
        if isinstance(base, ast.Name) and f"{base.id}s" in schema:
            return f"{base.id}s", True
    if isinstance(error, KeyError):
        # The key is a variable: doc["translation"][language].
        for node in subscripts:
            inner = node.value if _constant(node.slice) is None else None
            if isinstance(inner, ast.Subscript) and (found := _constant(inner.slice)) in schema:
                assert found is not None
                return found, False
    return None


def _find_parent_in_template(schema: Schema, name: str, template: str) -> tuple[str, bool] | None:
    inside = re.compile(rf"(\w+)(\[[^\]]*\])?\.{re.escape(name)}\b|(\w+)()\[['\"]{re.escape(name)}")
    for match in inside.finditer(template):
        column = match[1] or match[3]
        if column in schema:
            return column, bool(match[2])
    looped = (match[1] for match in re.finditer(r"for \w+ in (\w+)", template))
    column = next((name for name in looped if name in schema), None)
    return None if column is None else (column, True)


def _find_holder(error: BaseException, name: str) -> Any:
    """Return the nested dict that lacks a key, from the local names of the frame that asked for it."""
    trace = error.__traceback__
    frames = []
    while trace is not None:
        frames.append(trace)
        trace = trace.tb_next
    for one in reversed(frames):
        if not _is_authors(one.tb_frame.f_code.co_filename):
            continue
        statement = _statement_at(one.tb_frame.f_code.co_filename, one.tb_lineno)
        for node in ast.walk(statement) if statement is not None else ():
            if (
                isinstance(node, ast.Subscript)
                and _constant(node.slice) == name
                and isinstance(node.value, ast.Name)
            ):
                value = one.tb_frame.f_locals.get(node.value.id)
                return value if type(value) is dict else None
    return None


def _holds(kind: Any, value: dict[str, Any]) -> bool:
    inside = kind[1] if isinstance(kind, tuple) else kind
    if isinstance(inside, str):
        return inside in ("labelled", "records") and set(value) == {"text", "label"}
    return set(inside) == set(value) - {"unused"}


def _find_mentioned(error: BaseException) -> list[str]:
    """Return the names in the statement or template in which an error came up, innermost first."""
    names: list[str] = []
    template = _find_template(error)
    if template is not None:
        names += re.findall(r"\w+", template)
    for statement in _statements(error):
        names += [
            found
            for node in ast.walk(statement)
            if (found := _constant(node)) is not None and found.isidentifier()
        ]
    return list(dict.fromkeys(names))


def _find_keys(error: BaseException) -> list[str]:
    """Return the keys that are looked up in the statements in which an error came up."""
    return [
        key
        for statement in _statements(error)
        for node in ast.walk(statement)
        if isinstance(node, ast.Subscript) and (key := _constant(node.slice)) is not None
    ]


def _find_template(error: BaseException) -> str | None:
    trace, template = error.__traceback__, None
    while trace is not None:
        if trace.tb_frame.f_code.co_name == "apply_template":
            template = trace.tb_frame.f_locals.get("template")
        # A literal that cannot be read comes from the template of doc_to_choice.
        if trace.tb_frame.f_code.co_name in ("doc_to_choice", "doc_to_text", "doc_to_target"):
            own = trace.tb_frame.f_locals.get(trace.tb_frame.f_code.co_name)
            template = own if isinstance(own, str) else template
        trace = trace.tb_next
    return template


def _is_authors(file: str) -> bool:
    """Whether a file belongs to a task, not to the program."""
    return "/tasks/" in file and "/" in file.partition("/tasks/")[2]


def _statements(error: BaseException) -> list[ast.AST]:
    found = []
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if _is_authors(frame.filename) and frame.lineno is not None:
            statement = _statement_at(frame.filename, frame.lineno)
            if statement is not None:
                found.append(statement)
    return found


def _statement_at(file: str, line: int) -> ast.AST | None:
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return None
    covering = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    return min(covering, key=lambda node: (node.end_lineno or 0) - node.lineno, default=None)


def _constant(node: ast.AST) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _flat_names(schema: Schema, before: str = "") -> list[str]:
    names = []
    for name, kind in schema.items():
        names.append(f"{before}{name}")
        if isinstance(kind, dict):
            names += _flat_names(kind, f"{before}{name}.")
    return names


def _place(schema: Schema, name: str) -> tuple[Schema, str]:
    *parents, last = name.split(".") if name not in schema else [name]
    for parent in parents:
        schema = schema[parent]
    return schema, last
