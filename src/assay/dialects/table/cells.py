"""Readers for single cells: options in the usual forms, accepted answers, the end of a solution.

Each reader takes one value and returns None if the value does not have the form. Column names play no role.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from assay.dialects.shared.choices import Options, build_labels

_MOST_PRINTED = 100_000
"""Maximum length of a cell that is parsed as a printed list."""


class CellOptions(NamedTuple):
    """The options in one cell."""

    texts: tuple[str, ...]
    labels: tuple[str, ...] | None = None
    """The labels of the options, if the cell has them."""
    right: tuple[int, ...] | None = None
    """Indexes of the right options, if the cell marks them."""

    def to_options(self) -> Options:
        """Return the options with their labels, or with A, B, C ..."""
        return Options(self.labels or build_labels(len(self.texts)), self.texts)


def read_options(value: Any) -> CellOptions | None:
    """Return the options in a cell: a list, an object, a printed list, or text with labelled options."""
    if type(value) is list:
        return _read_list(value)
    if isinstance(value, str):
        printed = parse_printed(value)
        return _read_text(value) if printed is None else read_options(printed)
    if isinstance(value, Mapping):
        return _read_mapping(value)
    if isinstance(value, Sequence):
        return _read_list(value)
    return None


def _read_list(value: Sequence[Any]) -> CellOptions | None:
    if not value:
        return None
    # Hot path of every table with a list of options: most lists contain only texts.
    if set(map(type, value)) == _TEXTS:
        return _strip_labels(list(value))
    first = value[0]
    if isinstance(first, Mapping):
        return _read_records(value)
    if isinstance(first, (list, tuple)):
        pairs = [one for one in value if isinstance(one, (list, tuple)) and len(one) == 2]
        if len(pairs) != len(value) or not _are_labels([str(label) for label, _ in pairs]):
            return None
        return CellOptions(tuple(to_text(text) for _, text in pairs), tuple(str(label) for label, _ in pairs))
    if any(isinstance(one, (Mapping, list, tuple)) for one in value):
        return None
    return _strip_labels([to_text(one) for one in value])


_TEXTS = {str}
_TEXT_KEYS = ("text", "content", "value", "option", "choice", "answer", "body", "ending", "option_text")
_LABEL_KEYS = ("label", "key", "letter", "id", "option", "name", "index")
_MARK_KEYS = (
    "is_correct",
    "correct",
    "iscorrect",
    "right",
    "is_right",
    "score",
    "label",
    "gold",
    "is_answer",
)


def _read_records(value: Sequence[Any]) -> CellOptions | None:
    """Read a list of objects, each with a text and optionally a label or a mark."""
    if not all(isinstance(one, Mapping) for one in value):
        return None
    if all(len(one) == 1 for one in value):
        pairs = [next(iter(one.items())) for one in value]
        if not _are_labels([str(key) for key, _ in pairs]) or any(_is_nested(text) for _, text in pairs):
            return None
        return CellOptions(tuple(to_text(text) for _, text in pairs), tuple(str(key) for key, _ in pairs))
    text_key = _find_shared_key(value, _TEXT_KEYS) or _only_key_with(value, "text")
    if text_key is None or any(_is_nested(one[text_key]) for one in value):
        return None
    texts = tuple(to_text(one[text_key]) for one in value)
    label_key = _find_shared_key(value, [key for key in _LABEL_KEYS if key != text_key])
    label_key = label_key or _only_key_with(value, "id")
    labels = None
    if label_key is not None:
        found = tuple(to_text(one[label_key]) for one in value)
        labels = found if _are_labels(found) else None
    marks = None
    if (mark_key := _find_shared_key(value, [key for key in _MARK_KEYS if key != text_key])) is not None:
        marks = read_marks([one[mark_key] for one in value])
    return CellOptions(texts, labels, marks)


def _find_shared_key(records: Sequence[Any], names: Sequence[str]) -> str | None:
    """Return the first of these keys that every object has, ignoring case."""
    for name in names:
        for key in records[0]:
            if str(key).casefold() == name and all(key in one for one in records):
                return str(key)
    return None


def _only_key_with(records: Sequence[Any], ending: str) -> str | None:
    """Return the one key with an ending that every object has: `atext`."""
    keys = [key for key in records[0] if str(key).casefold().endswith(ending)]
    return str(keys[0]) if len(keys) == 1 and all(keys[0] in one for one in records) else None


def _read_mapping(value: Mapping[Any, Any]) -> CellOptions | None:
    lists = {str(key): one for key, one in value.items() if isinstance(one, (list, tuple))}
    if lists:
        key = next((key for key in (*_TEXT_KEYS, "choices", "options", "texts") if key in lists), None)
        texts = None if key is None else _read_list(lists[key])
        if texts is None:
            return None
        for name in ("label", "labels", "key", "keys", "score", "scores"):
            if name in lists and len(lists[name]) == len(texts.texts):
                if (marks := read_marks(lists[name])) is not None:
                    return texts._replace(right=marks)
                return texts._replace(labels=tuple(to_text(label) for label in lists[name]))
        return texts
    present = {str(key): one for key, one in value.items() if one is not None}
    if len(present) < 2 or any(_is_nested(one) for one in present.values()):
        return None
    if _are_labels(list(present)):
        labels = tuple(present)
        if not all(isinstance(one, str) for one in present.values()):
            return CellOptions(tuple(to_text(one) for one in present.values()), labels)
        return CellOptions(tuple(present.values()), labels)
    # Option texts with marks: {"Paris": 1, "Rome": 0}.
    if (marks := read_marks(list(present.values()))) is not None:
        return CellOptions(tuple(present), None, marks)
    return None


def read_marks(values: Sequence[Any]) -> tuple[int, ...] | None:
    """Return the positions of 1 in a list of 0 and 1 (or of true and false); None for other lists."""
    if len(values) < 2 or any(one not in (0, 1) or isinstance(one, str) for one in values):
        return None
    right = tuple(index for index, one in enumerate(values) if one)
    return right or None


_LABEL = re.compile(
    r"^\s*(?:[(\[（【]\s*(?P<in>[A-Za-z]|\d{1,2})\s*[)\]）】]|(?P<out>[A-Za-z]|\d{1,2})\s*(?:[)）、:：]|[.．](?!\d)))\s*"
)


def _strip_labels(texts: list[str]) -> CellOptions:
    """Strip `(A)`, `B)`, `C.` if all options begin with their label, in order."""
    if _LABEL.match(texts[0]) is None:
        return CellOptions(tuple(texts))
    matches = [_LABEL.match(text) for text in texts]
    labels = [match["in"] or match["out"] for match in matches if match is not None]
    if len(labels) != len(texts) or len(texts) < 2 or not _are_labels(labels):
        return CellOptions(tuple(texts))
    bare = tuple(text[match.end() :].strip() for text, match in zip(texts, matches, strict=True) if match)
    return CellOptions(bare, tuple(labels)) if all(bare) else CellOptions(tuple(texts))


def _are_labels(names: Sequence[str]) -> bool:
    """Whether names are consecutive labels: A B C, a b c, 0 1 2 or 1 2 3."""
    return len(names) >= 2 and any(
        list(names) == [str(label) for label in expected]
        for expected in (
            build_labels(len(names)),
            [label.lower() for label in build_labels(len(names))],
            range(len(names)),
            range(1, len(names) + 1),
        )
    )


_INLINE = re.compile(
    r"(?:^|(?<=[\s,;，；|]))(?:[(\[（]\s*(?P<in>[A-Za-z]|\d{1,2})\s*[)\]）]|(?P<out>[A-Za-z]|\d{1,2})\s*(?:[)）、:：]|[.．](?!\d)))\s*"
)


def _read_text(text: str) -> CellOptions | None:
    """Read options that a text lists with labels: `a ) 38 , b ) 27`, or one per line."""
    found = find_last_option_list(text)
    if found is not None:
        return found[1]
    for separator in ("\n", "|", ";", "；"):
        parts = [part.strip() for part in text.split(separator)]
        if len(parts) >= 2 and all(parts):
            return _strip_labels(parts)
    return None


def find_last_option_list(text: str) -> tuple[int, CellOptions] | None:
    """Return the position and the options of a text's last list of labelled options."""
    if len(text) > _MOST_PRINTED:
        return None
    matches = list(_INLINE.finditer(text))
    for start in range(len(matches) - 1, -1, -1):
        label = matches[start]["in"] or matches[start]["out"]
        if label not in ("A", "a", "1"):
            continue
        run = [matches[start]]
        for match in matches[start + 1 :]:
            wanted = chr(ord(label) + len(run)) if label != "1" else str(1 + len(run))
            if (match["in"] or match["out"]) == wanted:
                run.append(match)
        if len(run) < 2:
            continue
        ends = [match.start() for match in run[1:]] + [len(text)]
        texts = tuple(
            text[match.end() : end].strip().rstrip(",;，；|").strip()
            for match, end in zip(run, ends, strict=True)
        )
        if all(texts):
            labels = tuple(match["in"] or match["out"] for match in run)
            return run[0].start(), CellOptions(texts, labels)
    return None


