"""Which column is what, and how a record becomes a sample. Settled once, before any model is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from assay.core.ids import digest
from assay.core.names import composed
from assay.core.origin import Origin
from assay.core.sample import Sample
from assay.dialects.parts.choices import AnswerForm, Options, labels_for, listed, read_answer
from assay.dialects.parts.requested import read_length
from assay.dialects.parts.template import field
from assay.dialects.table.meta import DataType

OPTION_LIST = "option_list"
"""The field under which a template finds all options as lines: `A. text`."""


class Layout(msgspec.Struct, frozen=True, omit_defaults=True):
    """The settled mapping of a table."""

    data_type: DataType
    columns: tuple[str, ...]
    question_columns: tuple[str, ...]
    """The columns that make two rows ask the same; of plain texts the one that holds them."""
    answer_column: str | None
    options: tuple[str, ...] | str = ()
    """Option columns, or the one field that lists them."""
    option_labels: tuple[str, ...] | str | None = None
    """The options' own names, or the field that lists those; None: A, B, C ..."""
    answer_form: AnswerForm = "label"
    category_column: str | None = None
    cluster_column: str | None = None
    id_column: str | None = None
    keeps_empty_options: bool = False
    """Whether an empty cell is an option all the same, as the original has it."""
    keeps_empty_texts: bool = False
    """Whether texts are joined, so that an empty one among them does no harm."""
    length_column: str | None = None
    """The column that says how long a row's answer may be."""

    def options_of(self, fields: Mapping[str, Any]) -> Options:
        """Return a record's options; empty cells at the end are options the row does not have."""
        if isinstance(self.options, str):
            texts = listed(fields, self.options) or []
        else:
            # Most cells are texts at once: the hot path of every table with options.
            texts = [
                value if type(value := fields.get(name)) is str else _text(field(fields, name, None))
                for name in self.options
            ]
            while texts and not texts[-1].strip() and not self.keeps_empty_options:
                texts.pop()
        return Options(self._labels(fields, len(texts)), tuple(texts))

    def _labels(self, fields: Mapping[str, Any], n: int) -> tuple[str, ...]:
        if self.option_labels is None:
            return labels_for(n)
        if isinstance(self.option_labels, str):
            value = field(fields, self.option_labels, None)
            return tuple(_text(label) for label in value) if isinstance(value, (list, tuple)) else ()
        return self.option_labels[:n]

    @property
    def column_labels(self) -> tuple[str, ...]:
        """Return the labels of the option columns; () where rows have options and labels of their own."""
        if isinstance(self.options, str) or isinstance(self.option_labels, str):
            return ()
        return self.option_labels or labels_for(len(self.options))

    def answer_of(self, fields: Mapping[str, Any]) -> Any:
        """Return a record's answer as written; None when it has none."""
        value = None if self.answer_column is None else field(fields, self.answer_column, None)
        return None if value is None or value == "" or value == [] else value

    def question_of(self, fields: Mapping[str, Any]) -> str:
        """Return the text that says what a record asks."""
        return "\n".join(_text(field(fields, name, "")) for name in self.question_columns)

    def group_of(self, fields: Mapping[str, Any]) -> str | None:
        """Return the group that a record belongs to, if the table has groups."""
        return (
            None if self.category_column is None else composed(_text(field(fields, self.category_column, "")))
        )

    def sample(self, fields: dict[str, Any], origin: Origin, sample_id: str) -> Sample:
        """Make a sample of a record that has been checked."""
        answer = self.answer_of(fields)
        group = self.group_of(fields)
        cluster = None if self.cluster_column is None else _text(field(fields, self.cluster_column, ""))
        if self.data_type != "mcq":
            targets = answer if isinstance(answer, (list, tuple)) else () if answer is None else (answer,)
            return Sample(
                sample_id,
                fields,
                origin,
                targets=tuple(_text(target) for target in targets),
                group=group,
                cluster=cluster,
            )
        options = self.options_of(fields)
        gold = () if answer is None else read_answer(answer, options, self.answer_form) or ()
        return Sample(
            sample_id, fields, origin, options.texts, options.labels, gold, group=group, cluster=cluster
        )

    def length_of(self, fields: Mapping[str, Any]) -> int | None:
        """Return how many tokens a record allows its answer; ValueError where it says something else."""
        return None if self.length_column is None else read_length(fields.get(self.length_column))

    def own_id(self, fields: Mapping[str, Any]) -> str | None:
        """Return the dataset's own id of a record, if it has one."""
        return None if self.id_column is None else _text(field(fields, self.id_column, ""))


def content_id(fields: Mapping[str, Any]) -> str:
    """Return the id of a record that has none of its own: a hash of its content."""
    return digest(fields, size=6)


def content_number(content: str) -> int:
    """Return a content id as a number."""
    return int(content, 16)


def values_of(sample: Sample) -> dict[str, Any]:
    """Return what a template may name: the fields, each option by its label, and all of them as lines.

    Options with labels of their own are also named A, B, C ... in their order.
    """
    if not sample.choices:
        return sample.fields
    options = dict(zip(sample.labels, sample.choices, strict=True))
    listing = "\n".join([f"{label}. {text}" for label, text in options.items()])
    usual = labels_for(len(sample.choices))
    if sample.labels != usual:
        options = {**dict(zip(usual, sample.choices, strict=True)), **options}
    return {**options, OPTION_LIST: listing, **sample.fields}


def _text(value: Any) -> str:
    if value is None:
        return ""
    if value is True or value is False:
        return "true" if value else "false"
    return value if isinstance(value, str) else str(value)
