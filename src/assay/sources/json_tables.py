"""Shapes of tables in a JSON document other than a list of rows, each read only where it is certain."""

from __future__ import annotations

from typing import Any


def find_tables(document: dict[str, Any]) -> dict[str, list[Any]]:
    """Return the lists of objects that a document has, by key."""
    return {key: value for key, value in document.items() if _is_table(value)}


def convert_columns(document: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Return the rows of a table that is written by columns, by index, or as names and lists of values.

    `{"question": [...], "answer": [...]}`, and pandas' `to_json` with `orient` "columns" (its default),
    "index" and "split". None where the document is none of these for certain.
    """
    if _is_split(document):
        return [dict(zip(document["columns"], row, strict=True)) for row in document["data"]]
    values = list(document.values())
    if not values:
        return None
    if all(isinstance(value, list) for value in values):
        lengths = {len(value) for value in values}
        if len(values) > 1 and len(lengths) == 1 and lengths != {0}:
            return [dict(zip(document, row, strict=True)) for row in zip(*values, strict=True)]
        return None
    if not all(isinstance(value, dict) and value for value in values):
        return None
    inner = {name: None for value in values for name in value}
    if _are_numbered(document) and not _are_numbered(inner):
        return values
    if _are_numbered(inner) and all(value.keys() == inner.keys() for value in values):
        return [{name: column[index] for name, column in document.items()} for index in inner]
    return None


def extract_nested_questions(rows: list[Any]) -> list[dict[str, Any]] | None:
    """Return SQuAD's questions, `paragraphs[].qas[]`, with their title and context; None for other rows."""
    flat: list[dict[str, Any]] = []
    for row in rows:
        if not isinstance(row, dict) or not isinstance(row.get("paragraphs"), list):
            return None
        above = {name: value for name, value in row.items() if name != "paragraphs"}
        for paragraph in row["paragraphs"]:
            if not isinstance(paragraph, dict) or not _is_table(paragraph.get("qas")):
                return None
            beside = {name: value for name, value in paragraph.items() if name != "qas"}
            flat += [{**above, **beside, **question} for question in paragraph["qas"]]
    return flat or None


def _is_table(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)


def _is_split(document: dict[str, Any]) -> bool:
    names, rows = document.get("columns"), document.get("data")
    return (
        isinstance(names, list)
        and isinstance(rows, list)
        and bool(rows)
        and document.keys() <= {"columns", "index", "data"}
        and all(isinstance(name, str) for name in names)
        and all(isinstance(row, list) and len(row) == len(names) for row in rows)
    )


def _are_numbered(names: dict[str, Any]) -> bool:
    return bool(names) and all(name.isdecimal() for name in names)