_NUMPY_GAP = re.compile(r"""(?<=['"])\s+(?=['"])""")
_ARRAY = re.compile(r"^array\((.*?)(?:,\s*dtype=\w+)?\)$", re.DOTALL)


def parse_printed(text: str) -> list[Any] | dict[Any, Any] | None:
    """Parse a cell that is a printed list or object: JSON, Python or numpy."""
    stripped = text.strip()
    if (array := _ARRAY.match(stripped)) is not None:
        stripped = array[1].strip()
    if len(stripped) < 2 or stripped[0] + stripped[-1] not in ("[]", "{}", "()") or len(text) > _MOST_PRINTED:
        return None
    try:
        value = json.loads(stripped)
    except (ValueError, RecursionError):
        value = _literal(stripped)
        if value is None and stripped[0] == "[":
            value = _literal(_NUMPY_GAP.sub(", ", stripped))
    if isinstance(value, list) and len(value) == 1 and "' '" in stripped:
        # numpy prints texts without commas, which Python would concatenate.
        value = _literal(_NUMPY_GAP.sub(", ", stripped))
    if isinstance(value, (list, tuple)):
        return list(value)
    return value if isinstance(value, dict) else None


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


def parse_printed_answers(text: str) -> list[Any] | dict[Any, Any] | None:
    """Parse a cell that is a printed list or object of accepted answers; `[1, 2]` is a single answer."""
    value = parse_printed(text)
    items = value if isinstance(value, list) else ()
    return value if value and all(isinstance(one, (str, Mapping)) for one in items) else None


