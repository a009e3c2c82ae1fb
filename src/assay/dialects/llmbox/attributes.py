"""The types of the documented attributes of a dataset class, and their checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from assay.core.errors import Problems
from assay.core.sampling_bounds import describe_expected_value
from assay.dialects.llmbox.calling import DatasetAuthor


class Attribute(NamedTuple):
    """The type of an attribute."""

    fits: Callable[[Any], bool]
    expected: str
    example: str
    is_optional: bool = True
    """Whether None is the same as omitting it."""


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_text_list(value: Any) -> bool:
    return isinstance(value, (list, tuple, set, frozenset)) and all(map(_is_text, value))


def _is_text_or_texts(value: Any) -> bool:
    return _is_text(value) or _is_text_list(value)


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool)


def _is_keyed(value: Any) -> bool:
    return isinstance(value, Mapping) and all(map(_is_text, value))


def _is_metric(value: Any) -> bool:
    return callable(value) and not isinstance(value, type)


def _is_load_args(value: Any) -> bool:
    return (
        isinstance(value, (list, tuple))
        and len(value) <= 2
        and all(isinstance(item, str) or (at == 1 and item is None) for at, item in enumerate(value))
    )


ATTRIBUTES: Mapping[str, Attribute] = {
    "instruction": Attribute(_is_text, "a text", '"Question: {question}\\nAnswer:"'),
    "metrics": Attribute(
        lambda value: isinstance(value, (list, tuple)) and all(map(_is_metric, value)),
        "a list of metric objects",
        "[Accuracy()]",
    ),
    "evaluation_set": Attribute(_is_text, "the name of a split", '"test"'),
    "example_set": Attribute(_is_text, "the name of a split", '"train"'),
    "load_args": Attribute(_is_load_args, "a tuple of at most two texts", '("NAME",)'),
    "load_kwargs": Attribute(_is_keyed, "a dict of arguments by name", 'dict(data_dir="...")'),
    "extra_model_args": Attribute(
        _is_keyed, "a dict of generation arguments", "dict(temperature=0, max_tokens=64)", is_optional=False
    ),
    "category_column": Attribute(_is_text, "the name of a column", '"kind"'),
    "categorized_subsets": Attribute(
        lambda value: _is_keyed(value) and all(map(_is_text_list, value.values())),
        "a dict from each category to a list of its subsets",
        '{"stem": ["physics", "algebra"]}',
    ),
    "banned_subsets": Attribute(_is_text_or_texts, "a list of subset names", '["auxiliary_train"]'),
    "use_normalization": Attribute(_is_bool, "True or False", "True", is_optional=False),
    "normalization_prompt": Attribute(_is_text, "a text", '"Question: \\nAnswer:"'),
    "supported_cot": Attribute(_is_text_or_texts, "a list of names", '["base"]'),
    "multi_turn": Attribute(_is_bool, "True or False", "True", is_optional=False),
}
"""The documented attributes."""
SPELLINGS = {"category_subsets": "categorized_subsets"}
"""Other spellings in the documentation."""

_STOP = Attribute(_is_text_or_texts, "a text or a list of texts", '["\\n"]')
_ABSENT = object()


def check_attributes(author: DatasetAuthor, holder: Any) -> None:
    """Raise LLMBOX-011 for each attribute of a class or an object with a value of the wrong type."""
    problems = Problems()

    def check(name: str, value: Any, attribute: Attribute) -> bool:
        if (value is None and attribute.is_optional) or attribute.fits(value):
            return True
        what, fix = _describe_mismatch(name, value, attribute)
        problems.add(author.problem("LLMBOX-011", what, fix))
        return False

    for name, attribute in (
        *ATTRIBUTES.items(),
        *((spelling, ATTRIBUTES[of]) for spelling, of in SPELLINGS.items()),
    ):
        with author.convert_errors(name):
            value: Any = getattr(holder, name, _ABSENT)
        if value is _ABSENT or isinstance(value, (property, cached_property)):
            # If the class computes it, only the object has the value.
            continue
        if check(name, value, attribute) and name == "extra_model_args":
            check(f"{name}['stop']", value.get("stop"), _STOP)
            for key, argument in value.items():
                if (expected := describe_expected_value(key, argument)) is not None:
                    what = f"{name}: {key} is {argument!r:.60}, expected {expected}"
                    fix = f"write {name} = dict({key}=...) with such a value"
                    problems.add(author.problem("LLMBOX-011", what, fix))
    problems.raise_if_any()


def _describe_mismatch(name: str, value: Any, attribute: Attribute) -> tuple[str, str]:
    """Return what is wrong with a value, and the fix."""
    if name == "metrics" and isinstance(value, Sequence) and not isinstance(value, str):
        wrong = next(metric for metric in value if not _is_metric(metric))
        if isinstance(wrong, type):
            what = f"metrics contains the class {wrong.__name__}, expected a callable object"
            return what, f"write {wrong.__name__}()"
        return (
            f"metrics contains {wrong!r}, expected a callable object",
            "write metrics = [Accuracy()]",
        )
    what = f"{name} is {value!r:.80} ({type(value).__name__}), expected {attribute.expected}"
    if name == "load_args" and isinstance(value, str):
        return what, f"write load_args = ({value!r},), with the comma"
    if name == "metrics" and _is_metric(value):
        return what, f"write metrics = [{type(value).__name__}()]"
    return what, f"write {name} = {attribute.example}"
