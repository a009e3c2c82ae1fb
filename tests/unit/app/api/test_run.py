from __future__ import annotations

import inspect
import re
import signal
from pathlib import Path
from typing import Any

import pytest

import assay
from assay.app.settings import RunSettings
from assay.app.table_flags import TABLE_FLAGS
from assay.dialects.table.meta import META_FIELDS
from cli import assay as command_line

ONLY_ELSEWHERE = {"prompt_label": "names one of several prompts of a command"}
"""Settings that are no argument of `assay.run`, each with the reason."""
NO_SETTINGS = {"data", "progress", "profile"}
"""Arguments that are no settings of a run."""

ROWS = [
    {"question": "1+1=", "A": "1", "B": "2", "answer": "B"},
    {"question": "2+2=", "A": "4", "B": "5", "answer": "A"},
    {"question": "3+3=", "A": "7", "B": "6", "answer": "B"},
]


@pytest.fixture(autouse=True)
def folder(workdir: Path) -> Path:
    return workdir


def right(prompt: str) -> str:
    return "A" if "2+2" in prompt else "B"


def test_every_setting_is_an_argument_with_a_type_and_a_line_in_the_docstring() -> None:
    parameters = inspect.signature(assay.run).parameters
    wanted = set(RunSettings.__struct_fields__) - ONLY_ELSEWHERE.keys() | TABLE_FLAGS.keys() | NO_SETTINGS
    assert set(parameters) == wanted
    for name, parameter in parameters.items():
        assert parameter.annotation is not parameter.empty, name
        assert name == "data" or (parameter.default is None and parameter.kind is parameter.KEYWORD_ONLY), (
            name
        )
        assert f"\n        {name}: " in (assay.run.__doc__ or ""), name
    assert set(TABLE_FLAGS.values()) <= set(META_FIELDS)


def test_arguments_reach_the_settings() -> None:
    result = assay.run(
        ROWS,
        model="mock",
        model_args={"chat": True},
        method="gen",
        limit=2,
        name="sums",
        options=("A", "B"),
        group_by="answer",
        stop="x",
        seed=3,
        progress=False,
    )
    settings = {name: one["value"] for name, one in result.manifest["settings"].items()}
    assert settings["model_args"] == {"chat": "true"}
    assert (settings["limit"], settings["stop"], settings["seed"]) == ("2", ["x"], 3)
    assert settings["table"] == {"abbr": "sums", "options": ["A", "B"], "category_column": "answer"}
    assert result.tasks == ["sums"]
    assert len(result.samples) == 2


def test_messages_name_arguments_as_python_writes_them() -> None:
    with pytest.raises(assay.AssayError, match=r"TABLE-001.*named by 'answer_column'"):
        assay.run(ROWS, model="mock", answer_column="answr")
    with pytest.raises(assay.AssayError, match=r"TABLE-001.*named by table\['output_column'\]"):
        assay.run(ROWS, model="mock", table={"output_column": "answr"})
    with pytest.raises(assay.AssayError, match=r"USAGE-005.*'answer_column' and table\['output_column'\]"):
        assay.run(ROWS, model="mock", answer_column="answer", table={"output_column": "answer"})


def test_rows_and_functions_need_no_file() -> None:
    result = assay.run(ROWS, model=right)
    assert result.accuracy.value == 1.0
    assert result.manifest["tasks"][0]["source"] == "python:list"
    assert len(result.manifest["tasks"][0]["data_hash"]) == 32
    assert result.samples[0].reply == "B"
    assert not list(Path().glob("*.jsonl"))


def test_several_datasets_by_name_and_by_kind() -> None:
    named = assay.run({"easy": ROWS[:2], "hard": ROWS[2:]}, model=right)
    assert named.tasks == ["easy", "hard"]
    listed = assay.run([ROWS[:2], ROWS[2:]], model=right)
    assert listed.tasks == ["list", "list-2"]
    pandas = pytest.importorskip("pandas")
    mixed = assay.run([pandas.DataFrame(ROWS), ROWS], model=right)
    assert mixed.tasks == ["DataFrame", "list"]
    assert mixed["list"].accuracy.n == 3


def test_iterators_of_rows_and_of_paths(tmp_path: Path) -> None:
    paths = [tmp_path / f"{name}.csv" for name in "ab"]
    for path in paths:
        path.write_text("question,answer\n1+1=,2\n", encoding="utf-8")
    assert assay.run(iter(paths), model=lambda prompt: "2").tasks == ["a", "b"]
    assert assay.run((row for row in ROWS), model=right).accuracy.n == 3


def test_solved_examples_from_rows() -> None:
    result = assay.run(ROWS[:1], shots_from=ROWS[1:], shots=2, model=right)
    assert [one["content"] for one in result.samples[0].messages if one["role"] == "assistant"] == [
        "Answer: A",
        "Answer: B",
    ]


def test_a_function_as_the_judge() -> None:
    rows = [{"question": "Capital of France?", "answer": "Paris"}]
    seen = []

    def judge(prompt: str) -> str:
        seen.append(prompt)
        return "[[A]]" if "GRADE" in prompt else "CORRECT"

    result = assay.run(rows, model=lambda prompt: "It is Paris", judge=judge, match="judge")
    assert result.manifest["judge"]["name"] == "python:judge"
    assert len(seen) == 1
    assert "Paris" in seen[0]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"question": ["a"], "answer": ["b"]}, r"PYTHON-001 python:dict.*instead of datasets by name"),
        ({"quiz": "data.csv"}, "PYTHON-001.*pass the path itself"),
        (42, "PYTHON-001 python:int.*a int is not a dataset"),
        ([("q", "a")], r"PYTHON-002 python:list row 1 \(index 0\).*the row is a tuple"),
    ],
)
def test_wrong_data_are_errors_before_the_model_is_called(data: Any, message: str) -> None:
    def never(prompt: str) -> str:
        raise AssertionError

    with pytest.raises(assay.AssayError, match=message):
        assay.run(data, model=never)
    assert not Path("runs").exists()