_VALUE_KEYS = (
    *("value", "text", "texts", "spans", "aliases", "answer", "answers", "short_answers", "number"),
    *("input_text", "content", "normalized_value", "normalized_aliases"),
)


def read_targets(value: Any) -> tuple[str, ...] | None:
    """Return the accepted answers in a cell, the most usual spelling first.

    A list contains several; an object has them under `value`, `text`, `aliases`, `spans` and the like.
    Return None for an object with none of these keys.
    """
    if type(value) is list and set(map(type, value)) == _TEXTS:
        return tuple(text for text in dict.fromkeys(value) if text.strip())
    found: dict[str, None] = {}
    for one in _leaves(value):
        if one is None:
            return None
        found[one] = None
    return tuple(text for text in found if text.strip())


def _leaves(value: Any) -> Iterator[str | None]:
    if isinstance(value, Mapping):
        keys = [key for key in _VALUE_KEYS if key in value]
        if not keys:
            yield None
        for key in keys:
            yield from _leaves(value[key])
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _leaves(one)
    elif value is not None:
        yield to_text(value)


def read_list(value: Any) -> Sequence[Any] | None:
    """Return the items of a list, or of the list of texts that an object holds; None: something else."""
    if isinstance(value, Mapping):
        value = next((value[key] for key in _VALUE_KEYS if key in value), None)
    return value if isinstance(value, (list, tuple)) else None


def extract_after_hashes(text: str) -> str | None:
    """Return the text after the last `####` of a worked solution."""
    _, hashes, end = text.rpartition("####")
    return end.strip() or None if hashes else None


def extract_last_boxed(text: str) -> str | None:
    r"""Return the content of the last `\boxed{...}` of a worked solution."""
    start = max(text.rfind("\\boxed{"), text.rfind("\\fbox{"))
    if start < 0:
        return None
    opened = text.index("{", start)
    depth = 0
    for at in range(opened, len(text)):
        depth += (text[at] == "{") - (text[at] == "}")
        if depth == 0:
            return text[opened + 1 : at].strip() or None
    return None


_TRUE = frozenset({"true", "yes", "y", "t"})
_FALSE = frozenset({"false", "no", "n", "f"})


def read_boolean(value: Any) -> bool | None:
    """Return a boolean, also from the texts `true`, `yes`, `false` and `no`."""
    if isinstance(value, bool):
        return value
    text = value.strip().casefold() if isinstance(value, str) else ""
    return True if text in _TRUE else False if text in _FALSE else None


def _is_nested(value: Any) -> bool:
    return isinstance(value, (Mapping, list, tuple))


def to_text(value: Any) -> str:
    """Return a value as text for a prompt."""
    if value is None:
        return ""
    if value is True or value is False:
        return "true" if value else "false"
    return value if isinstance(value, str) else str(value)
