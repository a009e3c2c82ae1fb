"""The templates of a dataset for one model: from a row and its examples to a prompt."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from operator import is_
from typing import Any, NamedTuple

from assay.core.difference import Difference, select_differences
from assay.core.errors import listing, suggest_name
from assay.core.prompt import Message, Prompt
from assay.dialects.openicl.templates.checks import find_example_faults, find_faults
from assay.dialects.openicl.templates.dialogue_turns import DialogueLine
from assay.dialects.openicl.templates.differences import (
    TEMPLATE_DIFFERENCES,
    find_template_traits,
)
from assay.dialects.openicl.templates.layouts import DialogueLayout, Examples, StringLayout, TemplateItem
from assay.dialects.openicl.templates.multi_turn import Exchange, MultiTurnLayout
from assay.dialects.openicl.templates.raw import to_dialogue_lines
from assay.dialects.openicl.templates.rendering import (
    RenderedPrompt,
    Renderer,
    RenderOptions,
    find_white_space_start,
)
from assay.dialects.openicl.templates.template_parsing import (
    LabelLayouts,
    TemplateLayout,
    TemplatePair,
    TemplateSpec,
    TextLayout,
    is_messages_layout,
    list_items,
    read_template,
)
from assay.dialects.openicl.templates.template_problems import TemplateFault
from assay.dialects.openicl.templates.text import Row, TemplateText, find_common_prefix
from assay.dialects.shared.template import TemplateFailure


class ExampleRenderer:
    """Renders examples. Most rows have the same ones, so the last rendering is cached."""

    def __init__(
        self,
        ice: TemplateLayout | None,
        *,
        output_column: str | None,
        separator: str,
        end: str,
        is_faithful: bool,
    ) -> None:
        """Store the separators between examples and after the last; turns of a dialogue need none."""
        self._ice = ice
        self._output_column = output_column
        is_joined = not isinstance(ice, DialogueLayout)
        self._separator, self._end = (separator, end) if is_joined else ("", "")
        # The original also adds the final separator if there are no examples.
        self._none = Examples(self._end if is_faithful else "")
        self._last: tuple[Sequence[Row], Examples] = ((), self._none)

    def render_shots(self, shots: Sequence[Row]) -> Examples:
        """Return examples for a prompt of text or turns."""
        if not shots:
            return self._none
        rows, examples = self._last
        if len(rows) == len(shots) and all(map(is_, rows, shots)):
            return examples
        self._last = (tuple(shots), self._render_examples(shots))
        return self._last[1]

    def messages(self, shots: Sequence[Row]) -> list[Message]:
        """Return examples for a prompt of messages."""
        if not shots:
            return []
        if not is_messages_layout(self._ice):
            raise TemplateFailure("examples between messages need a RawPromptTemplate as the ice_template")
        return [message for row in shots for message in self._ice.messages(row, ())]

    def _render_examples(self, shots: Sequence[Row]) -> Examples:
        rendered = [self._layout(row).example(row) for row in shots]
        texts = [one for one in rendered if isinstance(one, str)]
        if len(texts) == len(rendered):
            return Examples(self._separator.join(texts) + self._end)
        lines: list[DialogueLine] = []
        for number, one in enumerate(rendered):
            spoken = [DialogueLine(None, one, None, "examples")] if isinstance(one, str) else one
            lines += [line._replace(example=number) for line in spoken]
            if self._separator:
                lines.append(DialogueLine(None, self._separator, None, "begin"))
        if self._end:
            lines.append(DialogueLine(None, self._end, None, "begin"))
        return Examples(lines=tuple(lines))

    def _layout(self, row: Row) -> TextLayout:
        if isinstance(self._ice, dict):
            if self._output_column is None or self._output_column not in row:
                raise TemplateFailure(
                    f"an example has no column {self._output_column!r}, which names its label"
                )
            return find_label_layout(self._ice, row[self._output_column])
        if isinstance(self._ice, StringLayout | DialogueLayout):
            return self._ice
        raise TemplateFailure("there are examples, but no ice_template to render them")


def find_label_layout(labels: LabelLayouts, label: object) -> TextLayout:
    """Return the template of a label; `1` and `"1"` are the same label if only one of them exists."""
    try:
        if label in labels:
            return labels[label]
    except TypeError:
        pass  # A list or a dict is not a label, but its text may be one.
    alike = [one for one in labels if str(one) == str(label)]
    if len(alike) == 1:
        return labels[alike[0]]
    names = [str(one) for one in labels]
    near = suggest_name(str(label), names)
    raise TemplateFailure(f"no template has the label {label!r:.60}{near}; the labels are {listing(names)}")


class LabelledPrompt(NamedTuple):
    """A prompt that includes a label."""

    prompt: Prompt
    start: int
    """The start of the part in which labels differ, including the white space before it."""
    answer: int | None = None
    """The position of the separator token of a text template, or None."""


class _LabelDifference(NamedTuple):
    """The position where the templates of all labels begin to differ."""

    item: int
    lead: TemplateText | None
    """The common beginning of the item for all labels, or None."""


class Templates:
    """The prompts of one dataset for one model. Call `problems` first."""

    def __init__(
        self,
        prompt: TemplateSpec | None,
        ice: TemplateSpec | None,
        *,
        output_column: str | None,
        rendering: RenderOptions,
        ice_separator: str = "\n",
        ice_eos_token: str = "\n",
        replace_token: str = "",
    ) -> None:
        """Store the templates of a config.

        The separators come from the retriever; in the original, a retriever without examples has empty ones.
        `replace_token` replaces the right answer in a prompt for generation.
        """
        self._output_column = output_column
        self._rendering = rendering
        self._replace_token = replace_token
        self._faults: list[TemplateFault] = []
        self._pair = TemplatePair(
            self._read(prompt, "prompt_template"),
            self._read(ice, "ice_template"),
            is_ice_alone=prompt is None,
        )
        self._prompt = self._pair.prompt_layout
        if prompt is None and ice is None:
            what = "there is neither a prompt_template nor an ice_template"
            self._faults.append(
                TemplateFault(what, "write prompt_template=dict(type=PromptTemplate, template=...)")
            )
        self._renderer = Renderer(rendering)
        self._examples = ExampleRenderer(
            self._pair.ice,
            output_column=output_column,
            separator=ice_separator,
            end=ice_eos_token,
            is_faithful=rendering.is_faithful,
        )
        self._is_joined = bool(ice_separator or ice_eos_token)
        self._differing = self._find_label_difference()

    def _read(self, spec: TemplateSpec | None, of: str) -> TemplateLayout | None:
        if spec is None:
            return None
        faults: list[TemplateFault] = []
        read = read_template(spec, is_faithful=self._rendering.is_faithful, faults=faults)
        self._faults += [TemplateFault(f"{of}: {what}", fix) for what, fix in faults]
        return read

    @property
    def labels(self) -> tuple[Hashable, ...]:
        """Return the labels with their own template, in order."""
        return tuple(self._prompt) if isinstance(self._prompt, dict) else ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of the placeholders in the prompt's template, whether columns or not."""
        return tuple(dict.fromkeys(name for item in list_items(self._prompt) for name in item.text.columns))

    @property
    def format(self) -> str:
        """Return the prompt format, in the words of a dataset's README."""
        read = next(iter(self._prompt.values())) if isinstance(self._prompt, dict) else self._prompt
        return "" if read is None else read.format

    def problems(
        self, columns: Sequence[str], of_examples: Sequence[str] | None = None, *, has_shots: bool
    ) -> list[TemplateFault]:
        """Return all faults, given the columns of the rows and whether examples are retrieved.

        `of_examples`: the columns of the example rows, if they differ.
        """
        shown = columns if of_examples is None or not has_shots else of_examples
        found = [*self._faults, *find_faults(self._pair, self._rendering, columns, shown)]
        if has_shots and not found:
            found += find_example_faults(self._pair, self._rendering)
        return list(dict.fromkeys(found))

    def generation(self, row: Row, shots: Sequence[Row] = ()) -> Prompt:
        """Return the prompt for generation; of several turns, that of the first."""
        template = self._prompt
        if isinstance(template, MultiTurnLayout):
            return self.render_turn(row, 0)
        if isinstance(template, dict):
            # For generation the original uses the first label's template.
            template = next(iter(template.values()))
        if template is None:
            raise TemplateFailure(self._format_faults())
        shows_gold = is_messages_layout(template) and self._rendering.is_faithful
        if self._output_column is not None and not shows_gold:
            row = {**row, self._output_column: self._replace_token}
        if isinstance(template, StringLayout | DialogueLayout):
            rendered = template.say(row, self._examples.render_shots(shots))
            if isinstance(rendered, str):
                return self._renderer.show_text(rendered, is_generation=True)
            return self._renderer.show(rendered, is_generation=True).prompt
        messages = _drop_empty_reply(template.messages(row, self._examples.messages(shots)))
        if self._rendering.is_chat:
            return self._renderer.merge_messages(messages)
        return self._renderer.show(to_dialogue_lines(messages), is_generation=True).prompt

    def render_turn(self, row: Row, turn: int) -> Prompt:
        """Return the prompt of one of several turns; earlier turns have the dataset's answers."""
        if not isinstance(self._prompt, MultiTurnLayout):
            raise TemplateFailure(self._format_faults() or "the template has no turns")
        return self._renderer.show(self._prompt.lines(row, turn), is_generation=True).prompt

    def turns(self, row: Row) -> list[Exchange]:
        """Return the turns of a row; empty if the template has no turns."""
        return self._prompt.exchanges(row) if isinstance(self._prompt, MultiTurnLayout) else []

    def render_label(self, row: Row, shots: Sequence[Row], label: Hashable) -> LabelledPrompt:
        """Return the prompt with a label; without per-label templates, the label fills the output column.

        The label None means no label: the row is rendered as it is. Chat models also get plain text if the
        template is one text or ends without a reply, because then no turn contains the answer.
        """
        template = self._prompt
        if isinstance(template, dict):
            template = find_label_layout(template, label)
            if self._output_column is not None and label is not None and not self._rendering.is_faithful:
                # Per-label templates do not need the label, and must not show the right answer.
                row = {**row, self._output_column: self._replace_token}
        elif self._output_column is not None and label is not None and not self._rendering.is_faithful:
            row = {**row, self._output_column: label}
        if template is None or isinstance(template, MultiTurnLayout):
            raise TemplateFailure(
                self._format_faults() or "labels that span several turns cannot be compared"
            )
        if not isinstance(template, StringLayout | DialogueLayout):
            shots = () if self._rendering.is_faithful else shots
            messages = template.messages(row, self._examples.messages(shots))
            return self._find_label_start(
                self._render_with_reply(messages, len(template.items) - 1), row, Examples()
            )
        examples = self._examples.render_shots(shots)
        rendered = template.say(row, examples)
        if isinstance(rendered, str):
            labelled = self._find_label_start(RenderedPrompt(rendered, {0: 0}), row, examples)
            at = template.items[0].text.separated_at
            if at < 0:
                return labelled
            return labelled._replace(answer=len(template.items[0].text.until(at).fill(row, examples.text)))
        return self._find_label_start(self._render_with_answer(rendered), row, examples)

    def find_examples(self, prompt: Prompt, shots: Sequence[Row]) -> tuple[int, int] | None:
        """Return the start and end of the examples in a prompt of one text; None if they cannot be found."""
        if not shots or not isinstance(prompt, str):
            return None
        examples = self._examples.render_shots(shots)
        shown: Prompt = examples.text
        if examples.lines:
            shown = self._renderer.show(examples.lines, is_generation=False).prompt
        start = prompt.find(shown) if isinstance(shown, str) and shown else -1
        return None if start < 0 else (start, start + len(shown))

    def differences(self, *, is_labelled: bool) -> Mapping[str, Difference[Any]]:
        """Return the possible differences from the original's prompts."""
        traits = find_template_traits(
            self._pair,
            self._rendering,
            output_column=self._output_column,
            is_labelled=is_labelled,
            is_joined=self._is_joined,
        )
        return select_differences(TEMPLATE_DIFFERENCES, traits)

    def _render_with_answer(self, lines: Sequence[DialogueLine]) -> RenderedPrompt:
        """Render lines including the answer; as plain text if a chat ends without a reply."""
        shown = self._renderer.show(lines, is_generation=False)
        if isinstance(shown.prompt, str) or shown.prompt[-1].role == "assistant":
            return shown
        return self._renderer.show_plain(lines)

    def _render_with_reply(self, messages: tuple[Message, ...], last: int) -> RenderedPrompt:
        """Render messages including the answer; only the position of the template's last item is known."""
        if self._rendering.is_chat and messages and messages[-1].role == "assistant":
            return RenderedPrompt(self._renderer.merge_messages(messages), {last: 0})
        lines = to_dialogue_lines(messages)
        shown = (
            self._renderer.show_plain(lines) if self._rendering.is_chat else self._render_with_answer(lines)
        )
        place = shown.places.get(len(messages) - 1)
        is_there = place is not None and self._differing is not None and self._differing.item == last
        return RenderedPrompt(shown.prompt, {last: place} if is_there and place is not None else {})

    def _find_label_start(self, rendered: RenderedPrompt, row: Row, examples: Examples) -> LabelledPrompt:
        place = None if self._differing is None else rendered.place_of(self._differing.item)
        if place is None or self._differing is None:
            return LabelledPrompt(rendered.prompt, 0)
        item, lead = self._differing
        if lead is not None and item in rendered.places:
            place += len(lead.fill(row, examples.text))
        return LabelledPrompt(rendered.prompt, find_white_space_start(rendered.prompt, place))

    def _find_label_difference(self) -> _LabelDifference | None:
        if isinstance(self._prompt, dict):
            return _find_first_difference([layout.items for layout in self._prompt.values()])
        if self._prompt is None or self._output_column is None:
            return None
        for at, item in enumerate(self._prompt.items):
            if self._output_column in item.text.columns:
                return _LabelDifference(at, item.text.until(item.text.find_hole(self._output_column)))
        return None

    def _format_faults(self) -> str:
        return "; ".join(fault.what for fault in self._faults)


def _drop_empty_reply(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Drop an empty reply, which the model begins itself."""
    if messages and messages[-1].role == "assistant" and not messages[-1].content:
        return messages[:-1]
    return messages


def _find_first_difference(templates: Sequence[Sequence[TemplateItem]]) -> _LabelDifference | None:
    """Return where templates begin to differ; None if they do not, or if one is a prefix of another."""
    for at, items in enumerate(zip(*templates, strict=False)):
        if all(item.is_like(items[0]) for item in items[1:]):
            continue
        if any((item.role, item.fallback) != (items[0].role, items[0].fallback) for item in items):
            return _LabelDifference(at, None)
        texts = [item.text for item in items]
        end = find_common_prefix(texts)
        # A label whose text is a prefix of another's would have no own text to score.
        return (
            None if any(len(text.raw) == end for text in texts) else _LabelDifference(at, texts[0].until(end))
        )
    return None
