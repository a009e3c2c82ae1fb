"""Filter expressions of sample tables, and the statistics of failure clusters."""

from __future__ import annotations

import math
from typing import Any

import pytest

from browser.modules import module_address

NAMES = ("id", "question", "group", "outcome", "tokens", "answer", "tags")
ROWS: list[tuple[Any, ...]] = [
    ("q1", "What is f(x) at noon?", "history", "right", 10, "B", ["odd"]),
    ("q2", "Name 20 percent of sales", "law", "wrong", 200, "", []),
    ("q3", "percent OR share?", None, "partly right", 300, "About B", ["odd", "two words"]),
    ("q4", "Half of sales", "law school", "unanswered", None, "b", []),
]
SAMPLES = [dict(zip(NAMES, row, strict=True)) for row in ROWS]
SCRIPT = """async ([module, samples, expressions]) => {
    const { parseFilter } = await import(module);
    const of = (kind, name) => ({ kind, get: (place) => samples[place][name] });
    const outcomes = ["right", "partly right", "wrong", "unanswered"];
    const columns = {
        id: of("text", "id"), question: of("text", "question"), group: of("text", "group"),
        answer: of("text", "answer"), outcome: { ...of("choice", "outcome"), values: outcomes },
        tokens: of("number", "tokens"), tag: of("list", "tags"),
        is: { kind: "flag", values: ["long"], has: (place) => samples[place].tokens > 250 } };
    const textOf = (place) => samples[place].question.toLowerCase();
    return expressions.map((text) => {
        const { test, problem, hint } = parseFilter(text, columns, textOf);
        return [samples.filter((_, place) => test(place)).map((one) => one.id).join(" "), problem, hint];
    });
}"""
CASES = {
    "": "q1 q2 q3 q4",
    "  ": "q1 q2 q3 q4",
    "percent": "q2 q3",
    "PERCENT sales": "q2",
    '"percent of"': "q2",
    "sales percent": "q2",
    "f(x)": "q1",
    "-percent": "q1 q4",
    "NOT percent sales": "q4",
    "percent OR noon": "q1 q2 q3",
    'percent "OR"': "q3",
    "outcome:wrong OR outcome:right": "q1 q2",
    'outcome:"partly right"': "q3",
    "outcome!=wrong": "q1 q3 q4",
    "tokens>200": "q3",
    "tokens>=200 outcome:wrong": "q2",
    "tokens:10..200": "q1 q2",
    "-tokens:10..200": "q3 q4",
    "tokens=300": "q3",
    "group:law": "q2 q4",
    "group=law": "q2",
    "group!=law": "q1 q4",
    'group="law school"': "q4",
    "answer=b": "q1 q4",
    "answer:b": "q1 q3 q4",
    "answer=": "q2",
    "(group:law OR group:history) sales": "q2 q4",
    "-(group:law OR group:history)": "q3",
    "sales (tokens>100 OR (outcome:unanswered AND half))": "q2 q4",
    "tag:odd": "q1 q3",
    'tag="two words"': "q3",
    "tag!=odd": "q2 q4",
    "is:long": "q3",
    "-is:long tokens>0": "q1 q2",
    "ID:q1": "q1",
}
PROBLEMS = {
    "tokens>many": "tokens is a number",
    "tokens:": "needs a value",
    "outcome:wrnog": "expected one of right",
    "outcome>right": "outcome is one of",
    "question>5": "question is a text",
    "is:short": "expected is:long",
    "(percent": "add )",
    '"percent': 'add "',
    "percent OR": "ends too early",
    "OR percent": "needs a term before it",
    "NOT": "ends too early",
    "( )": "needs a term before it",
}


def run(page: Any, *expressions: str) -> list[list[Any]]:
    found: list[list[Any]] = page.evaluate(
        SCRIPT, [module_address("filter_expression"), SAMPLES, list(expressions)]
    )
    return found


def test_expressions_select_samples(browser_page: Any) -> None:
    found = run(browser_page, *CASES)
    assert {text: ids for text, (ids, _, _) in zip(CASES, found, strict=True)} == CASES
    assert [problem for _, problem, _ in found if problem] == []


def test_a_wrong_expression_says_why_and_hides_nothing(browser_page: Any) -> None:
    found = run(browser_page, *PROBLEMS)
    for (text, part), (ids, problem, _) in zip(PROBLEMS.items(), found, strict=True):
        assert part in (problem or ""), text
        assert ids == "q1 q2 q3 q4"


def test_a_name_that_is_no_column_is_searched_and_mentioned(browser_page: Any) -> None:
    (ids, problem, hint), (_, _, none) = run(browser_page, "tokns>200", "https://example.org/a:b")
    assert (ids, problem) == ("", None)
    assert "“tokns” is not a column" in hint
    assert "tokens" in hint
    assert none is None


def test_clusters_use_fishers_test_and_adjust_for_the_number_of_tests(browser_page: Any) -> None:
    tables = [
        (k, n, wrong, whole)
        for whole in (12, 40)
        for wrong in (3, 11)
        for n in (5, 9)
        for k in range(min(n, wrong) + 1)
    ]
    ps = [0.001, 0.04, 0.03, 0.5, 0.03]
    script = """async ([module, tables, ps]) => {
        const { adjust, upperTail } = await import(module);
        const adjusted = adjust(ps.map((p, at) => ({ p, at }))).sort((a, b) => a.at - b.at);
        return [tables.map((one) => upperTail(...one)), adjusted.map((one) => one.q)];
    }"""
    tails, adjusted = browser_page.evaluate(script, [module_address("failure_clusters"), tables, ps])
    for (k, n, wrong, whole), tail in zip(tables, tails, strict=True):
        ways = sum(math.comb(wrong, i) * math.comb(whole - wrong, n - i) for i in range(k, min(n, wrong) + 1))
        assert tail == pytest.approx(ways / math.comb(whole, n))
    assert adjusted == pytest.approx([0.005, 0.05, 0.05, 0.5, 0.05])


def test_a_planted_cluster_is_found_and_noise_is_not(browser_page: Any) -> None:
    n = 120
    questions = [f"sum {at} {'percent' if at % 4 == 0 else 'apples'}" for at in range(n)]
    outcomes = "".join("W" if at % 4 == 0 and at % 8 else "R" if at % 3 else "W" for at in range(n))
    columns = {
        "n": n,
        "tasks": ["t"],
        "groups": ["g0", "g1"],
        "rules": [],
        "task": [0] * n,
        "group": [at % 2 for at in range(n)],
        "questions": questions,
        "targets": ["A", "B"] * (n // 2),
    }
    track = {
        "outcomes": outcomes,
        "truncated": "0" * n,
        "answers": [""] * n,
        "rule": [-1] * n,
        "tokens": [0] * n,
    }
    script = """async ([module, columns, track, flat]) => {
        const { findClusters } = await import(module);
        const places = columns.questions.map((_, at) => at);
        const of = (outcomes) => findClusters(columns, { ...track, outcomes }, places);
        return [of(track.outcomes), of(flat)];
    }"""
    found, flat = browser_page.evaluate(
        script, [module_address("failure_clusters"), columns, track, "RRW" * (n // 3)]
    )
    assert [one["term"] for one in found["clusters"]] == ['question:"percent"']
    (cluster,) = found["clusters"]
    wrong = [at for at in range(n) if outcomes[at] == "W"]
    assert (cluster["n"], cluster["nWrong"]) == (30, sum(at % 4 == 0 for at in wrong))
    assert found["nWrong"] == len(wrong)
    assert flat["clusters"] == []
