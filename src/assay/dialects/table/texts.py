"""The task for a table of plain texts: their perplexity, computed in windows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay.core.errors import PlanError, Problem
from assay.core.method import Method
from assay.core.origin import Origin
from assay.core.prompt import Prompt
from assay.core.request import Request, Span, Windows, make_request
from assay.core.sample import Sample
from assay.core.setting_names import list_settings
from assay.core.task import ComponentSpec, Scorer, TaskSettings, TaskSpec
from assay.dialects.shared.described_task import DescribedTask
from assay.dialects.table.layout import hash_content
from assay.dialects.table.meta import TableMeta, read_methods
from assay.dialects.table.rows import TableRows

SEPARATOR = "\n\n"
"""The separator between joined texts."""
_SHOWN_CHARS = 400
_QUESTION_KEYS = (
    "human_prompt", "bot_prompt", "template", "output_column", "options", "option_labels", "answer_is",
    "ppl_target", "output_config",
)  # fmt: skip


def is_joined(windows: Windows) -> bool:
    """Whether a window scheme joins the whole dataset into one text."""
    return windows.scheme != "classic"


def build_windows(meta: TableMeta) -> Windows:
    """Return how texts are cut into windows; unset lengths are left to the model."""
    return Windows(meta.windows or "classic", meta.window_tokens, meta.stride)


def check_texts(path: str, meta: TableMeta, settings: TaskSettings) -> None:
    """Raise if a setting does not apply to plain texts."""
    where = Origin(path)
    problems: list[Problem] = []
    for method in settings.methods or read_methods(meta, path):
        if method != Method.PPL:
            what = f"method {method!r} needs a question, but this is a table of plain texts"
            fix = "use --method ppl, or name the question column with --input-columns"
            problems.append(Problem("TABLE-007", what, fix, where))

    def reject(what: str, fix: str) -> None:
        problems.append(Problem("TABLE-016", what, fix, where))

    if settings.shots:
        reject(f"{settings.shots} shots requested, but plain texts have no solved examples", "remove --shots")
    if unused := [key for key in _QUESTION_KEYS if getattr(meta, key) is not None]:
        reject(f"{list_settings(unused)} given, but a plain text has no prompt and no answer", "remove them")
    windows = build_windows(meta)
    if windows.stride is not None and windows.scheme != "hf-stride":
        reject(
            f"a stride is given, but the window scheme is {windows.scheme!r}",
            "add --windows hf-stride, or remove the stride",
        )
    if windows.stride and windows.length and windows.stride > windows.length:
        reject(
            f"a stride of {windows.stride:,} tokens skips tokens between windows of {windows.length:,}",
            "use a stride of at most --window-tokens",
        )
    groups = [key for key in ("category_column", "cluster_column") if getattr(meta, key)]
    if is_joined(windows) and groups:
        reject(
            f"{windows.scheme!r} windows join all texts into one, so there are no groups or clusters",
            f"use --windows classic, or remove {list_settings(groups)}",
        )
    if problems:
        raise PlanError(problems)


class TextTask(DescribedTask):
    """Perplexity of plain texts, separately or joined into one."""

    def __init__(self, spec: TaskSpec, rows: TableRows, windows: Windows) -> None:
        super().__init__(spec)
        self._rows = rows
        self._windows = windows

    def samples(self) -> Iterator[Sample]:
        """Yield one sample per row, or one sample for all rows."""
        samples = self._rows.samples()
        if not is_joined(self._windows):
            yield from samples
            return
        (column,) = self._rows.layout.question_columns
        fields = {column: SEPARATOR.join(self._text(sample) for sample in samples)}
        yield Sample(hash_content(fields), fields, Origin(self._rows.table.path))

    def requests(self, sample: Sample, *, shots: int | None = None) -> Sequence[Request]:
        """Return the request for the log-likelihood of the whole text. There are no examples to drop."""
        ask = Span(self._text(sample), 0, windows=self._windows)
        return [make_request(self._spec.name, sample.id, Method.PPL, "text", 0, ask)]

    def scorers(self) -> Sequence[ComponentSpec | Scorer]:
        """Return the scorer."""
        return [ComponentSpec("text_likelihood", {"track": Method.PPL})]

    def preview_prompt(self, sample: Sample, method: Method) -> Prompt:
        """Return the beginning of a text, for display."""
        text = self._text(sample)
        if len(text) <= _SHOWN_CHARS:
            return text
        return f"{text[:_SHOWN_CHARS]} ... ({len(text):,} characters)"

    def _text(self, sample: Sample) -> str:
        return self._rows.layout.get_question(sample.fields)
