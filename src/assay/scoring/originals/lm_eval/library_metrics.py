"""The metrics of the `evaluate` library that task files name and that authors load, with the same values.

The library downloads each metric's script from the hub. These need no download, and programs that a model
wrote run in the sandbox.
"""

from __future__ import annotations

import atexit
import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from assay.core.errors import PlanError, Problem
from assay.scoring.metrics import translation
from assay.scoring.metrics.classification import matthews
from assay.scoring.metrics.estimators import pass_at_k
from assay.scoring.metrics.rouge import rouge
from assay.scoring.metrics.words import bag_f1, squad_form
from assay.scoring.originals.lm_eval.metrics import exact_match
from assay.scoring.sandbox import Limits, Sandbox

CODE = "SCORE-003"
_ROUGE_KINDS = ("rouge1", "rouge2", "rougeL", "rougeLsum")
_BLEU_ORDER = 4


class LibraryMetric:
    """A metric with the interface of the library."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.name = name
        self._function = function

    def compute(self, *, predictions: Any = None, references: Any = None, **arguments: Any) -> Any:
        """Return the metric's values by name."""
        return self._function(predictions=predictions, references=references, **arguments)


def load_metric(path: str, *arguments: Any, **options: Any) -> Any:
    """Return a metric by name: one of ours, or that of the installed library."""
    function = LIBRARY_METRICS.get(path)
    if function is not None:
        return LibraryMetric(path, function)
    try:
        import evaluate
    except ModuleNotFoundError:
        what = f"the metric {path!r} of the `evaluate` library needs the package, which is not installed"
        raise PlanError(Problem(CODE, what, "pip install evaluate")) from None
    return evaluate.load(path, *arguments, **options)


def compute_accuracy(
    *, predictions: Sequence[Any], references: Sequence[Any], normalize: bool = True, **_: Any
) -> dict[str, float]:
    """Return the share of equal pairs."""
    right = sum(map(_equal, predictions, references))
    return {"accuracy": right / len(references) if normalize else float(right)}


def _equal(prediction: Any, reference: Any) -> bool:
    return bool(prediction == reference)


def _rate_classes(
    predictions: Sequence[Hashable],
    references: Sequence[Hashable],
    labels: Sequence[Hashable] | None,
    pos_label: Hashable,
    average: str | None,
    rate: Callable[[int, int, int], float],
) -> Any:
    """Return a rate of (right, predicted, expected) by class, averaged as scikit-learn does."""
    right = Counter(one for one, other in zip(references, predictions, strict=True) if one == other)
    predicted, expected = Counter(predictions), Counter(references)
    names: list[Any] = list(labels) if labels is not None else sorted({*predicted, *expected}, key=_by_type)
    if average == "binary":
        return rate(right[pos_label], predicted[pos_label], expected[pos_label])
    if average == "micro":
        return rate(*(sum(counts[name] for name in names) for counts in (right, predicted, expected)))
    rates = [rate(right[name], predicted[name], expected[name]) for name in names]
    if average is None:
        return rates
    weights = [expected[name] if average == "weighted" else 1 for name in names]
    total = sum(weights)
    return math.fsum(map(float.__mul__, rates, map(float, weights))) / total if total else 0.0


def _by_type(value: Any) -> tuple[str, Any]:
    return (type(value).__name__ if isinstance(value, str) else "", value)


def _build_rate(name: str, rate: Callable[[int, int, int], float]) -> Callable[..., dict[str, Any]]:
    def compute(
        *,
        predictions: Sequence[Any],
        references: Sequence[Any],
        labels: Sequence[Any] | None = None,
        pos_label: Any = 1,
        average: str | None = "binary",
        **_: Any,
    ) -> dict[str, Any]:
        return {name: _rate_classes(predictions, references, labels, pos_label, average, rate)}

    return compute


def _compute_f1(right: int, predicted: int, expected: int) -> float:
    return 2 * right / (predicted + expected) if predicted + expected else 0.0


def _compute_precision(right: int, predicted: int, expected: int) -> float:
    return right / predicted if predicted else 0.0


def _compute_recall(right: int, predicted: int, expected: int) -> float:
    return right / expected if expected else 0.0


def compute_matthews(*, predictions: Sequence[Any], references: Sequence[Any], **_: Any) -> dict[str, float]:
    """Return the Matthews correlation."""
    return {"matthews_correlation": matthews(predictions, references)}


def compute_rouge(
    *,
    predictions: Sequence[str],
    references: Sequence[Any],
    rouge_types: Sequence[str] = _ROUGE_KINDS,
    use_aggregator: bool = True,
    use_stemmer: bool = False,
    **_: Any,
) -> dict[str, Any]:
    """Return the F-measures, as lists or their means; the library resamples and takes the median instead."""
    rows = [
        rouge(prediction, _as_list(reference), kinds=rouge_types, uses_stemmer=use_stemmer)
        for prediction, reference in zip(predictions, references, strict=True)
    ]
    lists = {kind: [row[kind] for row in rows] for kind in rouge_types}
    if not use_aggregator:
        return lists
    return {kind: math.fsum(values) / len(values) for kind, values in lists.items()}


