"""The prompts of a task with text and media."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.core.difference import Difference
from assay.core.origin import Origin
from assay.core.prompt import Prompt
from assay.dialects.openicl.dataset_rows import Split
from assay.dialects.openicl.templates.multi_turn import Exchange
from assay.dialects.openicl.templates.multimodal import MultimodalTemplate
from assay.dialects.openicl.templates.template_parsing import TemplateSpec
from assay.dialects.openicl.templates.templates import LabelledPrompt
from assay.dialects.shared.template import TemplateFailure

MULTIMODAL_TEMPLATE = "MMPromptTemplate"


class MultimodalPrompts:
    """The prompts of one dataset, whose media files have all been checked."""

    format = "multimodal"
    labels: tuple[Hashable, ...] = ()
    columns: tuple[str, ...] = ()

    def __init__(
        self,
        spec: TemplateSpec,
        rows: Split,
        *,
        output_column: str | None,
        replace_token: str,
        roots: Sequence[Path],
        is_faithful: bool,
        where: Origin,
    ) -> None:
        """Check the template, all rows and their files; raise all problems."""
        self._template = MultimodalTemplate(
            spec.arguments,
            output_column=output_column,
            replace_token=replace_token,
            roots=roots,
            is_faithful=is_faithful,
            where=where,
        )
        self.settings = self._template.survey(zip(rows.rows, rows.origins, strict=True)).settings()
        """The media that the model must support, for checking the plan."""

    def generation(self, row: Mapping[str, Any], shots: Sequence[Mapping[str, Any]] = ()) -> Prompt:
        """Return a row's conversation. These templates do not support examples."""
        return self._template.messages(row)

    def render_label(
        self, row: Mapping[str, Any], shots: Sequence[Mapping[str, Any]], label: Hashable
    ) -> LabelledPrompt:
        """Raise, because media templates support only generation."""
        raise TemplateFailure(f"{MULTIMODAL_TEMPLATE} has no labels: use GenInferencer")

    def turns(self, row: Mapping[str, Any]) -> list[Exchange]:
        """Return an empty list, because there is a single turn."""
        return []

    def differences(self, *, is_labelled: bool) -> Mapping[str, Difference[Any]]:
        """Return the differences from the original."""
        return self._template.differences
