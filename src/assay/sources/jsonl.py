"""JSON lines: one object on each line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from assay.core.errors import AuthorError, Problem
from assay.core.origin import Origin
from assay.sources.faults import build_no_rows_error
from assay.sources.json_keys import build_repeated_key_problem, find_repeated_key
from assay.sources.record import Record
from assay.sources.source import Report, raise_problem
from assay.sources.text_source import TextSource

_SHOWN_CHARS = 60


class JsonLinesSource(TextSource):
    """A file with one JSON object on each line. Blank lines are skipped."""

    kind = "a JSON lines file"

    def _read(self, report: Report) -> Iterator[Record]:
        path = self.path
        decode = msgspec.json.Decoder(dict[str, Any]).decode
        # Check only once: the caller of `records` has already checked the file.
        is_checked = report is not raise_problem
        row = 0
        with self._open_bytes() as stream:
            # Bytes instead of text: the decoder takes them directly, and only "\n" ends a line.
            for number, line in enumerate(stream, 1):
                if line.isspace():
                    continue
                row += 1
                try:
                    fields = decode(line)
                except (msgspec.DecodeError, RecursionError) as error:
                    where = Origin(path, row, number)
                    if row == 1 and _is_document(line):
                        if self.settings is None:
                            raise AuthorError(_document_problem(line, where)) from None
                        yield from self._as_document(report)
                        return
                    report(build_broken_line_problem(line, error, where))
                    continue
                if is_checked and (key := find_repeated_key(line, fields)) is not None:
                    report(build_repeated_key_problem(key, Origin(path, row, number)))
                    continue
                yield Record(fields, Origin(path, row, number))
        if not row:
            raise build_no_rows_error(path, "only blank lines")

    def _as_document(self, report: Report) -> Iterator[Record]:
        # Imported here: json_file imports this module, because a document can turn out to be lines.
        from assay.sources.json_file import JsonSource

        return JsonSource(self.stored, self.settings)._read(report)


def _is_document(first: bytes) -> bool:
    """Return whether the first line shows that the file is a single JSON document over several lines."""
    text = first.strip()
    return text in (b"{", b"[") or text.startswith(b"[{")


def _document_problem(first: bytes, where: Origin) -> Problem:
    what = (
        f"each line must be one JSON object; the first begins with {_format_beginning(first)},"
        " so this seems to be one JSON document"
    )
    return Problem("SOURCE-006", what, "name the file .json", where)


def build_broken_line_problem(line: bytes, error: Exception, where: Origin) -> Problem:
    """Return the problem of a line that is not a JSON object, with the column of the error."""
    text = line.decode().strip("\r\n")  # not UTF-8: raises, and the whole file is reported as such
    begins = f"the line begins with {_format_beginning(line)}"
    if isinstance(error, msgspec.ValidationError) and not text.lstrip().startswith("{"):
        # Judge by the first character: the rest may be broken too.
        kind = {"[": "a list", '"': "a string"}.get(text.lstrip()[0], "a bare value")
        fix = 'write every line as an object: {"column": value, ...}'
        return Problem("SOURCE-006", f"expected a JSON object, found {kind}; {begins}", fix, where)
    fault, column = explain_json_error(text, error)
    at = f" at column {column}" if column else ""
    fix = "fix the line; each line must be one complete JSON object"
    if re.search(r"\b(NaN|Infinity)\b", text[max((column or 1) - 2, 0) :][:12]):
        fix = "write null instead of NaN and Infinity, which JSON does not support"
    return Problem("SOURCE-006", f"broken JSON{at}: {fault}; {begins}", fix, where)


def explain_json_error(text: str, error: Exception) -> tuple[str, int | None]:
    """Return what is wrong with a JSON text, and the column, counted from 1 in the whole text.

    The standard library reports the position of every error; msgspec does not for a truncated text.
    """
    try:
        json.loads(text)
    except json.JSONDecodeError as fault:
        return fault.msg, fault.pos + 1
    except RecursionError:
        return "nested too deeply", None
    except ValueError as fault:  # a number of more digits than Python converts
        return str(fault), None
    # msgspec is stricter: NaN, a lone surrogate, a number out of range.
    message = str(error)
    if "truncated" in message:
        return "a lone surrogate (an escape from \\ud800 to \\udfff without its other half)", None
    place = re.search(r" \(byte (\d+)\)", message)
    if place is None:
        return message, None
    before = text.encode()[: int(place[1])].decode(errors="ignore")
    return message.replace(place[0], ""), len(before) + 1


def describe_kind(value: object) -> str:
    """Return the JSON type of a value with its article, for error messages."""
    if isinstance(value, dict):
        return f"an object with {len(value)} keys"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, str):
        return "a string"
    return "null" if value is None else f"{value!r}"


def _format_beginning(line: bytes) -> str:
    text = line.decode().strip()
    return repr(text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + "...")