def compute_bleu(
    *,
    predictions: Sequence[str],
    references: Sequence[Any],
    max_order: int = _BLEU_ORDER,
    smooth: bool = False,
) -> dict[str, Any]:
    """Return corpus BLEU between 0 and 1, with the words of WMT's script 13a."""
    counts = [
        _count_grams(one, _as_list(other), max_order)
        for one, other in zip(predictions, references, strict=True)
    ]
    matched = [sum(row[0][order] for row in counts) for order in range(max_order)]
    possible = [sum(row[1][order] for row in counts) for order in range(max_order)]
    length, reference_length = sum(row[2] for row in counts), sum(row[3] for row in counts)
    if smooth:
        precisions = [(one + 1) / (other + 1) for one, other in zip(matched, possible, strict=True)]
    else:
        precisions = [one / other if other else 0.0 for one, other in zip(matched, possible, strict=True)]
    mean = math.exp(math.fsum(map(math.log, precisions)) / max_order) if min(precisions) > 0 else 0.0
    ratio = length / reference_length
    penalty = 1.0 if ratio > 1 else math.exp(1 - 1 / ratio) if ratio else 0.0
    return {
        "bleu": mean * penalty,
        "precisions": precisions,
        "brevity_penalty": penalty,
        "length_ratio": ratio,
        "translation_length": length,
        "reference_length": reference_length,
    }


def _count_grams(
    prediction: str, references: Sequence[str], max_order: int
) -> tuple[list[int], list[int], int, int]:
    """Return the n-grams that match and that there are, and the lengths of prediction and reference."""
    words, wanted = _split_13a(prediction), [_split_13a(one) for one in references]
    matched, possible = [], []
    for order in range(1, max_order + 1):
        allowed: Counter[tuple[str, ...]] = Counter()
        for one in wanted:
            allowed |= _grams(one, order)
        matched.append((_grams(words, order) & allowed).total())
        possible.append(max(len(words) - order + 1, 0))
    return matched, possible, len(words), min(map(len, wanted))


def _grams(words: Sequence[str], order: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[at : at + order]) for at in range(len(words) - order + 1))


def _split_13a(text: str) -> list[str]:
    words: list[str] = _tokenizer_13a()(text).split()
    return words


@lru_cache(maxsize=1)
def _tokenizer_13a() -> Any:
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

    return Tokenizer13a()


def compute_sacrebleu(*, predictions: Sequence[str], references: Sequence[Any], **_: Any) -> dict[str, float]:
    """Return sacreBLEU's score, 0 to 100."""
    return {"score": translation.corpus_bleu(predictions, list(map(_as_list, references)))}


def compute_chrf(
    *, predictions: Sequence[str], references: Sequence[Any], word_order: int = 0, **_: Any
) -> dict[str, float]:
    """Return chrF, 0 to 100."""
    return {"score": translation.chrf(predictions, list(map(_as_list, references)), word_order=word_order)}


def compute_ter(*, predictions: Sequence[str], references: Sequence[Any], **_: Any) -> dict[str, float]:
    """Return the translation edit rate in percent."""
    return {"score": translation.ter(predictions, list(map(_as_list, references)))}


def _build_error_rate(split: Callable[[str], Sequence[str]]) -> Callable[..., float]:
    def compute(*, predictions: Sequence[str], references: Sequence[str], **_: Any) -> float:
        """Return the edits from references to predictions, per part of the references."""
        from rapidfuzz.distance import Levenshtein

        edits = sum(map(Levenshtein.distance, map(split, references), map(split, predictions)))
        return edits / sum(len(split(one)) for one in references)

    return compute


def _as_list(reference: Any) -> list[str]:
    return [reference] if isinstance(reference, str) else list(reference)


# --- question answering ---


def compute_squad(
    *, predictions: Sequence[Mapping[str, Any]], references: Sequence[Mapping[str, Any]]
) -> dict[str, float]:
    """Return SQuAD's exact match and F1 in percent."""
    answers = {one["id"]: one["prediction_text"] for one in predictions}
    rows = [(answers.get(one["id"], ""), list(one["answers"]["text"])) for one in references]
    return {
        "exact_match": 100
        * math.fsum(max(map(_is_exact(answer), texts)) for answer, texts in rows)
        / len(rows),
        "f1": 100 * math.fsum(max(map(_overlap(answer), texts)) for answer, texts in rows) / len(rows),
    }


def _is_exact(answer: str) -> Callable[[str], float]:
    return lambda text: float(squad_form(answer) == squad_form(text))


