"""Solved examples, rendered by the ice template, each as its own right answer has it."""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_

from assay.core.errors import listing, suggest_name
from assay.core.prompt import Message
from assay.dialects.openicl.templates.dialogue_line import DialogueLine
from assay.dialects.openicl.templates.layouts import DialogueLayout, Examples, StringLayout
from assay.dialects.openicl.templates.template_parsing import (
    LabelLayouts,
    TemplateLayout,
    TextLayout,
    is_messages_layout,
)
from assay.dialects.openicl.templates.text import Row
from assay.dialects.shared.template import TemplateFailure


class ExampleRenderer:
    """Renders examples. Most rows show the same ones, so the last rendering is kept."""

    def __init__(
        self,
        ice: TemplateLayout | None,
        *,
        output_column: str | None,
        separator: str,
        end: str,
        is_faithful: bool,
    ) -> None:
        """Take what stands between examples and after the last; a dialogue's turns need neither."""
        self._ice = ice
        self._output_column = output_column
        is_joined = not isinstance(ice, DialogueLayout)
        self._separator, self._end = (separator, end) if is_joined else ("", "")
        # The original ends examples that are not there, too.
        self._none = Examples(self._end if is_faithful else "")
        self._last: tuple[Sequence[Row], Examples] = ((), self._none)

    def shown(self, shots: Sequence[Row]) -> Examples:
        """Return examples as they stand in a prompt of text or turns."""
        if not shots:
            return self._none
        rows, examples = self._last
        if len(rows) == len(shots) and all(map(is_, rows, shots)):
            return examples
        self._last = (tuple(shots), self._rendered(shots))
        return self._last[1]

    def messages(self, shots: Sequence[Row]) -> list[Message]:
        """Return examples as they stand between messages."""
        if not shots:
            return []
        if not is_messages_layout(self._ice):
            raise TemplateFailure("examples between messages need a RawPromptTemplate as the ice_template")
        return [message for row in shots for message in self._ice.messages(row, ())]

    def _rendered(self, shots: Sequence[Row]) -> Examples:
        said = [self._layout(row).example(row) for row in shots]
        texts = [one for one in said if isinstance(one, str)]
        if len(texts) == len(said):
            return Examples(self._separator.join(texts) + self._end)
        lines: list[DialogueLine] = []
        for number, one in enumerate(said):
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
        raise TemplateFailure("examples are shown, and no ice_template says how they look")


def find_label_layout(labels: LabelLayouts, label: object) -> TextLayout:
    """Return the template of a label; `1` and `"1"` are one label where only one of them is there."""
    try:
        if label in labels:
            return labels[label]
    except TypeError:
        pass  # A list or a dict is no label; what it reads like may still be one.
    alike = [one for one in labels if str(one) == str(label)]
    if len(alike) == 1:
        return labels[alike[0]]
    names = [str(one) for one in labels]
    near = suggest_name(str(label), names)
    raise TemplateFailure(f"no template has the label {label!r:.60}{near}; the labels are {listing(names)}")
