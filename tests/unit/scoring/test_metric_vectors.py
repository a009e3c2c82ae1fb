"""Another system's test vectors: 47 metrics with inputs and expected outputs, run on ours.

Each file has a reading of its own here, from the vector's fields to our function's arguments. Files that
cannot run, vectors that are no values of their metric, and values from which ours differs on purpose are
listed with the reason; nothing is skipped in silence.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import pytest

from assay.scoring.extract.numbers import extract_number
from assay.scoring.extract.options import extract_option
from assay.scoring.metrics import Em
from assay.scoring.metrics.classification import macro_f1, matthews
from assay.scoring.metrics.estimators import g_pass_at_k, majority, mg_pass_at_k, pass_at_k
from assay.scoring.metrics.rouge import rouge
from assay.scoring.metrics.translation import chrf, corpus_bleu, ter
from assay.scoring.metrics.words import bag_f1
from assay.scoring.normalize import numbers_equal
from assay.scoring.originals.leap.aggregations import weighted_perplexity

FOLDER = Path(__file__).parents[3].parent / "shared" / "data" / "metric_vectors"

Case = dict[str, Any]


class Row:
    """One document of a vector with the model's response to it."""

    def __init__(self, doc: Case, response: Case) -> None:
        self.query: str = doc["query"]
        self.choices: list[str] = doc["choices"]
        gold = doc["gold_index"]
        self.gold: list[int] = gold if isinstance(gold, list) else [gold]
        self.golds = [self.choices[index] for index in self.gold]
        self.specific: Case = doc.get("specific") or {}
        self.texts: list[str] = response.get("text", [])
        self.logprobs: list[float] = response.get("logprobs", [])
        self.is_greedy: list[bool] = [bool(flag) for flag in response.get("argmax_logits_eq_gold", [])]

    @property
    def best(self) -> int:
        return self.logprobs.index(max(self.logprobs))


def one(case: Case) -> Row:
    return Row(case["doc"], case["model_response"])


def rows(case: Case) -> list[Row]:
    return [Row(*pair) for pair in zip(case["docs"], case["model_responses"], strict=True)]


# What a text is compared with ---------------------------------------------------------------------------


def same_text(text: str, gold: str) -> bool:
    return text == gold


def same_value(text: str, gold: str) -> bool:
    bare, target = text.strip("$"), gold.strip("$")
    return bare == target or numbers_equal(bare, target)


def same_number_found(text: str, gold: str) -> bool:
    found = extract_number(text).answer
    return found is not None and found == extract_number(gold).answer


def chosen_letter(text: str, row: Row) -> str | None:
    """The original knows as many letters as there are options."""
    return extract_option(text, "ABCDEFGH"[: len(row.choices)]).answer


def same_letter(row: Row) -> Callable[[str, str], bool]:
    return lambda text, gold: chosen_letter(text, row) is not None and chosen_letter(text, row) == gold


# Readings -----------------------------------------------------------------------------------------------


def read_exact_match(case: Case) -> Case:
    row, metric = one(case), Em()
    metric(row.texts, [row.golds])
    return {"em": metric.last_score_lists["EM"][0]}


def read_f1(case: Case) -> Case:
    row = one(case)
    return {"f1": max(bag_f1(row.texts[0].split(), gold.split()) for gold in row.golds)}


def read_rouge(*kinds: str, scale: float = 1.0) -> Callable[[Case], Case]:
    def read(case: Case) -> Case:
        row = one(case)
        scores = rouge(row.texts[0], row.golds, kinds=kinds)
        return {kind: scale * value for kind, value in scores.items()}

    return read


def read_corpus_bleu(case: Case) -> float:
    every = rows(case)
    return corpus_bleu([row.texts[0] for row in every], [row.golds for row in every])


def read_first_against_all(score: Callable[..., float], **options: Any) -> Callable[[Case], float]:
    """The vectors of chrF and TER were made with rows and streams of references mixed up.

    What the original scored is the first prediction alone, with the golds of all rows as its references.
    """

    def read(case: Case) -> float:
        every = rows(case)
        return score([every[0].texts[0]], [[row.golds[0] for row in every]], **options)

    return read


