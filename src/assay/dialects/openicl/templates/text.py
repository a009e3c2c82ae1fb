r"""Text with holes. A hole is `{column}`, or a token of the author's own that stands for a column.

Corrected: every hole is filled once, so a value that holds `{other}` is shown as it is. Faithful: one column
after the other is replaced in all of the text, values and examples included, as the original does.
What is no column stays as it is written: JSON, LaTeX, `\boxed{}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from assay.core.errors import listing, suggest_name
from assay.dialects.openicl.templates.template_problems import TemplateFault

Row: TypeAlias = Mapping[str, Any]
"""A row of a dataset: what its columns hold."""

_BRACES = re.compile(r"\{(?P<column>[^{}]+)\}")

# Words between braces that are meant as text: arguments of LaTeX commands, indices, doubled braces.
_WORDS = re.compile(
    r"(?:\\[A-Za-z]+\*?[ ]?|[\^_])(?:\[[^\]]*\])?(?:\{[^{}]*\}[ ]?)+"
    r"|(?<![{}\\])\{(?P<column>[^\W\d]\w*)\}(?![{}])"
)


class TemplateMarks(NamedTuple):
    """What else than plain words a template's texts hold."""

    ice_token: str | None = None
    """Stands for the examples."""
    sep_token: str | None = None
    """Stands before the answer, and is never shown."""
    tokens: Mapping[str, str] | None = None
    """Column to token, where holes are written as tokens; None: holes are `{column}`."""
    is_faithful: bool = False


class TemplateText:
    """A text of a template, read once."""

    def __init__(self, raw: str, marks: TemplateMarks) -> None:
        self._marks = marks
        self.raw = raw.replace(marks.sep_token, "") if marks.sep_token else raw
        """The text as it is written, without the token that separates the answer."""
        self.separated_at = raw.find(marks.sep_token) if marks.sep_token else -1
        """Where that token stood; -1: nowhere."""
        self.columns: list[str] = []
        """The columns of its holes, in order; among them may be words that are no column."""
        self.spans: list[tuple[int, int]] = []
        """Where its holes and tokens stand."""
        self._pieces: list[str] = []
        self._holes: list[tuple[int, str, str]] = []
        self._examples_at: list[int] = []
        end = 0
        for match in self._matches():
            column = match.groupdict().get("column")
            if column is None:
                column = self._find_column(match[0])
            self._pieces += [self.raw[end : match.start()], match[0]]
            self.spans.append(match.span())
            end = match.end()
            if column is None:
                self._examples_at.append(len(self._pieces) - 1)
            else:
                self._holes.append((len(self._pieces) - 1, column, match[0]))
                self.columns.append(column)
        self._pieces.append(self.raw[end:])

    def _matches(self) -> Iterator[re.Match[str]]:
        tokens = [*(self._marks.tokens or {}).values(), self._marks.ice_token]
        literal = "|".join(re.escape(one) for one in sorted(filter(None, tokens), key=len, reverse=True))
        holes = "" if self._marks.tokens is not None else _BRACES.pattern
        pattern = "|".join(filter(None, (literal, holes)))
        return re.finditer(pattern, self.raw) if pattern else iter(())

    def _find_column(self, token: str) -> str | None:
        """Return the column that a token stands for; None: it stands for the examples."""
        if token == self._marks.ice_token:
            return None
        return next(column for column, one in (self._marks.tokens or {}).items() if one == token)

    @property
    def has_examples(self) -> bool:
        """Whether examples are shown in it."""
        return bool(self._examples_at)

    def fill(self, row: Row, examples: str = "") -> str:
        """Return the text of a row."""
        if self._marks.is_faithful:
            token = self._marks.ice_token
            return fill_repeatedly(self.raw.replace(token, examples) if token else self.raw, row, self._marks)
        if not self._holes and not self._examples_at:
            return self.raw
        pieces = self._pieces.copy()
        get = row.get
        for at, column, written in self._holes:
            value = get(column, written)
            pieces[at] = value if type(value) is str else str(value)
        for at in self._examples_at:
            pieces[at] = examples
        return "".join(pieces)

    def find_hole(self, column: str) -> int:
        """Return where the first hole of a column begins."""
        at = next(at for at, one, _ in self._holes if one == column)
        return sum(map(len, self._pieces[:at]))

    def until(self, end: int) -> TemplateText:
        """Return the beginning of the text, up to a place that cuts no hole."""
        return TemplateText(self.raw[:end], self._marks._replace(sep_token=None))

    def faults(self, columns: Sequence[str], place: str) -> Iterator[TemplateFault]:
        """Yield the holes that no column fills."""
        for column in () if self._marks.tokens is None else dict.fromkeys(self.columns):
            if column not in columns:
                what = f"column_token_map of {place} names {column!r}, and there is no such column"
                yield TemplateFault(
                    f"{what}{suggest_name(column, columns)}", f"write one of {listing(columns)}"
                )
        if self._marks.is_faithful or self._marks.tokens is not None:
            return
        words = (match["column"] for match in _WORDS.finditer(self.raw))
        for word in dict.fromkeys(word for word in words if word and word not in columns):
            alike = [column for column in columns if column.casefold() == word.casefold()]
            near = f" (did you mean {alike[0]!r}?)" if alike else suggest_name(word, columns)
            what = f"{place} has the placeholder {{{word}}}, and there is no such column"
            fix = f"write one of the columns {listing(columns)}, or take the braces away"
            yield TemplateFault(
                f"{what}{near}", f"{fix}; with --fidelity faithful it is shown as it is written"
            )


def fill_repeatedly(text: str, row: Row, marks: TemplateMarks) -> str:
    """Replace one column after the other, in the text and in what was put into it before."""
    if marks.tokens is not None:
        for column, token in marks.tokens.items():
            if column in row:
                text = text.replace(token, str(row[column]))
        return text
    for column, value in row.items():
        if "{" not in text:
            break
        text = text.replace(f"{{{column}}}", str(value))
    return text


def find_common_prefix(texts: Sequence[TemplateText]) -> int:
    """Return up to where all texts are the same, cutting no hole of any of them."""
    first, last = min(text.raw for text in texts), max(text.raw for text in texts)
    end = next((at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    for text in texts:
        end = min([end, *(begin for begin, stop in text.spans if begin < end < stop)])
    return end
