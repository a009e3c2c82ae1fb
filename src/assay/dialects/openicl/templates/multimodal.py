"""`MMPromptTemplate`: prompts with text and media, from a row's marked `content`.

    dict(round=[dict(role="HUMAN", prompt_mm={
        "text": {"type": "text", "text": "{question} Answer in one word."},
        "image": {"type": "image_url", "image_url": {"url": "file://{image}"}},
    })])

The row defines the parts and their order; the template defines how each kind of part is written. Examples are
not supported: the format has no place for them in such a template.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from assay.core.difference import Difference
from assay.core.errors import Problem, Problems, listing, suggest_name
from assay.core.media import Medium, Part, Text
from assay.core.origin import Origin
from assay.core.prompt import Message, Role
from assay.dialects.openicl.media import CONTENT, MEDIA_DIFFERENCES, split_content
from assay.dialects.shared.messages import build_media_part, clip_address
from assay.sources.media_formats import BrokenMedia

_ROLES: dict[str, Role] = {"HUMAN": "user", "BOT": "assistant", "SYSTEM": "system"}
_TEXT = "text"
_KINDS = (_TEXT, *map(str, Medium))
_HOLES: dict[str, str] = {_TEXT: "question", **{str(medium): str(medium) for medium in Medium}}
"""The placeholder of each kind of part, which a segment of the row's content fills."""
PART_EXAMPLE = (
    'prompt_mm={"text": {"type": "text", "text": "{question}"}, '
    '"image": {"type": "image_url", "image_url": {"url": "file://{image}"}}}'
)
"""An example of parts: {question} is the text between its marks, {image} the path between its marks."""
_HOLE = re.compile(r"\{(\w+)\}")

MULTIMODAL_DIFFERENCES: Mapping[str, Difference[object]] = {
    **MEDIA_DIFFERENCES,
    "columns_in_media_prompts": Difference(
        "a media template replaces only {question}, {image}, {video} and {audio}; {column} stays unchanged",
        "the text parts and other items of the template are filled with the row's columns too; the column "
        "of the right answer is left empty",
    ),
}
"""The differences between the original and Assay in these templates."""


class MediaSurvey(NamedTuple):
    """The media in all rows of a dataset."""

    media: frozenset[Medium]
    has_addresses: bool
    """Whether some media are web addresses."""

    def settings(self) -> dict[str, Any]:
        """Return the task settings for checking the plan."""
        addresses = {"has_media_addresses": True} if self.has_addresses else {}
        return {"media": sorted(self.media), **addresses} if self.media else {}


class _Item(NamedTuple):
    """One turn of the template."""

    role: Role
    prompt: str | dict[str, str]
    """A text, or the template of each kind of part."""


