"""The layout of a table: the role of each column, and how a record becomes a sample."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from assay.core.ids import digest
from assay.core.names import compose_name
from assay.core.origin import Origin
from assay.core.sample import Sample
from assay.dialects.shared.choices import ANSWER_FORMS, Options, build_labels, read_answer, read_option_list
from assay.dialects.shared.request_selection import read_length
from assay.dialects.shared.template import get_field
from assay.dialects.table.cells import (
    CellOptions,
    extract_after_hashes,
    extract_last_boxed,
    find_last_option_list,
    parse_printed,
    parse_printed_answers,
    read_boolean,
    read_options,
    read_targets,
    to_text,
)
from assay.dialects.table.columns import is_empty
from assay.dialects.table.meta import DataType
from assay.sources.decimal_comma import convert_decimal_comma

OPTION_LIST = "option_list"
"""The template field that contains all options, one per line: `A. text`."""
FULL_QUESTION = "full_question"
"""The template field that contains context and question as one text."""
LayoutForm: TypeAlias = Literal[
    "label", "text", "index0", "index1", "boolean", "after_hashes", "boxed", "named", "marked", "beside_wrong"
]
"""How the answer names an option, or where in its cell a free-form answer is.

`named`: by a value that `label_names` translates; `marked`: the field of the options marks the right ones;
`beside_wrong`: the answer column contains the right option, other columns the wrong ones.
"""
_YES, _NO = ("yes", "true"), ("no", "false")
_NO_LABEL = "-1"
"""The value that datasets use if annotators did not agree on a label."""


class Layout(msgspec.Struct, frozen=True, omit_defaults=True):
    """The role of each column of a table. Determined once, before a model is loaded."""

    data_type: DataType
    columns: tuple[str, ...]
    question_columns: tuple[str, ...]
    """The columns of the question. Of a table of plain texts, the text column."""
    answer_column: str | None
    options: tuple[str, ...] | str = ()
    """The option columns, or the field that lists all options."""
    option_labels: tuple[str, ...] | str | None = None
    """The labels of the options, or the field that lists the labels; None: A, B, C ..."""
    answer_form: LayoutForm = "label"
    context_columns: tuple[str, ...] = ()
    """Columns of texts that precede the question."""
    distractors: tuple[str, ...] = ()
    label_names: dict[str, str] | None = None
    shuffle_seed: int | None = None
    """The seed for shuffling each row's options; None: do not shuffle."""
    joins_question: bool = False
    """Whether context and question become one field, because some rows lack a part or have it as a list."""
    category_column: str | None = None
    cluster_column: str | None = None
    id_column: str | None = None
    keeps_empty_options: bool = False
    """Whether an empty cell counts as an option, as in the original."""
    keeps_empty_texts: bool = False
    """Whether empty texts are allowed, because all texts are joined."""
    length_column: str | None = None
    """The column with the maximum length of each row's answer."""
    has_decimal_comma: bool = False
    """Whether an answer such as `3,5` is the number 3.5."""

    def get_options(self, fields: Mapping[str, Any]) -> Options:
        """Return a record's options, without empty cells at the end."""
        if self.label_names is not None:
            names = tuple(self.label_names.values())
            return Options(build_labels(len(names)), names)
        if self.distractors:
            return self._list_right_and_wrong(fields)
        if isinstance(self.options, str):
            if not self.keeps_empty_options:
                cell = self._read_cell_options(fields)
                if cell is not None and (cell.labels is not None and self.option_labels is None):
                    return Options(cell.labels, cell.texts)
                texts = [] if cell is None else list(cell.texts)
            else:
                texts = read_option_list(fields, self.options) or []
        else:
            # Hot path of every table with options: most cells are already texts.
            texts = [
                value if type(value := fields.get(name)) is str else to_text(get_field(fields, name, None))
                for name in self.options
            ]
            while texts and not texts[-1].strip() and not self.keeps_empty_options:
                texts.pop()
        names = () if isinstance(self.options, str) else self.options
        return Options(self._labels(fields, len(texts)), tuple(texts), names[: len(texts)])

    def _read_cell_options(self, fields: Mapping[str, Any]) -> CellOptions | None:
        """Return the options from the field that lists them."""
        assert isinstance(self.options, str)
        value = get_field(fields, self.options, None)
        if self.options in self.question_columns:
            run = find_last_option_list(value) if isinstance(value, str) else None
            return None if run is None else run[1]
        return None if value is None else read_options(value)

    def _list_right_and_wrong(self, fields: Mapping[str, Any]) -> Options:
        right = self._to_texts(get_field(fields, self.answer_column or "", None))
        wrong = [text for name in self.distractors for text in self._to_texts(get_field(fields, name, None))]
        return Options(build_labels(len(right) + len(wrong)), (*right, *wrong))

    def _to_texts(self, value: Any) -> tuple[str, ...]:
        printed = parse_printed_answers(value) if isinstance(value, str) else None
        return tuple(
            text for text in read_targets(value if printed is None else printed) or () if text.strip()
        )

    def get_gold(self, fields: Mapping[str, Any], options: Options) -> tuple[int, ...] | None:
        """Return the indexes of the right options; () without an answer, None if it matches no option."""
        answer = self.get_answer(fields)
        if answer is None:
            return ()
        if self.answer_form in ANSWER_FORMS:
            return read_answer(read_printed_answer(answer, options), options, self.answer_form)
        if self.answer_form == "beside_wrong":
            return tuple(range(len(self._to_texts(answer))))
        if self.answer_form == "marked":
            cell = self._read_cell_options(fields)
            return None if cell is None else cell.right
        assert self.label_names is not None
        return self._find_named_option(answer)

    def _find_named_option(self, answer: Any) -> tuple[int, ...] | None:
        """Return the option for a label, given by value or by name."""
        assert self.label_names is not None
        values = list(self.label_names)
        if isinstance(answer, (list, tuple)):
            several = [self._find_named_option(one) for one in answer]
            return None if None in several else tuple(index for one in several for index in one or ())
        text = to_text(answer).strip()
        for one in (text, text.removesuffix(".0")):
            if one in self.label_names:
                return (values.index(one),)
        if text == _NO_LABEL:
            return ()
        names = [name.casefold() for name in self.label_names.values()]
        return (names.index(text.casefold()),) if names.count(text.casefold()) == 1 else None

    def get_targets(self, answer: Any) -> tuple[str, ...]:
        """Return the accepted free-form answers in an answer cell; () if it does not have the form."""
        if self.keeps_empty_options:
            several: Sequence[Any] = answer if isinstance(answer, (list, tuple)) else (answer,)
            return tuple(to_text(target) for target in several)
        if self.answer_form == "boolean":
            value = read_boolean(answer)
            return () if value is None else _YES if value else _NO
        if self.answer_form in ("after_hashes", "boxed"):
            found = (extract_after_hashes if self.answer_form == "after_hashes" else extract_last_boxed)(
                to_text(answer)
            )
            return () if found is None else (found,)
        if isinstance(answer, str):
            printed = parse_printed_answers(answer) if answer[:1] in "[{a" else None
            return (answer,) if printed is None else read_targets(printed) or (answer,)
        return read_targets(answer) or ()

    def _labels(self, fields: Mapping[str, Any], n: int) -> tuple[str, ...]:
        if self.option_labels is None:
            return build_labels(n)
        if isinstance(self.option_labels, str):
            value = get_field(fields, self.option_labels, None)
            return tuple(to_text(label) for label in value) if isinstance(value, (list, tuple)) else ()
        return self.option_labels[:n]

    @property
    def column_labels(self) -> tuple[str, ...]:
        """Return the labels of the option columns; () if each row has its own options and labels."""
        if self.label_names is not None:
            return build_labels(len(self.label_names))
        if isinstance(self.options, str) or isinstance(self.option_labels, str):
            return ()
        return self.option_labels or build_labels(len(self.options))

    def get_answer(self, fields: Mapping[str, Any]) -> Any:
        """Return a record's answer as written, or None if it has none."""
        value = None if self.answer_column is None else get_field(fields, self.answer_column, None)
        if isinstance(value, Mapping) and is_empty(value):
            return None  # SQuAD 2 writes a question without an answer as {"text": [], "answer_start": []}
        return None if value is None or value == "" or value == [] else value

    def get_question(self, fields: Mapping[str, Any]) -> str:
        """Return the question of a record as text."""
        return "\n".join(to_text(get_field(fields, name, "")) for name in self.question_columns)

    def build_full_question(self, fields: Mapping[str, Any]) -> str:
        """Return context and question as one text, without the parts that are missing from a record."""
        context = [_to_lines(get_field(fields, name, None)) for name in self.context_columns]
        question = [_to_lines(get_field(fields, name, None)) for name in self.question_columns]
        parts = [*filter(None, context), "\n".join(filter(None, question))]
        return "\n\n".join(filter(None, parts))

    def get_group(self, fields: Mapping[str, Any]) -> str | None:
        """Return the group of a record, or None."""
        return (
            None
            if self.category_column is None
            else compose_name(to_text(get_field(fields, self.category_column, "")))
        )

    def sample(self, fields: dict[str, Any], origin: Origin, sample_id: str) -> Sample:
        """Return the sample for a record that has been checked."""
        answer = self.get_answer(fields)
        group = self.get_group(fields)
        cluster = None if self.cluster_column is None else to_text(get_field(fields, self.cluster_column, ""))
        if self.joins_question:
            fields = {**fields, FULL_QUESTION: self.build_full_question(fields)}
        if self.data_type != "mcq":
            targets = () if answer is None else tuple(map(self._target, self.get_targets(answer)))
            return Sample(sample_id, fields, origin, targets=targets, group=group, cluster=cluster)
        options = self.get_options(fields)
        gold = self.get_gold(fields, options) or ()
        if self.shuffle_seed is not None:
            options, gold = _shuffle_options(options, gold, f"{self.shuffle_seed}:{sample_id}:options")
        return Sample(
            sample_id, fields, origin, options.texts, options.labels, gold, group=group, cluster=cluster
        )

    def _target(self, text: str) -> str:
        return convert_decimal_comma(text) if self.has_decimal_comma else text

    def get_length(self, fields: Mapping[str, Any]) -> int | None:
        """Return the maximum number of answer tokens of a record; raise ValueError if it is not a number."""
        return None if self.length_column is None else read_length(fields.get(self.length_column))

    def get_own_id(self, fields: Mapping[str, Any]) -> str | None:
        """Return the dataset's own id of a record, or None."""
        return None if self.id_column is None else to_text(get_field(fields, self.id_column, ""))


