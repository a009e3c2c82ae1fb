"""The task that a table of plain texts becomes: their perplexity, window by window."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay.core.errors import PlanError, Problem, listing
from assay.core.origin import Origin
from assay.core.prompt import Prompt
from assay.core.request import Request, Span, Windows, make_request
from assay.core.sample import Sample
from assay.core.task import ComponentSpec, Scorer, TaskSettings, TaskSpec
from assay.dialects.shared.described_task import DescribedTask
from assay.dialects.table.layout import hash_content
from assay.dialects.table.meta import TableMeta
from assay.dialects.table.rows import TableRows

SEPARATOR = "\n\n"
"""What stands between texts that are joined."""
_SHOWN_CHARS = 400
_QUESTION_KEYS = (
    "human_prompt", "bot_prompt", "template", "output_column", "options", "option_labels", "answer_is",
    "ppl_target", "output_config",
)  # fmt: skip


def is_joined(windows: Windows) -> bool:
    """Whether a scheme's convention is one text made of the whole dataset."""
    return windows.scheme != "classic"


def build_windows(said: TableMeta) -> Windows:
    """Return how texts are cut; what nobody said is left to the model."""
    return Windows(said.windows or "classic", said.window_tokens, said.stride)


def check_texts(path: str, said: TableMeta, settings: TaskSettings) -> None:
    """Raise for everything that was asked and has no meaning for plain texts."""
    where = Origin(path)
    problems: list[Problem] = []
    for method in settings.methods or _list_methods(said.infer_method):
        if method != "ppl":
            what = f"method {method!r} needs a question, and this is a table of plain texts"
            problems.append(Problem("TABLE-007", what, "use --method ppl, or name the question", where))

    def refuse(what: str, fix: str) -> None:
        problems.append(Problem("TABLE-016", what, fix, where))

    if settings.shots:
        refuse(f"{settings.shots} shots asked for, but plain texts have no solved examples", "drop --shots")
    if unused := [key for key in _QUESTION_KEYS if getattr(said, key) is not None]:
        refuse(f"{listing(unused)} given, but a plain text has no prompt and no answer", "drop them")
    windows = build_windows(said)
    if windows.stride is not None and windows.scheme != "hf-stride":
        refuse(
            f"a stride was given, but the windows are {windows.scheme!r}",
            "add --windows hf-stride, or drop the stride",
        )
    if windows.stride and windows.length and windows.stride > windows.length:
        refuse(
            f"a stride of {windows.stride:,} tokens leaves out tokens between windows of {windows.length:,}",
            "give a stride of at most --window-tokens",
        )
    if is_joined(windows) and (said.category_column or said.cluster_column):
        refuse(
            f"{windows.scheme!r} windows join all texts into one, which has no groups and no clusters",
            "use --windows classic, or drop the columns",
        )
    if problems:
        raise PlanError(problems)


def _list_methods(methods: str | tuple[str, ...] | None) -> tuple[str, ...]:
    return (methods,) if isinstance(methods, str) else methods or ()


class TextTask(DescribedTask):
    """Plain texts, each for itself or all as one."""

    def __init__(self, spec: TaskSpec, rows: TableRows, windows: Windows) -> None:
        super().__init__(spec)
        self._rows = rows
        self._windows = windows

    def samples(self) -> Iterator[Sample]:
        """Yield a sample for each row, or one for all of them."""
        samples = self._rows.samples()
        if not is_joined(self._windows):
            yield from samples
            return
        (column,) = self._rows.layout.question_columns
        fields = {column: SEPARATOR.join(self._text(sample) for sample in samples)}
        yield Sample(hash_content(fields), fields, Origin(self._rows.table.path))

    def requests(self, sample: Sample, *, shots: int | None = None) -> Sequence[Request]:
        """Ask how likely the whole text is; there are no examples that could be left out."""
        ask = Span(self._text(sample), 0, windows=self._windows)
        return [make_request(self._spec.name, sample.id, "ppl", "text", 0, ask)]

    def scorers(self) -> Sequence[ComponentSpec | Scorer]:
        """Name the scorer."""
        return [ComponentSpec("text_likelihood", {"track": "ppl"})]

    def shown(self, sample: Sample, method: str) -> Prompt:
        """Return the beginning of a text, for a person to see."""
        text = self._text(sample)
        if len(text) <= _SHOWN_CHARS:
            return text
        return f"{text[:_SHOWN_CHARS]} ... ({len(text):,} characters)"

    def _text(self, sample: Sample) -> str:
        return self._rows.layout.get_question(sample.fields)
