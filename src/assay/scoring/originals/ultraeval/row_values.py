"""Metrics of one answer to one question, by the names in task configs.

Each takes a row and returns its value from 0 to 1. An answer is the post-processor's result for one output; a
row that a metric cannot judge is a ValueError, never a 0.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from assay.core.difference import Difference
from assay.core.errors import listing
from assay.core.sample import Sample
from assay.scoring.metrics.gaokao import several_letters
from assay.scoring.metrics.rouge_sets import compute_set_rouge, make_tokenizer
from assay.scoring.metrics.translation import chrf as corpus_chrf
from assay.scoring.metrics.translation import corpus_bleu
from assay.scoring.metrics.words import bag_f1

_PERCENT = 100.0
_AROUND_LETTERS = "()[]*.,:;"
"""Characters that models write around an option's letter."""

SEVERAL_RIGHT_LETTERS = "agieval_multiple_answer_post"
"""Its answers are all letters of a question with several right ones."""
ONE_QUESTION = "gaokao_multi_choice_post"
"""Its answers are all letters of one question; in GAOKAO-Bench's other kinds, one letter per part."""
SEPARATOR = "[SEP]"
"""Separates two readings of an answer to several questions; see `postprocess/options.py`."""


class Row(NamedTuple):
    """One answer to one question, with everything a metric may use."""

    answer: str
    targets: tuple[str, ...]
    """The targets."""
    sample: Sample
    postprocess: str = ""
    """The name of the post-processor that produced the answer."""
    is_faithful: bool = False
    """Whether to return the original's value, right or wrong."""


def prefix_match(row: Row) -> float:
    """Return 1 if the answer starts with a target."""
    return _score_any(row.answer.strip().startswith(target.strip()) for target in row.targets)


def exact_match(row: Row) -> float:
    """Return 1 if the answer equals a target, ignoring spaces.

    If several letters are right together, they are compared as a set; the original accepts each of them
    alone.
    """
    if row.postprocess == SEVERAL_RIGHT_LETTERS and not row.is_faithful:
        return float(set(row.answer) == set("".join(row.targets)))
    answer = row.answer.replace(" ", "")
    if not answer.strip():
        return 0.0
    return _score_any(answer == target.replace(" ", "") for target in row.targets)


def in_match(row: Row) -> float:
    """Return 1 if the answer in lower case is a target. The original does not lower-case the targets."""
    targets = row.targets if row.is_faithful else [target.lower().strip() for target in row.targets]
    return float(row.answer.lower().strip() in targets)


def qa_match(row: Row) -> float:
    """Return 1 if the first named option is right, or the answer starts with the right option's text.

    An option is named by a word of the first line such as `(B)`, `B.` or `B)`. For its text, a question that
    the model repeats is skipped.
    """
    answer = row.answer.strip()
    if _first_option(answer, len(row.sample.choices), is_faithful=row.is_faithful) in row.targets:
        return 1.0
    if not row.sample.gold:
        raise ValueError("qa_match: target_scores has no right option")
    question = row.sample.fields["question"]
    question_text = question if isinstance(question, str) else "\n".join(question)
    if answer.startswith(question_text.strip()):
        answer = answer[len(question_text.strip()) :].strip()
    right = row.sample.choices[min(row.sample.gold)].strip()
    return float(answer.startswith(right) and (bool(right) or row.is_faithful))


def _first_option(answer: str, n_options: int, *, is_faithful: bool) -> str:
    """Return the first option named in the first line, as `(B)`; a text that matches no target if none.

    The original knows `(B)` and `B`, with or without a full stop after it.
    """
    letters = string.ascii_uppercase[:n_options]
    for word in answer.split("\n")[0].split(" "):
        bare = word.removesuffix(".") if is_faithful else word.strip(_AROUND_LETTERS)
        for letter in letters:
            if bare in (letter, f"({letter})"):
                return f"({letter})"
    return "no option"


def f1_score(row: Row) -> float:
    """Return the best F1 between the words of the answer and of a target, split at white space."""
    answer = row.answer.split()
    # Two texts without words share nothing here, as in the original.
    return max((bag_f1(answer, target.split()) if answer else 0.0 for target in row.targets), default=0.0)


def bleu(row: Row, *, tokenizer: str = "13a") -> float:
    """Return BLEU of the answer as a corpus of one sentence; the mean of these is not corpus BLEU."""
    make_tokenizer(tokenizer)
    return corpus_bleu([row.answer], [row.targets], tokenize=tokenizer) / _PERCENT


