"""The differences between the originals and Assay in inference. docs/formats/openicl.md shows this table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from assay.core.task import OriginalDifference
from assay.dialects.openicl.inferencing import Inference
from assay.dialects.openicl.multimodal_prompts import MultimodalPrompts
from assay.dialects.openicl.retrievers.differences import DIFFERENCES as RETRIEVER_DIFFERENCES
from assay.dialects.openicl.retrievers.retriever import Retriever
from assay.dialects.openicl.templates.templates import Templates
from assay.dialects.shared.differences import Difference, select_differences, touches_every_task


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
        return self.inference.sampling.n if self.inference.method == "gen" else 1


DIFFERENCES: tuple[Difference[EntryTraits], ...] = (
    Difference(
        "ppl_mean",
        lambda one: one.inference.form == "options" and one.inference.normalizing_str is None,
        "the mean over a prompt's tokens divides by all of them with transformers models, though the first "
        "is not scored, and by the scored ones with vLLM",
        "it divides by the scored tokens",
    ),
    Difference(
        "ppl_padding",
        lambda one: one.inference.form == "options",
        "in a batch of texts of different lengths, OpenCompass also scores the first token of the padding",
        "padding is never scored",
        is_reproduced=False,
    ),
    Difference(
        "ppl_in_a_chat",
        lambda one: one.is_labelled and one.is_chat,
        "models with a chat template cannot be asked for likelihoods",
        "the part of the answer that labels differ in is scored, after the chat template",
        is_reproduced=False,
    ),
    Difference(
        "ppl_normalised",
        lambda one: one.inference.normalizing_str is not None,
        "normalizing_str cannot be reached from a config",
        "the means of the label's own part, after the prompt and after normalizing_str, are subtracted",
        is_reproduced=False,
    ),
    Difference(
        "continuation",
        lambda one: one.inference.form == "continuation",
        "transformers models take the continuation's length for that of the prompt, vLLM divides the sum by "
        "all tokens of the text less one",
        "the continuation's own tokens are summed up",
        is_reproduced=False,
    ),
    Difference(
        "spaces_at_the_end",
        lambda one: one.inference.form in ("answer", "choices") and not one.is_chat,
        "a prompt may end in a space, which the model would have written with its next word",
        "spaces at the end of a prompt are removed",
    ),
    Difference(
        "stop_texts",
        lambda one: one.inference.form == "answer" and bool(one.inference.sampling.stop),
        "AISBench does not pass stopping_criteria on, and OpenCompass passes them to local models alone",
        "answers end at them, whichever model is asked",
    ),
    Difference(
        "repeats",
        lambda one: one.n > 1 and not one.inference.is_voted,
        "several answers to a row: an evaluator without details gives the value of the last ones alone, and "
        "AISBench mixes answers to different rows in pass@k and cons@k",
        "the mean over all answers is given, and answers are grouped by their row",
    ),
    Difference(
        "repeats_of_a_range",
        lambda one: one.n > 1 and one.has_range,
        "OpenCompass repeats the rows before it cuts out test_range",
        "the range is of rows, and each of them is asked so often",
        is_reproduced=False,
    ),
    Difference(
        "votes",
        lambda one: one.inference.is_voted,
        "the evaluator is given the list of all answers: nobody votes any more",
        "the answer that most agree on counts, the first of equals",
        is_reproduced=False,
    ),
    Difference(
        "turns",
        lambda one: one.inference.form == "chat",
        "right answers are overwritten by the model's, and rows are numbered by their turns",
        "every turn has its own answer and its own right one",
        is_reproduced=False,
    ),
    Difference(
        "pred_role",
        lambda one: one.has_pred_role,
        "pred_role is there to cut an answer at the next role's mark, and never does",
        "it has no effect either: a chat model ends its own turn",
        is_reproduced=False,
    ),
    Difference(
        "judge_reference",
        lambda one: one.shows_reference,
        "`{reference}` in a judge's prompt is filled with nothing, so that the judge sees no right answer",
        "it is the row's column `reference`, else the right answer",
    ),
    Difference(
        "own_evaluator_scale",
        lambda one: one.has_own_evaluator,
        "a table shows every value as percent, whatever its scale",
        "every value is shown as returned; it is a percentage where it is 100 times the mean of the rows' "
        "`correct`",
        is_reproduced=False,
    ),
    Difference(
        "data_paths",
        lambda one: one.names_path,
        "relative paths count from a folder of the environment or of the installation, and what is not there "
        "is downloaded",
        "they count from the working folder, --data-root, the config's folder or the checkout, in this "
        "order; a name that is in none of them is looked up on the hub, and nothing else is downloaded",
        is_reproduced=False,
    ),
)
"""The differences in inference. Templates and retrievers have their own; those of scoring are passed in."""


def find_differences(
    one: EntryTraits, corrected: Mapping[str, tuple[str, str]], *, is_faithful: bool
) -> tuple[OriginalDifference, ...]:
    """Return the differences that can affect a task, and what this run did about each."""
    of_scoring: list[Difference[EntryTraits]] = [
        Difference(name, touches_every_task, *corrected[name])
        for name in sorted(one.scoring & corrected.keys())
    ]
    of_templates: list[Difference[EntryTraits]] = [
        Difference(
            difference.name,
            touches_every_task,
            difference.original,
            difference.corrected,
            difference.is_reproduced,
            difference.faithful,
        )
        for difference in one.templates.differences(is_labelled=one.is_labelled)
    ]
    return (
        *select_differences((*DIFFERENCES, *of_scoring), one, is_faithful=is_faithful),
        *select_differences(of_templates, one, is_faithful=is_faithful),
        *select_differences(RETRIEVER_DIFFERENCES, one.retriever, is_faithful=is_faithful),
    )