def read_labels(score: Callable[[Sequence[str], Sequence[str]], float]) -> Callable[[Case], float]:
    def read(case: Case) -> float:
        every = rows(case)
        return score([row.texts[0] for row in every], [row.golds[0] for row in every])

    return read


def read_mcc(case: Case) -> float:
    every = rows(case)
    return matthews([row.best for row in every], [row.gold[0] for row in every])


def read_word_perplexity(case: Case) -> float:
    """In language modelling the text that was scored is the query; choices play no part."""
    return weighted_perplexity([(sum(row.logprobs), len(row.query.split())) for row in rows(case)])


def read_extracted(case: Case) -> Case:
    row = one(case)
    return {"extractive_match": float(same_letter(row)(row.texts[0], row.golds[0]))}


def n_right(row: Row, same: Callable[[str, str], bool]) -> int:
    return sum(same(text, row.golds[0]) for text in row.texts)


def read_pass_at_k(
    same: Callable[[str, str], bool] | None = None, *, named: str = ""
) -> Callable[[Case], Case]:
    def read(case: Case) -> Case:
        row, k, n = one(case), case["metric_params"]["k"], case["metric_params"]["n"]
        assert n == len(row.texts)
        (name,) = case["expected_output"]
        assert name.startswith(f"{named}pass@k:k={k}&n={n}")
        return {name: pass_at_k(n, n_right(row, same or same_letter(row)), k)}

    return read


def read_g_pass_at_k(same: Callable[[str, str], bool], *, named: str = "") -> Callable[[Case], Case]:
    def read(case: Case) -> Case:
        row, params = one(case), case["metric_params"]
        k, n = params["k"], params["n"]
        right = n_right(row, same)
        result = {
            f"{named}g-pass@{k}_{share}": g_pass_at_k(n, right, k, share) for share in params["thresholds"]
        }
        return {**result, f"m{named}g-pass@{k}": mg_pass_at_k(n, right, k)}

    return read


def read_maj_at_k(case: Case) -> Case:
    row, k = one(case), case["metric_params"]["k"]
    return {f"maj@k:k={k}": float(majority(row.texts[:k]) in row.golds)}


READINGS: dict[str, Callable[[Case], Case | float]] = {
    "bleu": read_corpus_bleu,
    "chrf": read_first_against_all(chrf),
    "chrf_plus": read_first_against_all(chrf, word_order=2),
    "exact_match": read_exact_match,
    "expr_gold_metric": lambda case: {
        "extractive_match": float(n_right(one(case), same_number_found)),
    },
    "f1_score": read_f1,
    "f1_score_macro": read_labels(macro_f1),
    "g_pass_at_k": read_g_pass_at_k(same_text),
    "g_pass_at_k_latex": read_g_pass_at_k(same_value, named="latex_"),
    "g_pass_at_k_math": read_g_pass_at_k(same_value, named="math_"),
    "gpqa_instruct_metric": read_extracted,
    "gpqa_instruct_pass_at_k": read_pass_at_k(named="gpqa_"),
    "maj_at_k": read_maj_at_k,
    "mcc": read_mcc,
    "pass_at_k": read_pass_at_k(same_text),
    "pass_at_k_letters": read_pass_at_k(),
    "pass_at_k_math": read_pass_at_k(same_value),
    "rouge1": read_rouge("rouge1"),
    "rouge2": read_rouge("rouge2"),
    "rougeL": read_rouge("rougeL"),
    "rougeLsum": read_rouge("rougeLsum"),
    "rouge_t5": read_rouge("rouge1", "rouge2", "rougeL", "rougeLsum", scale=100),
    "ter": read_first_against_all(ter),
    "word_perplexity": read_word_perplexity,
}

CANNOT_RUN = {
    "bert_score": "needs a BERT model's embeddings",
    "bleurt": "needs a BLEURT checkpoint",
    "faithfulness": "SummaC needs a model of natural language inference",
    "simpleqa_judge": "needs a judge model",
}

NOT_IMPLEMENTED = frozenset(
    {
        *("acc_golds_likelihood", "avg_at_k", "avg_at_k_math", "bleu_1", "bleu_4", "copyright", "drop"),
        *("extractiveness", "f1_score_micro", "loglikelihood_acc", "loglikelihood_f1", "mrr"),
        *("multi_f1_numeric", "recall_at_k", "truthfulqa_mc_metrics"),
    }
)
"""Metrics that no dataset format names, and that no function here computes."""

