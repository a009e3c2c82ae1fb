"""Tasks of a Hugging Face eval.yaml, and samples of inspect, scored by whole commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli import assay
from fakes.openai_server import choice, reply, serving
from fakes.scored_tables import Scored, run_table
from fakes.tables import table

COUNTRIES = [("France", "Paris"), ("Italy", "Rome"), ("Spain", "Madrid")]


def right(prompt: str) -> str:
    return dict(COUNTRIES)[max(dict(COUNTRIES), key=prompt.rfind)]


def task(**message: Any) -> dict[str, Any]:
    return {
        "field_spec": {"input": "question", "target": "answer"},
        "solvers": [{"name": "generate"}],
        "scorers": [{"name": "match"}],
        **message,
    }


def repository(folder: Path, *tasks: dict[str, Any], rows: list[dict[str, Any]] | None = None) -> str:
    """Write an eval.yaml and its data; return the path of the yaml."""
    folder.mkdir(exist_ok=True)
    rows = rows or [{"question": f"Capital of {c}?", "answer": city} for c, city in COUNTRIES]
    table(folder, rows, "test.jsonl")
    document = {"name": "Capitals", "evaluation_framework": "inspect-ai", "tasks": list(tasks)}
    path = folder / "eval.yaml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return str(path)


def contents(done: Scored) -> set[str]:
    return {json.dumps([one["content"] for one in body["messages"]]) for body in done.bodies}


@pytest.mark.parametrize(
    ("scorer", "good", "bad"),
    [
        ({"name": "match"}, "It is {}.", "{} is it, no: Oslo"),
        ({"name": "match", "args": {"location": "begin"}}, "{} it is", "It is {}"),
        ({"name": "includes"}, "I think {} it is", "Oslo"),
        ({"name": "exact"}, "The {}!", "It is {}"),
        ({"name": "f1"}, "{}", "Oslo"),
        ({"name": "pattern", "args": {"pattern": r"ANSWER: (\w+)"}}, "Well. ANSWER: {}", "{}"),
    ],
)
def test_each_scorer_decides(workdir: Path, scorer: dict[str, Any], good: str, bad: str) -> None:
    path = repository(workdir / "capitals", task(scorers=[scorer]))
    done = run_table(path, lambda prompt: good.format(right(prompt)))
    assert done.result.status == 0, done.result.err
    assert done.metrics == {scorer["name"]: 1.0}
    assert len(done.bodies) == 3
    assert run_table(path, lambda prompt: bad.format(right(prompt))).value == 0.0


OPTIONS = ["Bonn", "Paris", "Oslo"]


@pytest.mark.parametrize(
    ("spec", "row"),
    [
        ({"target": "label", "choices": "options"}, {"options": OPTIONS, "label": 1}),
        ({"target": "label", "choices": "options"}, {"options": OPTIONS, "label": "B"}),
        ({"target": "literal:B", "choices": "options"}, {"options": OPTIONS}),
        (
            {"target": "label", "choices": ["x", "y", "z"]},
            {"x": "Bonn", "y": "Paris", "z": "Oslo", "label": 1},
        ),
    ],
)
def test_multiple_choice_by_letter_index_and_literal(
    workdir: Path, spec: dict[str, Any], row: dict[str, Any]
) -> None:
    rows = [{"q": "Capital of France?", **row}]
    message = task(
        field_spec={"input": "q", **spec},
        solvers=[{"name": "multiple_choice"}],
        scorers=[{"name": "choice"}],
    )
    path = repository(workdir / "quiz", message, rows=rows)
    done = run_table(path, "The answer is B.")
    assert done.metrics == {"choice": 1.0}
    assert contents(done) == {json.dumps(["Capital of France?\nA. Bonn\nB. Paris\nC. Oslo"])}
    assert run_table(path, "A").value == 0.0


def test_shuffled_options_keep_their_answer(workdir: Path) -> None:
    rows = [{"q": f"Capital of France, {n}?", "options": OPTIONS, "label": 1} for n in range(6)]
    message = task(
        field_spec={"input": "q", "target": "label", "choices": "options"},
        solvers=[{"name": "multiple_choice"}],
        scorers=[{"name": "choice"}],
        shuffle_choices=True,
    )
    path = repository(workdir / "quiz", message, rows=rows)

    def letter_of_paris(prompt: str) -> str:
        return prompt[prompt.index(". Paris") - 1]

    done = run_table(path, letter_of_paris)
    assert done.value == 1.0
    assert len({letter_of_paris(json.dumps(body["messages"])) for body in done.bodies}) > 1
    again = run_table(path, letter_of_paris)
    assert contents(again) == contents(done)


def test_solvers_shape_the_prompt(workdir: Path) -> None:
    solvers = [
        {"name": "system_message", "args": {"template": "You know {topic}."}},
        {"name": "prompt_template", "args": {"template": "Answer {how}: {prompt} {{x}}", "how": "briefly"}},
        {"name": "generate", "args": {"max_tokens": 12}},
    ]
    rows = [{"question": "Capital of France?", "answer": "Paris", "topic": "maps"}]
    spec = {"input": "question", "target": "answer", "metadata": ["topic"]}
    path = repository(workdir / "x", task(solvers=solvers, field_spec=spec), rows=rows)
    done = run_table(path, "Paris")
    assert done.value == 1.0
    (body,) = done.bodies
    assert body["messages"] == [
        {"role": "system", "content": "You know maps."},
        {"role": "user", "content": "Answer briefly: Capital of France? {x}"},
    ]
    assert body["max_tokens"] == 12


def test_epochs_are_reduced(workdir: Path) -> None:
    rows = [{"question": "Capital of France?", "answer": "Paris"}]
    path = repository(workdir / "x", task(epochs=4, epoch_reducer="at_least_2"), rows=rows)
    replies = iter(["Paris", "no", "Paris", "no"] * 9)

    def model(body: dict[str, Any]) -> Any:
        return reply(*(choice(body, next(replies), index=n) for n in range(body.get("n", 1))))

    with serving(model) as server:
        result = assay("run", path, "-m", f"openai:tiny@{server.url}", "--temperature", "1", "--json")
    assert result.status == 0, result.err
    (metric,) = json.loads(result.out)["metrics"]
    assert (metric["metric"], metric["value"]) == ("match", 1.0)


def test_a_judge_grades(workdir: Path) -> None:
    path = repository(workdir / "x", task(scorers=[{"name": "model_graded_fact"}]))
    stopped = assay("run", path, "-m", "mock")
    assert stopped.status == 2
    assert "JUDGE-001" in stopped.err

    def judge(body: dict[str, Any]) -> Any:
        return reply(choice(body, "yes" if "Answer: It is" in body["messages"][-1]["content"] else "no"))

    with serving(judge) as server:
        done = run_table(path, lambda prompt: f"It is {right(prompt)}", "--judge", f"openai:j@{server.url}")
    assert done.value == 1.0, done.result.err


def test_several_tasks_and_one_of_them(workdir: Path) -> None:
    tasks = [task(id="short"), task(id="long", solvers=[{"name": "chain_of_thought"}, {"name": "generate"}])]
    path = repository(workdir / "capitals", *tasks)
    shown = assay("check", path)
    assert shown.status == 0, shown.err
    assert "capitals:short" in shown.out
    assert "capitals:long" in shown.out
    assert run_table(f"{path}:short", right).value == 1.0
    # A folder that has an eval.yaml is the same dataset.
    assert run_table(f"{Path(path).parent}:short", right).value == 1.0
    missing = assay("run", f"{path}:shrt", "-m", "mock")
    assert missing.status == 2
    assert "did you mean 'short'?" in missing.err


def test_input_with_an_image(workdir: Path) -> None:
    pixel = (
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awA"
        "AAABJRU5ErkJggg=="
    )
    spec = {"input": "question", "target": "answer", "input_image": "picture"}
    rows = [{"question": "What is this?", "answer": "a cat", "picture": pixel}]
    done = run_table(repository(workdir / "x", task(field_spec=spec), rows=rows), "a cat")
    assert done.value == 1.0
    assert done.bodies[0]["messages"][0]["content"] == [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": pixel}},
    ]


@pytest.mark.parametrize(
    ("message", "word"),
    [
        (
            {"solvers": [{"name": "use_tools"}, {"name": "generate"}]},
            "the solver 'use_tools' is not supported",
        ),
        ({"solvers": [{"name": "generate"}, {"name": "self_critique"}]}, "'self_critique'"),
        ({"scorers": [{"name": "math"}]}, "the scorer 'math' is not supported"),
        ({"scorers": [{"name": "match", "args": {"loc": "end"}}]}, "'loc'"),
        ({"scorers": [{"name": "match", "args": {"location": "middle"}}]}, "'middle'"),
        ({"scorers": [{"name": "pattern", "args": {"pattern": "("}}]}, "not a regular expression"),
        ({"solvers": [{"name": "multiple_choice"}]}, "need field_spec.choices"),
        (
            {"solvers": [{"name": "prompt_template", "args": {"template": "x"}}, {"name": "generate"}]},
            "{prompt}",
        ),
        ({"epoch_reducer": "best_of_2"}, "'best_of_2'"),
        ({"shots": 3}, "shots"),
        ({"scorers": [{"name": "match"}, {"name": "match"}]}, "a scorer is listed twice"),
        ({"field_spec": {"input": "question", "target": "answer", "sandbox": "docker"}}, "sandbox"),
    ],
)
def test_what_cannot_be_run_is_rejected_by_name(workdir: Path, message: dict[str, Any], word: str) -> None:
    stopped = assay("run", repository(workdir / "x", task(**message)), "-m", "mock")
    assert stopped.status == 2
    assert "TABLE-036" in stopped.err
    assert word in " ".join(stopped.err.split())


@pytest.mark.parametrize(
    ("row", "word"),
    [
        (
            {"question": "x", "label": 3, "options": OPTIONS},
            "found 3, expected a letter from A to C or an index",
        ),
        ({"question": "x", "label": "1", "options": OPTIONS}, "found '1', expected a letter"),
        ({"question": "x", "label": ["A", "B"], "options": OPTIONS}, "several right options"),
        ({"question": "x", "options": OPTIONS}, "the row has no field 'label'"),
        ({"question": "x", "label": 0, "options": "Bonn"}, "expected a list of at least two"),
        ({"question": "", "label": 0, "options": OPTIONS}, "expected a text"),
    ],
)
def test_a_row_that_does_not_fit_is_an_error_with_its_line(
    workdir: Path, row: dict[str, Any], word: str
) -> None:
    message = task(
        field_spec={"input": "question", "target": "label", "choices": "options"},
        solvers=[{"name": "multiple_choice"}],
        scorers=[{"name": "choice"}],
    )
    fine = {"question": "x", "label": 0, "options": OPTIONS}
    stopped = assay("run", repository(workdir / "x", message, rows=[fine, row]), "-m", "mock")
    assert stopped.status == 2
    text = " ".join(stopped.err.split())
    assert "TABLE-037" in text
    assert "row 2 (line 2)" in text
    assert word in text


def sample(**message: Any) -> dict[str, Any]:
    return {"input": "Capital of France?", "target": "Paris", **message}


@pytest.mark.parametrize(
    ("rows", "good", "bad", "name"),
    [
        ([sample(id="1", metadata={"level": 1})], "Paris", "Bonn", "a.jsonl"),
        ([sample(target=["Paris", "Lutetia"])], "Lutetia", "Bonn", "b.jsonl"),
        ([sample(choices=OPTIONS, target="B")], "B", "A", "c.jsonl"),
        ([sample(choices=OPTIONS, target=1)], "B", "A", "d.jsonl"),
        ([sample(choices="Bonn, Paris, Oslo", target="B")], "B", "A", "e.csv"),
        ([sample(choices=json.dumps(OPTIONS), target="B")], "B", "A", "f.csv"),
        (
            [sample(), sample(input=[{"role": "user", "content": "Capital of France again?"}])],
            "Paris",
            "Bonn",
            "g.jsonl",
        ),
    ],
)
def test_samples_of_inspect(workdir: Path, rows: Any, good: str, bad: str, name: str) -> None:
    path = table(workdir, rows, name)
    done = run_table(path, good)
    assert done.result.status == 0, done.result.err
    assert done.value == 1.0
    for body in done.bodies:
        shown = json.dumps(body["messages"])
        assert "Capital of France" in shown
        assert ("C. Oslo" in shown) == ("choices" in rows[0])
    assert run_table(path, bad).value == 0.0


@pytest.mark.parametrize("key", ["sandbox", "files", "setup"])
def test_a_sample_that_needs_an_environment_is_rejected(workdir: Path, key: str) -> None:
    rows = [sample(**{key: None}), sample(**{key: "docker"})]
    stopped = assay("run", table(workdir, rows), "-m", "mock")
    assert stopped.status == 2
    assert "TABLE-035" in stopped.err
    assert f"row 2 (line 2), column '{key}'" in stopped.err
