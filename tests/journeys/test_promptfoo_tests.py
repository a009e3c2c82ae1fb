"""Tests of promptfoo, scored by whole commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli import assay
from fakes.openai_server import choice, reply, serving
from fakes.scored_tables import run_table
from fakes.tables import table


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


CAPITALS = {"France": "Paris", "Italy": "Rome"}


def right(prompt: str) -> str:
    return f"It is {CAPITALS[max(CAPITALS, key=prompt.rfind)]}."


@pytest.mark.parametrize(
    "expected",
    [
        "icontains: {city}",
        "contains-any: {city},Bonn",
        "regex: \\b{city}\\b",
        "not-contains: Oslo",
        "It is {city}.",
    ],
)
def test_a_csv_with_expected_is_scored_by_its_assertions(workdir: Path, expected: str) -> None:
    rows = [
        {"question": f"Capital of {country}?", "__expected": expected.replace("{city}", city)}
        for country, city in CAPITALS.items()
    ]
    path = table(workdir, rows, "tests.csv")
    good = run_table(path, right)
    assert good.result.status == 0, good.result.err
    assert good.metrics["all_assertions"] == 1.0
    assert {body["messages"][-1]["content"] for body in good.bodies} == {
        "Capital of France?",
        "Capital of Italy?",
    }
    assert run_table(path, "It is Oslo.").value == 0.0


def test_several_assertions_must_all_hold_and_the_failing_one_is_shown(workdir: Path) -> None:
    rows = [
        {
            "question": "Capital of France?",
            "__expected1": "contains: Paris",
            "__expected2": "starts-with: Paris",
            "__metric": "city",
            "__threshold": "",
        },
        {
            "question": "Capital of France, please?",
            "__expected1": "contains: Paris",
            "__expected2": "starts-with: Paris",
            "__metric": "city",
            "__threshold": "0.5",
        },
    ]
    done = run_table(table(workdir, rows, "tests.csv"), "It is Paris.", "--out", "run")
    assert done.metrics == {"all_assertions": 0.5, "assertion_score": 0.5, "city": 0.5}
    rules = [score["rule"] for file in (workdir / "run").glob("scores*.jsonl") for score in rows_of(file)]
    assert sorted(rules) == ["assertions", "failed: starts-with: Paris"]


def test_prefix_suffix_and_variables_in_assertions(workdir: Path) -> None:
    rows = [
        {
            "country": "France",
            "city": "Paris",
            "__prefix": "Capital of ",
            "__suffix": "? ({{country}})",
            "__expected": "icontains: {{ city }}",
        }
    ]
    done = run_table(table(workdir, rows, "tests.csv"), "paris")
    assert done.value == 1.0
    assert done.bodies[0]["messages"][-1]["content"] == "Capital of France? (France)"


def test_a_question_with_its_context_needs_no_template(workdir: Path) -> None:
    rows = [{"context": "Ann lives in Rome.", "question": "Where?", "__expected": "contains: Rome"}]
    done = run_table(table(workdir, rows, "tests.csv"), "Rome")
    assert done.bodies[0]["messages"][-1]["content"] == "Ann lives in Rome.\n\nWhere?"


def test_several_variables_stop_with_a_command_that_scores(workdir: Path) -> None:
    rows = [{"language": "French", "input": "Hello", "__expected": "contains: Bonjour"}]
    path = table(workdir, rows, "tests.csv")
    stopped = assay("run", path, "-m", "mock")
    assert stopped.status == 2
    message = " ".join(stopped.err.split())
    assert "TABLE-034" in message
    assert f"assay run {path} -m mock --human-prompt '{{language}} {{input}}'" in message
    done = run_table(path, "Bonjour", "--human-prompt", "To {{ language }}: {{ input }}")
    assert done.value == 1.0
    assert done.bodies[0]["messages"][-1]["content"] == "To French: Hello"


JSON_TEST = {
    "description": "a capital",
    "vars": {"question": "Capital of France?"},
    "assert": [
        {"type": "contains", "value": "Paris", "weight": 2},
        {
            "type": "assert-set",
            "threshold": 0.5,
            "assert": [{"type": "is-json"}, {"type": "regex", "value": "\\."}],
        },
    ],
}
YAML = """\
# promptfoo
prompts: ['{{question}}']
tests:
  - vars:
      question: Capital of France?
    assert:
      - type: icontains
        value: paris
  - vars:
      question: Capital of France, now?
    assert:
      - {type: not-contains, value: London}