def read_printed_answer(answer: Any, options: Options) -> Any:
    """Return an answer; parse it as a list if it is a printed list and no option has that text."""
    if not isinstance(answer, str) or answer[:1] != "[" or answer.strip() in options.texts:
        return answer
    printed = parse_printed(answer)
    return printed if isinstance(printed, list) else answer


def hash_content(fields: Mapping[str, Any]) -> str:
    """Return a hash of the content, the id of a record without its own id."""
    return digest(fields, size=6)


def parse_content_id(content: str) -> int:
    """Return a content id as a number."""
    return int(content, 16)


def build_template_values(sample: Sample) -> dict[str, Any]:
    """Return the values for a template: the fields, each option by its label, and all options as lines.

    Options with other labels are also available as A, B, C ... in order.
    """
    if not sample.choices:
        return sample.fields
    options = dict(zip(sample.labels, sample.choices, strict=True))
    listing = "\n".join([f"{label}. {text}" for label, text in options.items()])
    usual = build_labels(len(sample.choices))
    if sample.labels != usual:
        options = {**dict(zip(usual, sample.choices, strict=True)), **options}
    return {**options, OPTION_LIST: listing, **sample.fields}


def _shuffle_options(options: Options, gold: tuple[int, ...], draw: str) -> tuple[Options, tuple[int, ...]]:
    """Return the options in a random order drawn for one row; the labels keep their order."""
    order = list(range(len(options.texts)))
    random.Random(draw).shuffle(order)
    texts = tuple(options.texts[index] for index in order)
    return Options(options.labels, texts), tuple(sorted(order.index(index) for index in gold))


def _to_lines(value: Any) -> str:
    """Return a text unchanged, and a list of texts as lines."""
    if isinstance(value, (list, tuple)):
        return "\n".join(filter(None, map(_to_lines, value)))
    return to_text(value).strip()
