"""The base class of tasks: the spec, and the request kinds of its methods."""

from __future__ import annotations

import msgspec

from assay.core.prompt import Prompt, final_text, replace_final_text
from assay.core.request import METHOD_KINDS, Ask, Generate, Kind, Labels
from assay.core.task import TaskSpec

_SHOWN_CHARS = 400


class DescribedTask:
    """The part of a task that follows from its spec."""

    def __init__(self, spec: TaskSpec) -> None:
        self._spec = spec

    @property
    def spec(self) -> TaskSpec:
        """Return the spec that the manifest stores."""
        return self._spec

    def rename(self, name: str, family: str | None) -> None:
        """Give the task another name, before anything is read from it."""
        self._spec = msgspec.structs.replace(self._spec, name=name, family=family)

    def record_benchmark(self, name: str) -> None:
        """Add the name under which the user asked for the dataset."""
        self._spec = msgspec.structs.replace(self._spec, benchmark=name)

    def record(self, name: str, value: object) -> None:
        """Add a setting that affects the samples but was determined outside the dialect."""
        settings = {**self._spec.settings, name: value}
        self._spec = msgspec.structs.replace(self._spec, settings=settings)

    @property
    def kinds(self) -> frozenset[Kind]:
        """Return the request kinds of the task."""
        return frozenset(METHOD_KINDS[method] for method in self._spec.methods)


def get_prompt_before_answer(ask: Ask) -> Prompt:
    """Return the prompt of an ask up to the answer, for display; of a whole text its beginning."""
    if isinstance(ask, Generate | Labels):
        return ask.prompt
    if ask.windows is not None:
        text = final_text(ask.prompt)
        more = f" ... ({len(text):,} characters)" if len(text) > _SHOWN_CHARS else ""
        return text[:_SHOWN_CHARS] + more
    before = replace_final_text(ask.prompt, final_text(ask.prompt)[: ask.start])
    return before if isinstance(before, str) or final_text(before) else before[:-1]