class MultimodalTemplate:
    """A compiled media template."""

    def __init__(
        self,
        arguments: Mapping[str, Any],
        *,
        output_column: str | None = None,
        replace_token: str = "",
        roots: Sequence[Path] = (),
        is_faithful: bool = False,
        where: Origin | None = None,
    ) -> None:
        """Check a template and raise all problems. Relative paths are also looked up in `roots`."""
        self._output_column = output_column
        self._replace_token = replace_token
        self._roots = tuple(roots)
        self._is_faithful = is_faithful
        problems = Problems()
        for what, fix in find_template_problems(arguments):
            problems.add(Problem("MEDIA-001", what, fix, where))
        if not is_faithful:
            # The original leaves it in the prompt unchanged.
            for what, fix in _content_problems(arguments):
                problems.add(Problem("MEDIA-001", what, fix, where))
        problems.raise_if_any()
        template = arguments["template"]
        begin = template.get("begin", [])
        items = [*([begin] if isinstance(begin, str) else begin), *template["round"]]
        self._items = [_read_item(item) for item in items]
        if self._items[-1].role == "assistant":  # The reply to generate.
            self._items.pop()

    @property
    def differences(self) -> Mapping[str, Difference[object]]:
        """Return the differences from the original."""
        return MULTIMODAL_DIFFERENCES

    def messages(self, row: Mapping[str, Any], where: Origin | None = None) -> tuple[Message, ...]:
        """Return a row's conversation; raise AuthorError with all problems of the row."""
        problems = Problems()
        messages = tuple(self._messages(row, problems, where))
        problems.raise_if_any()
        return messages

    def survey(self, rows: Iterable[tuple[Mapping[str, Any], Origin]]) -> MediaSurvey:
        """Check the media of all rows before a model is loaded; raise all problems."""
        problems = Problems()
        media: set[Medium] = set()
        has_addresses = False
        for row, where in rows:
            for message in self._messages(row, problems, where):
                media |= {part.medium for part in message.media}
                has_addresses = has_addresses or any(part.url for part in message.media)
        problems.raise_if_any()
        return MediaSurvey(frozenset(media), has_addresses)

    def _messages(
        self, row: Mapping[str, Any], problems: Problems, where: Origin | None
    ) -> Iterator[Message]:
        columns = {} if self._is_faithful else dict(row)
        if self._output_column in columns:
            columns[self._output_column] = self._replace_token
        turn: list[Part] = []
        for index, item in enumerate(self._items):
            if isinstance(item.prompt, str):
                turn.append(Text(_fill_holes(item.prompt, columns)))
            else:
                turn += self._parts(item.prompt, row, columns, problems, where)
            # Merge adjacent turns of one role, because not every chat template supports two.
            if item is self._items[-1] or self._items[index + 1].role != item.role:
                yield _message(item.role, turn)
                turn = []

    def _parts(
        self,
        ways: Mapping[str, str],
        row: Mapping[str, Any],
        columns: Mapping[str, Any],
        problems: Problems,
        where: Origin | None,
    ) -> Iterator[Part]:
        content = row.get(CONTENT)
        place = None if where is None else where.at(CONTENT)
        if not isinstance(content, str) or not content.strip():
            seen = f"is {content!r:.60}" if CONTENT in row else f"is missing; the columns are {listing(row)}"
            what = f"the column {CONTENT!r} {seen}, expected text and media between their marks"
            problems.add(Problem("MEDIA-002", what, "return this column from `load`", place))
            return
        for medium, value in split_content(content, is_faithful=self._is_faithful):
            kind = _TEXT if medium is None else str(medium)
            if kind not in ways:
                what = f"the row contains {kind}, but prompt_mm only has {listing(ways)}"
                problems.add(Problem("MEDIA-002", what, f"add {kind!r} to prompt_mm", place))
            elif medium is None:
                # A column named like a medium may contain its whole base64 data.
                others = {name: one for name, one in columns.items() if name not in _HOLES.values()}
                yield Text(_fill_holes(ways[kind], {**others, _HOLES[_TEXT]: value}))
            else:
                address = ways[kind].replace("{" + _HOLES[kind] + "}", value)
                try:
                    yield build_media_part(medium, address, roots=self._roots, is_faithful=self._is_faithful)
                except BrokenMedia as trouble:
                    what = f"{medium} {clip_address(address)!r}: {trouble}"
                    fix = "provide a valid file, or correct the path"
                    problems.add(Problem("MEDIA-003", what, fix, place))


