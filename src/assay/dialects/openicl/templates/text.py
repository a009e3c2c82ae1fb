r"""Template texts with placeholders: `{column}`, or an author's own token for a column.

Corrected: every placeholder is filled once, so a value that contains `{other}` stays unchanged. Faithful: one
column after the other is replaced in the whole text, including values and examples, as in the original.
Anything that is not a column stays as written: JSON, LaTeX, `\boxed{}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from assay.core.errors import listing, suggest_name
from assay.dialects.openicl.templates.template_problems import TemplateFault

Row: TypeAlias = Mapping[str, Any]
"""A row of a dataset: values by column."""

_BRACES = re.compile(r"\{(?P<column>[^{}]+)\}")

# Words in braces that are text: arguments of LaTeX commands, indices, doubled braces.
_WORDS = re.compile(
    r"(?:\\[A-Za-z]+\*?[ ]?|[\^_])(?:\[[^\]]*\])?(?:\{[^{}]*\}[ ]?)+"
    r"|(?<![{}\\])\{(?P<column>[^\W\d]\w*)\}(?![{}])"
)


class TemplateMarks(NamedTuple):
    """The special tokens in a template's texts."""

    ice_token: str | None = None
    """The token for the examples."""
    sep_token: str | None = None
    """The token before the answer, which is never shown."""
    tokens: Mapping[str, str] | None = None
    """Token by column, if placeholders are tokens; None: placeholders are `{column}`."""
    is_faithful: bool = False


class TemplateText:
    """A parsed text of a template."""

    def __init__(self, raw: str, marks: TemplateMarks) -> None:
        self._marks = marks
        self.raw = raw.replace(marks.sep_token, "") if marks.sep_token else raw
        """The text as written, without the separator token."""
        self.separated_at = raw.find(marks.sep_token) if marks.sep_token else -1
        """The position of that token, or -1."""
        self.columns: list[str] = []
        """The names of its placeholders in order, including words that are not columns."""
        self.spans: list[tuple[int, int]] = []
        """The positions of its placeholders and tokens."""
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
        """Return the column of a token; None for the examples."""
        if token == self._marks.ice_token:
            return None
        return next(column for column, one in (self._marks.tokens or {}).items() if one == token)

    @property
    def has_examples(self) -> bool:
        """Whether it contains examples."""
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
        """Return the position of the first placeholder of a column."""
        at = next(at for at, one, _ in self._holes if one == column)
        return sum(map(len, self._pieces[:at]))

    def until(self, end: int) -> TemplateText:
        """Return the beginning of the text, up to a position that is not inside a placeholder."""
        return TemplateText(self.raw[:end], self._marks._replace(sep_token=None))

    def faults(self, columns: Sequence[str], place: str) -> Iterator[TemplateFault]:
        """Yield faults for placeholders without a column."""
        for column in () if self._marks.tokens is None else dict.fromkeys(self.columns):
            if column not in columns:
                what = f"column_token_map of {place} names {column!r}, but there is no such column"
                yield TemplateFault(
                    f"{what}{suggest_name(column, columns)}", f"write one of {listing(columns)}"
                )
        if self._marks.is_faithful or self._marks.tokens is not None:
            return
        words = (match["column"] for match in _WORDS.finditer(self.raw))
        for word in dict.fromkeys(word for word in words if word and word not in columns):
            alike = [column for column in columns if column.casefold() == word.casefold()]
            near = f" (did you mean {alike[0]!r}?)" if alike else suggest_name(word, columns)
            what = f"{place} has the placeholder {{{word}}}, but there is no such column"
            fix = f"write one of the columns {listing(columns)}, or remove the braces"
            yield TemplateFault(
                f"{what}{near}", f"{fix}; with --fidelity faithful it stays in the prompt unchanged"
            )


def fill_repeatedly(text: str, row: Row, marks: TemplateMarks) -> str:
    """Replace one column after the other, in the text and in previously inserted values."""
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
    """Return the length of the common prefix of all texts that cuts no placeholder."""
    first, last = min(text.raw for text in texts), max(text.raw for text in texts)
    end = next((at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    for text in texts:
        end = min([end, *(begin for begin, stop in text.spans if begin < end < stop)])
    return end
