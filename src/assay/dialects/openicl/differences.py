"""The differences between the originals and Assay in inference. docs/formats/openicl.md shows this table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from assay.core.difference import AppliedDifference, Difference, apply_differences, select_differences
from assay.core.method import Method
from assay.dialects.openicl.inferencing import Inference
from assay.dialects.openicl.multimodal_prompts import MultimodalPrompts
from assay.dialects.openicl.retrievers.differences import DIFFERENCES as RETRIEVER_DIFFERENCES
from assay.dialects.openicl.retrievers.retriever import Retriever
from assay.dialects.openicl.templates.templates import Templates


class EntryTraits(NamedTuple):
    """The traits of a task that determine which differences can affect it."""

    inference: Inference
    templates: Templates | MultimodalPrompts
    retriever: Retriever
    scoring: frozenset[str]
    """The names of the evaluator and the post-processors."""
    has_own_evaluator: bool
    is_chat: bool
    has_pred_role: bool
    has_range: bool
    shows_reference: bool
    """Whether a judge's prompt has a placeholder for the reference."""
    names_path: bool
    """Whether the loader gets a path that is not relative to the working folder."""

    @property
    def is_labelled(self) -> bool:
        """Return whether labels are compared."""
        return self.inference.form in ("options", "continuation")

    @property
    def n(self) -> int:
        """Return the number of repeats per row."""
        return self.inference.sampling.n if self.inference.method == Method.GEN else 1


DIFFERENCES: Mapping[str, Difference[EntryTraits]] = {
    "ppl_mean": Difference(
        "with transformers models, the mean over a prompt's tokens divides by all of them, although the "
        "first is not scored; with vLLM it divides by the scored tokens",
        "the mean divides by the scored tokens",
        lambda one: one.inference.form == "options" and one.inference.normalizing_str is None,
    ),
    "ppl_padding": Difference(
        "in a batch of texts of different lengths, OpenCompass also scores the first padding token",
        "padding is never scored",
        lambda one: one.inference.form == "options",
        is_reproduced=False,
    ),
    "ppl_in_a_chat": Difference(
        "models with a chat template do not support likelihoods",
        "the part of the answer in which the labels differ is scored, after the chat template",
        lambda one: one.is_labelled and one.is_chat,
        is_reproduced=False,
    ),
    "ppl_normalised": Difference(
        "normalizing_str cannot be set in a config",
        "the mean of the label's own part after normalizing_str is subtracted from its mean after the prompt",
        lambda one: one.inference.normalizing_str is not None,
        is_reproduced=False,
    ),
    "continuation": Difference(
        "transformers models use the continuation's length as the prompt's length; vLLM divides the sum by "
        "the number of tokens of the text minus one",
        "the log-probabilities of the continuation's own tokens are summed",
        lambda one: one.inference.form == "continuation",
        is_reproduced=False,
    ),
    "spaces_at_the_end": Difference(
        "a prompt can end in a space, which the model would have generated with its next word",
        "spaces at the end of a prompt are removed",
        lambda one: one.inference.form in ("answer", "choices") and not one.is_chat,
    ),
    "stop_texts": Difference(
        "AISBench ignores stopping_criteria, and OpenCompass passes them only to local models",
        "every model stops at them",
        lambda one: one.inference.form == "answer" and bool(one.inference.sampling.stop),
    ),
    "repeats": Difference(
        "with several answers per row, an evaluator without details reports only the value of the last "
        "answers, and AISBench mixes answers to different rows in pass@k and cons@k",
        "the mean over all answers is reported, and answers are grouped by row",
        lambda one: one.n > 1 and not one.inference.is_voted,
    ),
    "repeats_of_a_range": Difference(
        "OpenCompass repeats the rows before it applies test_range",
        "test_range selects rows, and each selected row is repeated",
        lambda one: one.n > 1 and one.has_range,
        is_reproduced=False,
    ),
    "votes": Difference(
        "the evaluator receives the list of all answers, so there is no vote",
        "the most frequent answer counts; on a tie, the first",
        lambda one: one.inference.is_voted,
        is_reproduced=False,
    ),
    "turns": Difference(
        "the model's answers overwrite the right ones, and rows are numbered by their turns",
        "each turn has its own answer and its own right answer",
        lambda one: one.inference.form == "chat",
        is_reproduced=False,
    ),
    "pred_role": Difference(
        "pred_role should cut an answer at the next role's marker, but has no effect",
        "it has no effect either: a chat model ends its own turn",
        lambda one: one.has_pred_role,
        is_reproduced=False,
    ),
    "judge_reference": Difference(
        "`{reference}` in a judge's prompt is empty, so the judge does not see the right answer",
        "it is the row's column `reference`, or else the right answer",
        lambda one: one.shows_reference,
    ),
    "own_evaluator_scale": Difference(
        "tables show every value as a percentage, whatever its scale",
        "values are shown as returned; a value is a percentage only if it is 100 times the mean of the "
        "rows' `correct`",
        lambda one: one.has_own_evaluator,
        is_reproduced=False,
    ),
    "data_paths": Difference(
        "relative paths start at a folder of the environment or the installation, and missing files are "
        "downloaded",
        "they start at the working folder, --data-root, the config's folder or the checkout, in this order; "
        "a name that is in none of them is looked up on the hub, and nothing else is downloaded",
        lambda one: one.names_path,
        is_reproduced=False,
    ),
}
"""The differences in inference. Templates and retrievers have their own; those of scoring are passed in."""


def find_differences(
    one: EntryTraits, corrected: Mapping[str, Difference[object]], *, is_faithful: bool
) -> tuple[AppliedDifference, ...]:
    """Return the differences that can affect a task, and what this run did about each."""
    found = {
        **select_differences(DIFFERENCES, one),
        **{name: corrected[name] for name in sorted(one.scoring & corrected.keys())},
        **one.templates.differences(is_labelled=one.is_labelled),
        **select_differences(RETRIEVER_DIFFERENCES, one.retriever),
    }
    return apply_differences(found, is_faithful=is_faithful)