"""


def test_tests_in_json_lines_and_yaml(workdir: Path) -> None:
    path = table(workdir, [JSON_TEST], "tests.jsonl")
    assert run_table(path, "It is Paris.").value == 1.0
    assert run_table(path, "It is Rome.").value == 0.0
    (workdir / "tests.yaml").write_text(YAML, encoding="utf-8")
    assert run_table("tests.yaml", "It is Paris.").value == 1.0
    assert run_table("tests.yaml", "London").value == 0.0


def test_a_judge_decides_a_rubric(workdir: Path) -> None:
    rows = [
        {"q": "Say hi", "__expected1": "llm-rubric: greets", "__expected2": "not-contains: bye"},
        {"q": "Say hi twice", "__expected1": "not-llm-rubric: insults", "__expected2": ""},
    ]
    path = table(workdir, rows, "tests.csv")
    stopped = assay("run", path, "-m", "mock")
    assert stopped.status == 2
    assert "JUDGE-001" in stopped.err

    def judge(body: dict[str, Any]) -> Any:
        asked = body["messages"][-1]["content"]
        assert "Hello!" in asked
        return reply(choice(body, "Yes" if "Criterion: greets" in asked else "No"))

    with serving(judge) as server:
        done = run_table(path, "Hello!", "--judge", f"openai:judge@{server.url}", "--out", "run")
    assert done.result.status == 0, done.result.err
    assert done.value == 1.0


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"q": "x", "__expected": "javascript: true"}, ("TABLE-033", "row 2 (line 3), column '__expected'")),
        ({"q": "x", "__expected": "similar(0.8): y"}, ("TABLE-033", "'similar'")),
        ({"q": "x", "__expected": "contains: {{nosuch}}"}, ("TABLE-033", "nosuch")),
        ({"q": "x", "__expected": "regex: ("}, ("TABLE-033", "regular expression")),
    ],
)
def test_a_row_that_cannot_be_decided_is_an_error_with_its_line(
    workdir: Path, row: dict[str, str], words: tuple[str, ...]
) -> None:
    path = table(workdir, [{"q": "fine", "__expected": "contains: x"}, row], "tests.csv")
    stopped = assay("run", path, "-m", "mock")
    assert stopped.status == 2
    for word in words:
        assert word in " ".join(stopped.err.split())


def test_what_changes_a_test_is_never_dropped(workdir: Path) -> None:
    def stopped(row: dict[str, Any]) -> str:
        result = assay("run", table(workdir, [row], "tests.jsonl"), "-m", "mock")
        assert result.status == 2
        return " ".join(result.err.split())

    asserted = [{"type": "contains", "value": "x"}]
    assert "'options'" in stopped({"vars": {"q": "x"}, "assert": asserted, "options": {"transform": "x"}})
    assert "several values" in stopped({"vars": {"q": ["x", "y"]}, "assert": asserted})
    assert "file://a.txt" in stopped({"vars": {"q": "file://a.txt"}, "assert": asserted})
    (workdir / "config.yaml").write_text(f"defaultTest: {{}}\n{YAML}", encoding="utf-8")
    result = assay("run", "config.yaml", "-m", "mock")
    assert result.status == 2
    assert "defaultTest" in result.err


def test_rows_without_assertions_are_kept_and_not_scored(workdir: Path) -> None:
    rows = [{"q": "Capital?", "__expected": "contains: Paris"}, {"q": "Other?", "__expected": ""}]
    done = run_table(table(workdir, rows, "tests.csv"), "Paris")
    (metric,) = [one for one in json.loads(done.result.out)["metrics"] if one["is_headline"]]
    assert (metric["n"], metric["n_scored"], metric["value"]) == (2, 1, 1.0)


def test_groups_ids_and_lists_of_assertions(workdir: Path) -> None:
    rows: list[dict[str, Any]] = [
        {
            "id": "1",
            "q": "Capital?",
            "__expected": ["contains: Paris", "not-contains: Rome"],
            "__metadata:kind": "a",
        },
        {
            "id": "2",
            "q": "City?",
            "__expected": {"type": "contains", "value": "Oslo"},
            "__metadata:kind": "b",
        },
    ]
    done = run_table(table(workdir, rows, "tests.jsonl"), "Paris", "--group-by", "__metadata:kind")
    assert done.value == 0.5, done.result.err
    assert {body["messages"][-1]["content"] for body in done.bodies} == {"Capital?", "City?"}
    groups = {
        one["group"]: one["value"] for one in json.loads(done.result.out)["metrics"] if one["is_headline"]
    }
    assert groups == {None: 0.5, "a": 1.0, "b": 0.0}
    noted = assay("check", "tests.jsonl", "--match", "exact")
    assert "--match has no effect: the assertions decide" in noted.out
    stopped = assay("run", "tests.jsonl", "-m", "mock", "--shots", "1")
    assert stopped.status == 2
    assert "no right answer to show in an example" in stopped.err