def _overlap(answer: str) -> Callable[[str], float]:
    """Return the F1 between an answer's words and a text's; of two texts without words it is 1."""

    def compute(text: str) -> float:
        words, wanted = squad_form(answer).split(), squad_form(text).split()
        return bag_f1(words, wanted) if words and wanted else float(words == wanted)

    return compute


def compute_squad_v2(
    *,
    predictions: Sequence[Mapping[str, Any]],
    references: Sequence[Mapping[str, Any]],
    no_answer_threshold: float = 1.0,
) -> dict[str, float]:
    """Return SQuAD 2's scores in percent: all questions, those with and without an answer, best threshold."""
    answers = {one["id"]: one for one in predictions}
    rows = []
    for reference in references:
        given = answers[reference["id"]]
        texts = [text for text in reference["answers"]["text"] if squad_form(text)]
        answer, doubt = given["prediction_text"], float(given["no_answer_probability"])
        wanted = texts or [""]
        scores = (max(map(_is_exact(answer), wanted)), max(map(_overlap(answer), wanted)))
        rows.append((bool(texts), doubt, answer, scores))
    decided = [
        (has, (float(not has),) * 2 if doubt > no_answer_threshold else scores)
        for has, doubt, _, scores in rows
    ]
    result = _average_squad("", [scores for _, scores in decided])
    for name, wants in (("HasAns_", True), ("NoAns_", False)):
        some = [scores for has, scores in decided if has is wants]
        if some:
            result |= _average_squad(name, some)
    for at, name in enumerate(("exact", "f1")):
        best, threshold = _find_best_threshold(
            [(has, doubt, answer, scores[at]) for has, doubt, answer, scores in rows]
        )
        result |= {f"best_{name}": best, f"best_{name}_thresh": threshold}
    return result


def _average_squad(prefix: str, scores: Sequence[tuple[float, ...]]) -> dict[str, float]:
    n = len(scores)
    return {
        f"{prefix}exact": 100 * math.fsum(one[0] for one in scores) / n,
        f"{prefix}f1": 100 * math.fsum(one[1] for one in scores) / n,
        f"{prefix}total": n,
    }


def _find_best_threshold(rows: Sequence[tuple[bool, float, str, float]]) -> tuple[float, float]:
    """Return the best score in percent, and the doubt above which a question counts as not answered."""
    current: float = sum(not has for has, *_ in rows)
    best, threshold = current, 0.0
    for has, doubt, answer, score in sorted(rows, key=lambda row: row[1]):
        current += score if has else (-1 if answer else 0)
        if current > best:
            best, threshold = current, doubt
    return 100 * best / len(rows), threshold


# --- programs ---


@lru_cache(maxsize=1)
def _open_sandbox() -> Sandbox:
    """Return the sandbox of this process; it is closed at exit."""
    sandbox = Sandbox(Limits())
    atexit.register(sandbox.close)
    return sandbox


def compute_code_eval(
    *,
    predictions: Sequence[Sequence[str]],
    references: Sequence[str],
    k: Sequence[int] = (1, 10, 100),
    **_: Any,
) -> tuple[dict[str, float], dict[int, list[tuple[int, dict[str, Any]]]]]:
    """Return pass@k and the result of every program; each runs in the sandbox with its test."""
    programs = [
        f"{one}\n{test}" for several, test in zip(predictions, references, strict=True) for one in several
    ]
    outcomes = _open_sandbox().run_many(programs, is_main=False)
    results: dict[int, list[tuple[int, dict[str, Any]]]] = {}
    for task, several in enumerate(predictions):
        for number in range(len(several)):
            outcome = next(outcomes)
            shown = "passed" if outcome.is_ok else f"failed: {outcome.detail or outcome.status.value}"
            known = {"task_id": task, "passed": outcome.is_ok, "result": shown, "completion_id": number}
            results.setdefault(task, []).append((number, known))
    counts = [(len(rows), sum(row["passed"] for _, row in rows)) for rows in results.values()]
    return {
        f"pass@{wanted}": math.fsum(pass_at_k(n, right, wanted) for n, right in counts) / len(counts)
        for wanted in k
        if counts and all(n >= wanted for n, _ in counts)
    }, results


LIBRARY_METRICS: dict[str, Callable[..., Any]] = {
    "accuracy": compute_accuracy,
    "bleu": compute_bleu,
    "chrf": compute_chrf,
    "cer": _build_error_rate(list),
    "code_eval": compute_code_eval,
    "exact_match": exact_match,
    "f1": _build_rate("f1", _compute_f1),
    "matthews_correlation": compute_matthews,
    "precision": _build_rate("precision", _compute_precision),
    "recall": _build_rate("recall", _compute_recall),
    "rouge": compute_rouge,
    "sacrebleu": compute_sacrebleu,
    "squad": compute_squad,
    "squad_v2": compute_squad_v2,
    "ter": compute_ter,
    "wer": _build_error_rate(str.split),
}
"""The metrics by the library's names."""
