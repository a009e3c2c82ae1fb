"""Makes leaderboard_figures.json: the numbers of a leaderboard by statsmodels and scipy, by no code of Assay.

Run by hand, in an environment that has both; the test beside it reads what came out. The answers are drawn
once and stored, so that the figures stay those of the same answers whatever a generator draws later:

    python -m venv /tmp/figures && /tmp/figures/bin/pip install statsmodels==0.15.0 scipy==1.17.1
    /tmp/figures/bin/python tests/unit/results/leaderboard/leaderboard_figures.py
"""

from __future__ import annotations

import json
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import norm, ttest_rel
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint
from statsmodels.stats.weightstats import DescrStatsW

FILE = Path(__file__).with_suffix(".json")
STRENGTHS = {"ant": 0.35, "bee": 0.6, "cat": 0.66, "dog": 0.68, "elk": 0.9}
SIZES = {"exam": 150, "quiz": 60, "texts": 80}
"""`texts` has values between 0 and 1, in hundredths; the others have right and wrong answers."""


def drawn() -> dict[str, dict[str, list[float | None]]]:
    """Return by dataset and model what each sample is worth; None: it failed."""
    rng = np.random.default_rng(46)
    answers: dict[str, dict[str, list[float | None]]] = {}
    for dataset, n in SIZES.items():
        ease = rng.normal(0, 0.6, n)
        answers[dataset] = {}
        for model, strength in STRENGTHS.items():
            skill = norm.ppf(strength) * np.hypot(1, 0.6) + ease + rng.normal(0, 1, n)
            worth = (skill > 0).astype(float) if dataset != "texts" else np.round(norm.cdf(skill), 2)
            failed = rng.random(n) < 0.02
            answers[dataset][model] = [
                None if lost else float(one) for one, lost in zip(worth, failed, strict=True)
            ]
    return answers


def both(a: list[float | None], b: list[float | None]) -> tuple[Any, Any]:
    """Return the values of the samples that neither side failed on."""
    pairs = [(x, y) for x, y in zip(a, b, strict=True) if x is not None and y is not None]
    return np.array([x for x, _ in pairs]), np.array([y for _, y in pairs])


def compared(a: Any, b: Any, *, is_binary: bool) -> dict[str, float]:
    """Return the second's mean less the first's, the error that a mean over datasets goes by, and the p."""
    gap = DescrStatsW(b - a)
    error = gap.std_mean
    if is_binary:
        table = [[np.sum((a == x) & (b == y)) for y in (1, 0)] for x in (1, 0)]
        p = mcnemar(table, exact=True).pvalue
        error = max(error, np.sqrt(table[0][1] + table[1][0]) / len(a))
    else:
        p = ttest_rel(b, a).pvalue
    return {"difference": float(gap.mean), "error": float(error), "p": float(p)}


def ranked(pairs: dict[tuple[str, str], dict[str, float]], models: list[str]) -> dict[str, list[int]]:
    """Correct the p-values, and try every order of the models that goes against no real difference."""
    real, corrected, _, _ = multipletests([one["p"] for one in pairs.values()], alpha=0.05, method="holm")
    before = set()
    for (pair, one), is_real, p in zip(pairs.items(), real, corrected, strict=True):
        one["p_holm"] = float(p)
        if is_real:
            before.add((pair[1], pair[0]) if one["difference"] > 0 else pair)
    orders = [
        order
        for order in permutations(models)
        if all(order.index(better) < order.index(worse) for better, worse in before)
    ]
    places = {model: [1 + order.index(model) for order in orders] for model in models}
    return {model: [min(found), max(found)] for model, found in places.items()}


def figures(answers: dict[str, dict[str, list[float | None]]]) -> dict[str, Any]:
    """Return all that is compared with the leaderboard."""
    models = list(STRENGTHS)
    found: dict[str, Any] = {}
    apart: dict[str, dict[tuple[str, str], dict[str, float]]] = {}
    for dataset, by_model in answers.items():
        is_binary = dataset != "texts"
        values = {}
        for model, worths in by_model.items():
            known = np.array([one for one in worths if one is not None])
            stats = DescrStatsW(known)
            low, high = (
                proportion_confint(known.sum(), len(known), method="wilson")
                if is_binary
                else stats.tconfint_mean()
            )
            values[model] = [float(one) for one in (stats.mean, low, high, stats.std_mean)]
        apart[dataset] = {
            (a, b): compared(*both(by_model[a], by_model[b]), is_binary=is_binary)
            for a, b in combinations(models, 2)
        }
        ranks = ranked(apart[dataset], models)
        pairs = [[*pair, one] for pair, one in apart[dataset].items()]
        found[dataset] = {"values": values, "pairs": pairs, "ranks": ranks}
    found["mean"] = mean_over(found, apart, models)
    return found


def mean_over(found: dict[str, Any], apart: dict[str, Any], models: list[str]) -> dict[str, Any]:
    """Return the means over the datasets, each counting once, and the ranks by them."""
    k = len(SIZES)
    values = {}
    for model in models:
        parts = [found[dataset]["values"][model] for dataset in SIZES]
        mean, error = np.mean([one[0] for one in parts]), np.sqrt(sum(one[3] ** 2 for one in parts)) / k
        low, high = norm.interval(0.95, mean, error)
        values[model] = [float(one) for one in (mean, low, high, error)]
    pairs = {}
    for pair in combinations(models, 2):
        parts = [apart[dataset][pair] for dataset in SIZES]
        difference = np.mean([one["difference"] for one in parts])
        error = np.sqrt(sum(one["error"] ** 2 for one in parts)) / k
        p = 2 * norm.sf(abs(difference) / error)
        pairs[pair] = {"difference": float(difference), "error": float(error), "p": float(p)}
    return {
        "values": values,
        "ranks": ranked(pairs, models),
        "pairs": [[*pair, one] for pair, one in pairs.items()],
    }


if __name__ == "__main__":
    stored = json.loads(FILE.read_text())["answers"] if FILE.exists() else drawn()
    text = json.dumps({"answers": stored, "figures": figures(stored)}, separators=(",", ":"))
    # A model's answers, or one comparison, on each line.
    FILE.write_text(text.replace('],"', '],\n"').replace("],[", "],\n[") + "\n")