NO_VALUES = {
    "bits_per_byte": "log-probabilities above 0; the expected 1.0 is a placeholder",
    "byte_perplexity": "log-probabilities above 0; the expected 1.0 is a placeholder",
    "prediction_perplexity": "log-probabilities above 0; the expected 1.0 is a placeholder",
    "target_perplexity": "no formula gives the expected values, one of which is a perplexity of 0",
}
"""The original's own test does not compare these: it stops at the input of the corpus's metric."""

DIFFERENCES: dict[tuple[str, int], tuple[Case, str]] = {
    ("g_pass_at_k_latex", 5): (
        {
            "latex_g-pass@5_0.0": 1.0,
            "latex_g-pass@5_0.25": 13 / 14,
            "latex_g-pass@5_0.5": 0.5,
            "latex_g-pass@5_0.75": 1 / 14,
            "latex_g-pass@5_1.0": 0.0,
            "mlatex_g-pass@5": 2 / 5 * (1 / 14),
        },
        "the original knows n(n+1)/2 and its LaTeX fraction for equal by symbolic algebra; ours compares "
        "texts and numbers, and finds 4 right where it finds 5",
    ),
    ("g_pass_at_k_math", 2): (
        {
            "math_g-pass@2_0.0": 5 / 6,
            "math_g-pass@2_0.25": 5 / 6,
            "math_g-pass@2_0.5": 5 / 6,
            "math_g-pass@2_0.75": 1 / 6,
            "math_g-pass@2_1.0": 1 / 6,
            "mmath_g-pass@2": 1 / 6,
        },
        "the original finds no expression in its own gold, x^2/2, and counts the same text as wrong",
    ),
    ("g_pass_at_k_math", 6): (
        {
            "math_g-pass@5_0.0": 1.0,
            "math_g-pass@5_0.25": 13 / 14,
            "math_g-pass@5_0.5": 0.5,
            "math_g-pass@5_0.75": 1 / 14,
            "math_g-pass@5_1.0": 0.0,
            "mmath_g-pass@5": 2 / 5 * (1 / 14),
        },
        "the original finds no expression in its own gold, n(n+1)/2, and counts the same text as wrong",
    ),
    ("gpqa_instruct_metric", 9): ({"extractive_match": 1.0}, "`Answer: c` names option C"),
    ("gpqa_instruct_pass_at_k", 3): (
        {"gpqa_pass@k:k=1&n=2&strip_strings=True": 1.0},
        "a reply of `b` names option B",
    ),
}
"""For a vector: our value, and why it is not the original's."""


def load(name: str) -> list[Case]:
    cases: list[Case] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))["test_cases"]
    return cases


def vectors() -> list[Any]:
    if not FOLDER.is_dir():
        reason = "the folder of real data, ../shared/data, is not here"
        return [pytest.param("", 0, marks=pytest.mark.skip(reason=reason))]
    return [
        pytest.param(name, index, id=f"{name}-{index}")
        for name in READINGS
        for index in range(len(load(name)))
    ]


@pytest.mark.parametrize(("name", "index"), vectors())
def test_vector(name: str, index: int) -> None:
    case = load(name)[index]
    result, tolerance = READINGS[name](case), case["tolerance"]
    expected = case["expected_output"]
    if isinstance(expected, dict):
        expected = {key: float(value) for key, value in expected.items()}
    if (name, index) in DIFFERENCES:
        ours, reason = DIFFERENCES[name, index]
        assert result != pytest.approx(expected, abs=tolerance), f"no longer a difference: {reason}"
        expected, tolerance = ours, 1e-9
    assert result == pytest.approx(expected, abs=tolerance)


def test_every_file_is_read_or_listed(shared_data: Path) -> None:
    files = {path.stem for path in (shared_data / "metric_vectors").glob("*.json")}
    groups: tuple[Collection[str], ...] = (READINGS, CANNOT_RUN, NOT_IMPLEMENTED, NO_VALUES)
    assert files == {name for group in groups for name in group}
    assert len(files) == sum(map(len, groups)) == 47
