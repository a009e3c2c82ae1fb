"""Prompts of text and media, as a task asks for prompts."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.core.origin import Origin
from assay.core.prompt import Prompt
from assay.dialects.openicl.dataset_rows import Split
from assay.dialects.openicl.templates.multi_turn import Exchange
from assay.dialects.openicl.templates.multimodal import MultimodalTemplate
from assay.dialects.openicl.templates.template_parsing import TemplateSpec
from assay.dialects.openicl.templates.templates import LabelledPrompt
from assay.dialects.shared.differences import Difference
from assay.dialects.shared.template import TemplateFailure

MULTIMODAL_TEMPLATE = "MMPromptTemplate"


class MultimodalPrompts:
    """Prompts of one dataset; all its files were looked at before."""

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
        """Take the template and all rows; raise what is wrong with it, with them and with their files."""
        self._template = MultimodalTemplate(
            spec.arguments,
            output_column=output_column,
            replace_token=replace_token,
            roots=roots,
            is_faithful=is_faithful,
            where=where,
        )
        self.settings = self._template.survey(zip(rows.rows, rows.origins, strict=True)).settings()
        """What the plan is checked against: the media that the model must take."""

    def generation(self, row: Mapping[str, Any], shots: Sequence[Mapping[str, Any]] = ()) -> Prompt:
        """Return a row's conversation; such templates have no place for examples."""
        return self._template.messages(row)

    def labelled(
        self, row: Mapping[str, Any], shots: Sequence[Mapping[str, Any]], label: Hashable
    ) -> LabelledPrompt:
        """Refuse: a template of media is for answers that are written."""
        raise TemplateFailure(f"{MULTIMODAL_TEMPLATE} has no labels: ask by GenInferencer")

    def turns(self, row: Mapping[str, Any]) -> list[Exchange]:
        """Return none: it has one turn."""
        return []

    def differences(self, *, is_labelled: bool) -> Sequence[Difference[Any]]:
        """Return where the original does otherwise."""
        return self._template.differences