def chrf(row: Row) -> float:
    """Return chrF of the answer (character n-grams, no words)."""
    return corpus_chrf([row.answer], [row.targets]) / _PERCENT


def rouge(row: Row, *, tokenizer: str = "13a", index: str = "f1", n_gram: str = "1") -> float:
    """Return ROUGE against the best target; the original uses only the first."""
    measure, order = index[:1].lower(), str(n_gram)[:1].lower()
    _check_choice("index", index, measure, ("f", "p", "r"))
    _check_choice("n_gram", n_gram, order, ("1", "2", "l"))
    targets = row.targets[:1] if row.is_faithful else row.targets
    return max(
        compute_set_rouge(row.answer, target, n_gram=order, index=measure, tokenizer=tokenizer)
        for target in targets
    )


def _check_choice(name: str, given: str, meant: str, known: Sequence[str]) -> None:
    if meant not in known:
        raise ValueError(f"{name}={given!r}: expected one of {listing(known)}")


def gaokaobench_match(row: Row) -> float:
    """Return the share of a question's parts with the right letter, in order.

    A question with several right letters is one part: a half for some of them without a wrong one. The
    original compares its first letter with all of the right ones, which never matches.
    """
    if not any(row.targets):
        raise ValueError("gaokaobench_match: there is no right letter")
    is_one = row.postprocess == ONE_QUESTION
    if is_one and not row.is_faithful:
        return several_letters(row.answer, "".join(row.targets))
    # A text of letters arrives as one target, a list of letters as several.
    wanted = row.targets if is_one or len(row.targets) > 1 else tuple(row.targets[0])
    marked, mark, every = row.answer.partition(SEPARATOR)
    given = marked
    if mark and len(marked) != len(wanted):
        given = every[: len(wanted)]
    # Fewer or more letters than parts: the rest is ignored.
    return sum(got == right for got, right in zip(given, wanted, strict=False)) / len(wanted)


def _score_any(hits: Iterable[bool]) -> float:
    return float(any(hits))


ROW_METRICS: Mapping[str, Callable[..., float]] = {
    "prefix_match": prefix_match,
    "exact_match": exact_match,
    "in_match": in_match,
    "qa_match": qa_match,
    "f1_score": f1_score,
    "bleu": bleu,
    "chrf": chrf,
    "rouge": rouge,
    "gaokaobench_match": gaokaobench_match,
}
"""The metrics that need only one answer."""

ZERO_ON_ERROR = frozenset({"bleu", "chrf", "rouge"})
"""Metrics for which the original gives 0 to a text that it cannot judge."""

CORRECTED: Mapping[str, Difference[object]] = {
    "prefix_match": Difference(
        "an empty target matches every answer", "a row without a target is not graded"
    ),
    "exact_match": Difference(
        f"if several letters are right ({SEVERAL_RIGHT_LETTERS}), each alone is accepted, and all of "
        "them together are wrong",
        "the letters are compared as a set",
    ),
    "in_match": Difference(
        "the answer is converted to lower case, the targets are not", "both are converted to lower case"
    ),
    "qa_match": Difference(
        "a letter counts only as `(B)`, `B` and `B.`; a right option without text matches every answer",
        "it also counts as `B)`, `B:` and `**B**`; such an option matches no answer, and its letter counts",
    ),
    "bleu": Difference("a text that cannot be judged is 0", "it is a failure, reported with the value"),
    "chrf": Difference("a text that cannot be judged is 0", "it is a failure, reported with the value"),
    "rouge": Difference(
        "only the first of several targets counts; a text without words is 0",
        "the best target counts; a target without words is a failure, reported with the value",
    ),
    "gaokaobench_match": Difference(
        f"a question with several right letters ({ONE_QUESTION}) is never right",
        "all of them score 1, some of them without a wrong one score 0.5",
    ),
    "function_execution": Difference(
        "MBPP's test_setup_code is not run, and the task's text precedes the program as a string, "
        "which breaks the program if the text contains quotes; programs that call os.getcwd, "
        "os.remove, subprocess, shutil.rmtree and the like do not pass, nor do those that import "
        "resource or psutil",
        "the set-up code runs before the tests, and the text is omitted; the sandbox runs such programs",
    ),
    "gpt4_eval": Difference(
        "any reply but the word yes is 0, and so is a missing reply",
        "a missing reply, or one that starts with neither yes nor no, is a failure, reported with the value",
    ),
}
"""Metrics whose values differ from the original's."""