def find_template_problems(arguments: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the problems of a template, with fixes."""
    template = arguments.get("template")
    if not isinstance(template, dict) or not isinstance(template.get("round"), list) or not template["round"]:
        what = f"the template of MMPromptTemplate is {template!r:.60}, expected a dict with a list 'round'"
        yield what, 'write template=dict(round=[dict(role="HUMAN", prompt_mm={...})])'
        return
    for key in template.keys() - {"begin", "round"}:
        yield (
            f"the template has the unknown key {key!r}{suggest_name(str(key), ('begin', 'round'))}",
            "remove it",
        )
    begin = template.get("begin", [])
    for item in [*(begin if isinstance(begin, list) else [begin]), *template["round"]]:
        yield from _item_problems(item)
    if not any(isinstance(item, dict) and "prompt_mm" in item for item in template["round"]):
        what = "no item of 'round' has a 'prompt_mm'"
        yield what, f"write {PART_EXAMPLE}; or use PromptTemplate for text only"


def _content_problems(arguments: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield problems for a template that uses the whole column of marked parts as text."""
    template = arguments.get("template")
    items = template.get("round", []) if isinstance(template, dict) else []
    for item in items if isinstance(items, list) else []:
        ways = item.get("prompt_mm") if isinstance(item, dict) else None
        for kind, part in ways.items() if isinstance(ways, dict) else ():
            if f"{{{CONTENT}}}" in (_read_part_template(str(kind), part) or ""):
                what = f"prompt_mm[{kind!r}] uses {{{CONTENT}}}, the column with all parts and their marks"
                yield what, f"write {PART_EXAMPLE}"


def _item_problems(item: object) -> Iterator[tuple[str, str]]:
    if isinstance(item, str):
        return
    if not isinstance(item, dict):
        yield f"an item of the template is {item!r:.60}, expected a dict or a text", "write dict(role=...)"
        return
    known = ("role", "fallback_role", "prompt", "prompt_mm")
    for key in item:
        if key not in known:
            yield (
                f"an item has the unknown key {key!r}{suggest_name(str(key), known)}",
                f"use {listing(known)}",
            )
    if _role(item) is None:
        what = f"an item has the role {item.get('role')!r}{suggest_name(str(item.get('role')), _ROLES)}"
        yield what, f"use {listing(_ROLES)}, or name one of them as fallback_role"
    prompt = item.get("prompt_mm", item.get("prompt"))
    if "prompt_mm" not in item and not isinstance(prompt, str):
        yield f"the prompt of an item is {prompt!r:.60}, expected a text", "write prompt='...' or prompt_mm"
    elif "prompt_mm" in item and not isinstance(prompt, dict):
        yield f"prompt_mm is {prompt!r:.60}, expected a dict", f"write prompt_mm with {listing(_KINDS)}"
    elif isinstance(prompt, dict):
        for kind, part in prompt.items():
            yield from _part_problems(kind, part)


def _part_problems(kind: object, part: object) -> Iterator[tuple[str, str]]:
    if kind not in _KINDS:
        yield (
            f"prompt_mm has the unknown key {kind!r}{suggest_name(str(kind), _KINDS)}",
            f"use {listing(_KINDS)}",
        )
        return
    name = _name(str(kind))
    example = '{"type": "text", "text": "{question}"}'
    if kind != _TEXT:
        example = f'{{"type": "{name}", "{name}": {{"url": "file://{{{kind}}}"}}}}'
    if _read_part_template(str(kind), part) is None:
        yield f"prompt_mm[{kind!r}] is {part!r:.80}, expected a part with {name!r}", f"write {example}"
        return
    assert isinstance(part, dict)
    unknown = [key for key in part if key not in ("type", name)]
    if isinstance(part[name], dict):
        unknown += [key for key in part[name] if key != "url"]
    for key in unknown:
        yield f"prompt_mm[{kind!r}] has the unknown key {key!r}, which would have no effect", "remove it"


def _name(kind: str) -> str:
    """Return the content key of a part of a kind."""
    return _TEXT if kind == _TEXT else f"{kind}_url"


def _read_part_template(kind: str, part: object) -> str | None:
    """Return the template of a part: its text, or its address with or without a dict around it."""
    written = part.get(_name(kind)) if isinstance(part, dict) else None
    if isinstance(written, dict) and kind != _TEXT:
        written = written.get("url")
    return written if isinstance(written, str) else None


def _role(item: Mapping[str, Any]) -> Role | None:
    for name in (item.get("role"), item.get("fallback_role")):
        if isinstance(name, str) and name in _ROLES:
            return _ROLES[name]
    return None


def _read_item(item: str | Mapping[str, Any]) -> _Item:
    if isinstance(item, str):
        return _Item("user", item)
    role = _role(item)
    assert role is not None
    if "prompt_mm" not in item:
        return _Item(role, item["prompt"])
    ways = {kind: _read_part_template(kind, part) for kind, part in item["prompt_mm"].items()}
    return _Item(role, {kind: way for kind, way in ways.items() if way is not None})


def _message(role: Role, parts: Sequence[Part]) -> Message:
    """Return a turn; a single text becomes plain text, as without this template."""
    if len(parts) == 1 and isinstance(parts[0], Text):
        return Message(role, parts[0].text)
    return Message(role, tuple(parts))


def _fill_holes(text: str, values: Mapping[str, Any]) -> str:
    """Return a text with its placeholders filled once; placeholders without a value stay unchanged."""
    return _HOLE.sub(lambda hole: str(values[hole[1]]) if hole[1] in values else hole[0], text)