def test_a_bad_row_is_named_by_its_index() -> None:
    rows = [*ROWS, {"question": "4+4=", "A": "8", "B": "9", "answer": "Z"}]
    with pytest.raises(assay.AssayError, match=r"python:list row 4 \(index 3\), column 'answer'"):
        assay.run(rows, model=right, options=["A", "B"], answer_column="answer")


@pytest.mark.parametrize("method", ["ppl", "prob"])
def test_likelihoods_of_a_function_are_rejected_before_it_is_called(method: str) -> None:
    with pytest.raises(assay.AssayError, match=r"PLAN-001.*a function returns a text"):
        assay.run(ROWS, model=right, method=method)
    assert not Path("runs").exists()


def test_exceptions_are_failed_samples_and_never_answers() -> None:
    def fragile(prompt: str) -> str:
        if "2+2" in prompt:
            raise KeyError("A")
        return "B"

    result = assay.run(ROWS, model=fragile)
    assert (result.accuracy.n, result.accuracy.n_failed, result.accuracy.value) == (2, 1, 1.0)
    (failed,) = result.samples.wrong
    assert failed.verdict == "failed"
    assert failed.reply is None
    assert "KeyError: 'A'" in str(failed.why)
    assert "test_run.py line" in str(failed.why)
    assert "1 failed" in repr(result)


def test_a_function_that_always_fails_ends_the_run_early() -> None:
    calls = []

    def broken(prompt: str) -> Any:
        calls.append(prompt)
        return 42

    rows = [{"question": f"{n}+0=", "answer": str(n)} for n in range(100)]
    with pytest.raises(assay.AssayError, match=r"MODEL-010.*failed on the first 20 prompts.*returned int 42"):
        assay.run(rows, model=broken)
    assert len(calls) == 20
    result = assay.run(rows[:3], model=broken)
    with pytest.raises(assay.AssayError, match=r"no accuracy: 3 of 3 samples failed.*must return a str"):
        result.accuracy  # noqa: B018


def test_answers_of_functions_are_not_reused_without_a_version() -> None:
    calls = []

    def counting(prompt: str) -> str:
        calls.append(prompt)
        return "B"

    for _ in range(2):
        assay.run(ROWS, model=counting, method="gen")
    assert len(calls) == 6
    versioned = {"version": "1"}
    for _ in range(2):
        assay.run(ROWS, model=counting, model_args=versioned)
    assert len(calls) == 9
    assay.run(ROWS[:2], model=counting, model_args=versioned, name="part")
    assert len(calls) == 9
    assay.run(ROWS, model=counting, model_args={"version": "2"})
    assert len(calls) == 12


def test_an_interrupted_run_resumes_with_the_same_function_only() -> None:
    def build(reply: str) -> Any:
        def answer(prompt: str) -> str:
            with Path("calls").open("a", encoding="utf-8") as calls:
                calls.write("x")
            if Path("calls").stat().st_size == 2:
                signal.raise_signal(signal.SIGINT)
            return reply

        return answer

    with pytest.raises(KeyboardInterrupt):
        assay.run(ROWS, model=build("B"))
    other = assay.run(ROWS, model=build("A"))
    assert [sample.reply for sample in other.samples] == ["A", "A", "A"]
    resumed = assay.run(ROWS, model=build("B"))
    assert resumed.manifest["stats"]["requests_journaled"] == 1
    assert [sample.reply for sample in resumed.samples] == ["B", "B", "B"]
    assert Path("calls").stat().st_size == 2 + 3 + 2


def test_names_of_python_objects_mean_nothing_elsewhere() -> None:
    with pytest.raises(assay.AssayError, match=r"PYTHON-003.*exists only in the call of assay.run"):
        assay.run(ROWS, model="python:right")
    with pytest.raises(assay.AssayError, match=r"PYTHON-004.*exists only in the call of assay.run"):
        assay.run("python:list", model="mock")


def test_dir_shows_what_there_is() -> None:
    assert dir(assay) == sorted(assay.__all__)
    assert {"run", "load", "score", "RunResult"} <= set(dir(assay))


def test_stored_runs_open_again() -> None:
    result = assay.run(ROWS, model=right)
    assert repr(assay.load(result.folder)) == repr(result)
    assert assay.load("last").folder == result.folder
    assert assay.load("list-").accuracy.value == 1.0
    with pytest.raises(assay.AssayError, match="STORE-005"):
        assay.load("nothing")
    rescored = assay.score(result.folder)
    assert rescored.accuracy.value == 1.0


def test_the_command_line_reads_runs_of_python_objects() -> None:
    folder = str(assay.run(ROWS, model=right).folder)
    for arguments in (["explain", folder, "row:1"], ["report", folder], ["score", folder], ["ls"]):
        status, out, err = command_line(*arguments)
        assert status == 0, out + err
    assert "python:right" in command_line("ls")[1]
    other = str(assay.run(ROWS, model=lambda prompt: "A").folder)
    status, out, _ = command_line("compare", folder, other)
    assert status == 0
    assert "python:lambda" in out


def test_the_example_of_the_readme_runs() -> None:
    readme = (Path(__file__).parents[4] / "README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    Path("data.csv").write_text("question,A,B,answer\n1+1=,1,2,B\n2+2=,4,5,A\n3+3=,7,6,B\n", encoding="utf-8")
    assert '"smollm2"' in example
    names: dict[str, Any] = {}
    exec(example.replace('"smollm2"', '"mock"'), names)  # noqa: S102
    assert names["result"].accuracy.n == 3
