"""Checks of single rows of a table: options, texts and answers."""

from __future__ import annotations

from typing import Any

from assay.core.errors import Problem, Problems, format_count, listing
from assay.dialects.shared.choices import (
    ANSWER_FORMS,
    AnswerFormCounts,
    Options,
)
from assay.dialects.shared.request_selection import MAX_TOKENS
from assay.dialects.shared.template import get_field
from assay.dialects.table.layout import (
    Layout,
    read_printed_answer,
)
from assay.sources.record import Record


def check_row(layout: Layout, record: Record, options: Options | None, problems: Problems) -> None:
    """Add the problems of one row, except those of its answer."""
    if layout.data_type == "text":
        _check_text(layout, record, problems)
        return
    values = record.fields.values()
    # Fast path: most rows have a filled cell.
    if not any(values) and not any(value not in (None, "", []) for value in values):
        problems.add(
            Problem("TABLE-008", "every field of the row is empty", "fill it in, or delete it", record.origin)
        )
        return
    try:
        layout.get_length(record.fields)
    except ValueError as error:
        fix = "write the maximum number of tokens of the answer, or leave the cell empty"
        problems.add(Problem("TABLE-017", str(error), fix, record.origin.at(MAX_TOKENS)))
    if options is None:
        return
    if len(options.texts) < 2:
        problems.add(
            Problem(
                "TABLE-009",
                f"the row has {format_count(len(options.texts), 'option')}, expected at least 2",
                'fill in the option columns, or use --data-type qa ("data_type": "qa" in the meta file)',
                record.origin,
            )
        )
    elif not layout.keeps_empty_options and not all(map(str.strip, options.texts)):
        empty = options.labels[[bool(text.strip()) for text in options.texts].index(False)]
        problems.add(
            Problem(
                "TABLE-009",
                f"option {empty} is empty, but a later option is not",
                "fill it in, or move the later options forward",
                record.origin,
            )
        )
    elif len(options.labels) != len(options.texts) or len(set(options.labels)) != len(options.labels):
        problems.add(
            Problem(
                "TABLE-009",
                f"the row has {len(options.texts)} options, but the labels {listing(options.labels)}",
                'give each option its own label in "option_labels"',
                record.origin,
            )
        )


def _check_text(layout: Layout, record: Record, problems: Problems) -> None:
    (column,) = layout.question_columns
    value = get_field(record.fields, column, None)
    if not isinstance(value, str):
        what, fix = f"found {value!r:.60}, expected a text", "write a text, or delete the row"
    elif not value.strip() and not layout.keeps_empty_texts:
        what = "the text is empty"
        fix = "delete the row, or use --windows hf-stride or gptq, which join all texts"
    else:
        return
    problems.add(Problem("TABLE-008", what, fix, record.origin.at(column)))


def check_answer(
    layout: Layout,
    record: Record,
    answer: Any,
    options: Options | None,
    forms: AnswerFormCounts,
    problems: Problems,
) -> int:
    """Check one answer and return the number of right options it names.

    An answer that may be a label, a text or an index is only added to `forms`, and the result is 0.
    """
    if options is None:
        if layout.data_type == "qa" and not layout.get_targets(answer):
            problems.add(build_answer_problem(layout, record, answer, None))
        return 0
    if layout.answer_form in ANSWER_FORMS:
        forms.add(read_printed_answer(answer, options), options)
        return 0
    gold = layout.get_gold(record.fields, options)
    if gold is None:
        problems.add(build_answer_problem(layout, record, answer, options))
    return len(gold or ())


def build_answer_problem(layout: Layout, record: Record, answer: Any, options: Options | None) -> Problem:
    """Return the problem for an answer that does not have the expected form."""
    texts, labels = ((), ()) if options is None else (options.texts, options.labels)
    expected = {
        "label": f"one of {' '.join(labels)}",
        "text": f"the text of one option: {listing(texts)}",
        "index0": f"a number from 0 to {len(texts) - 1}",
        "index1": f"a number from 1 to {len(texts)}",
        "named": f"one of {listing(layout.label_names or ())}",
        "marked": "options with at least one marked as right",
        "beside_wrong": "a text",
        "boolean": "true or false",
        "after_hashes": "a solution that ends with #### and the answer",
        "boxed": "a solution with its answer in \\boxed{}",
    }[layout.answer_form]
    if options is None and layout.answer_form == "label":
        expected = "a text, a number, a list of these, or an object with value, text, aliases or spans"
    fix = "correct the answer or the options" + _format_label_fix(layout)
    if layout.answer_form == "named":
        fix = f"correct the answer, or name all values with --label-names {answer}=..."
        fix += "; for free-form answers use --data-type qa"
    elif options is None:
        fix = "correct the answer, or set the form of the answers with --answer-is text"
    return Problem(
        "TABLE-011",
        f"found {answer!r:.200}, expected {expected}",
        fix,
        record.origin.at(layout.answer_column or "answer"),
    )


def _format_label_fix(layout: Layout) -> str:
    """Return the hint for answers that use other names for the options."""
    labels = layout.option_labels
    if labels is not None and (labels != layout.options or all(map(is_letter, labels))):
        return ""
    return '; if the answers use other names for the options, list them: "option_labels": ["...", "..."]'


def is_letter(name: str) -> bool:
    """Return whether a name is one capital letter, such as A."""
    return len(name) == 1 and name.isascii() and name.isupper()
