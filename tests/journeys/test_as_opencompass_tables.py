"""Tables under `assay as opencompass`: in a config's list, and by --custom-dataset-path.

What is expected of faithful runs was written by OpenCompass 0.5.4 for the same files and replies
(benchmarks/conformance_opencompass_program.py).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli import assay

MODELS = """models = [dict(
    type="Assay", abbr="m", model="mock", model_args=dict(answer="The answer is B."{args}), max_out_len=33,
    generation_kwargs=dict(stop=["ZZZ"]){more},
)]
"""
CLASS = """dict(
    abbr="by_class", type=CustomDataset, path="qa.jsonl",
    reader_cfg=dict(input_columns=["question"], output_column="answer"),
    infer_cfg=dict(
        prompt_template=dict(type=PromptTemplate, template="{question}"),
        retriever=dict(type=ZeroRetriever), inferencer=dict(type=GenInferencer),
    ),
    eval_cfg=dict(evaluator=dict(type=AccEvaluator)),
)"""
IMPORTS = """from opencompass.datasets import CustomDataset
from opencompass.openicl.icl_evaluator import AccEvaluator
from opencompass.openicl.icl_inferencer import GenInferencer
from opencompass.openicl.icl_prompt_template import PromptTemplate
from opencompass.openicl.icl_retriever import ZeroRetriever
"""


@pytest.fixture(autouse=True)
def _tables(workdir: Path) -> None:
    mcq = [
        {"question": "1+1=", "A": "1", "B": "2", "C": "3", "answer": "B"},
        {"question": "2+1=", "A": "1", "B": "2", "C": "3", "answer": "C"},
    ]
    qa = [{"question": "1+1=", "answer": 2}, {"question": "2+1=", "answer": 3}]
    for name, rows in (("mcq", mcq), ("qa", qa)):
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (workdir / f"{name}.jsonl").write_text(lines, encoding="utf-8")


def write_config(workdir: Path, datasets: str, args: str = "", more: str = "") -> None:
    models = MODELS.replace("{args}", args).replace("{more}", more)
    (workdir / "run.py").write_text(f"{IMPORTS}{models}datasets = [{datasets}]\n", encoding="utf-8")


def run(workdir: Path, *flags: str) -> Path:
    result = assay("as", "opencompass", *flags)
    assert result.status == 0, result.err
    return sorted((workdir / "outputs" / "default").iterdir())[-1]


def read(folder: Path, kind: str, name: str) -> Any:
    return json.loads((folder / kind / "m" / f"{name}.json").read_text(encoding="utf-8"))


def tasks(folder: Path) -> dict[str, Any]:
    (path,) = folder.glob("runs/*/*/manifest.json")
    return {task["name"]: task for task in json.loads(path.read_text(encoding="utf-8"))["tasks"]}


TABLES = '{"path": "mcq.jsonl"}, {"path": "qa.jsonl", "data_type": "qa"}'


@pytest.mark.parametrize("fidelity", ["corrected", "faithful"])
@pytest.mark.parametrize("datasets", [TABLES, f"{TABLES}, {CLASS}"])
def test_tables_take_the_models_length_and_stops_as_classes_do(
    workdir: Path, datasets: str, fidelity: str
) -> None:
    write_config(workdir, datasets)
    for task in tasks(run(workdir, "run.py", "--fidelity", fidelity)).values():
        sampling = task["settings"]["sampling"]
        assert (sampling["max_tokens"], sampling["stop"][-1]) == (33, "ZZZ"), task["name"]


def test_a_table_by_path_takes_them_too(workdir: Path) -> None:
    (workdir / "configs" / "models").mkdir(parents=True)
    model = MODELS.replace("{args}", "").replace("{more}", "")
    (workdir / "configs" / "models" / "said.py").write_text(model, encoding="utf-8")
    folder = run(workdir, "--models", "said", "--custom-dataset-path", "qa.jsonl")
    sampling = tasks(folder)["qa"]["settings"]["sampling"]
    assert (sampling["max_tokens"], sampling["stop"]) == (33, ["ZZZ"])


@pytest.mark.parametrize("fidelity", ["corrected", "faithful"])
def test_every_dataset_of_a_list_is_repeated(workdir: Path, fidelity: str) -> None:
    write_config(workdir, f"{TABLES}, {CLASS}", args=", chat=True")
    folder = run(workdir, "run.py", "--dataset-num-runs", "2", "--fidelity", fidelity)
    golds: dict[str, list[Any]] = {"mcq": ["B", "C"], "qa": [2, 3], "by_class": [2, 3]}
    for name in ("mcq", "qa", "by_class"):
        assert [row["gold"] for row in read(folder, "predictions", name).values()] == golds[name] * 2


def test_a_repeated_table_by_path(workdir: Path) -> None:
    folder = run(workdir, "--models", "mock", "--custom-dataset-path", "mcq.jsonl", "--dataset-num-runs", "2")
    (path,) = folder.glob("predictions/*/mcq.json")
    assert len(json.loads(path.read_text(encoding="utf-8"))) == 4


def test_a_faithful_table_is_the_entry_that_the_original_makes(workdir: Path) -> None:
    write_config(workdir, TABLES, args=", chat=True")
    folder = run(workdir, "run.py", "--fidelity", "faithful")
    assert read(folder, "predictions", "mcq")["0"] == {
        "origin_prompt": [{"role": "HUMAN", "prompt": "Question: 1+1=\nA. 1\nB. 2\nC. 3\n"}],
        "prediction": "The answer is B.",
        "gold": "B",
    }
    assert read(folder, "results", "mcq") == {
        "accuracy": 50.0,
        "details": [
            {
                "example_abbr": f"mcq_{at}",
                "pred": ["The answer is B."],
                "parsed": ["B"],
                "refr": [gold],
                "correct": [gold == "B"],
            }
            for at, gold in enumerate("BC")
        ],
    }
    assert read(folder, "predictions", "qa")["0"]["gold"] == 2
    assert read(folder, "results", "qa")["details"] == {
        "type": "GEN",
        **{
            str(at): {
                "prompt": [{"role": "HUMAN", "prompt": f"{question}\n"}],
                "origin_prediction": "The answer is B.",
                "predictions": "The answer is B.",
                "references": gold,
            }
            for at, (question, gold) in enumerate((("1+1=", "2"), ("2+1=", "3")))
        },
    }
    (summary,) = (folder / "summary").glob("*.csv")
    assert summary.read_text(encoding="utf-8").splitlines()[1:] == [
        "mcq,e44e8c,accuracy,gen,50.00",
        "qa,359d58,accuracy,gen,0.00",
    ]


def test_the_default_writes_the_same_shapes_and_versions(workdir: Path) -> None:
    write_config(workdir, TABLES)
    folder = run(workdir, "run.py")
    first = read(folder, "results", "mcq")["details"][0]
    assert first == {
        "example_abbr": "mcq_0",
        "pred": ["The answer is B."],
        "parsed": ["B"],
        "refr": ["B"],
        "correct": [True],
    }
    assert read(folder, "predictions", "qa")["0"]["gold"] == 2
    (summary,) = (folder / "summary").glob("*.csv")
    assert [line.split(",")[1] for line in summary.read_text(encoding="utf-8").splitlines()] == [
        "version",
        "e44e8c",
        "359d58",
    ]


@pytest.mark.parametrize("fidelity", ["corrected", "faithful"])
def test_ppl_rows_have_what_the_originals_tools_read(workdir: Path, fidelity: str) -> None:
    write_config(workdir, '{"path": "mcq.jsonl", "infer_method": "ppl"}')
    folder = run(workdir, "run.py", "--fidelity", fidelity)
    row = read(folder, "predictions", "mcq")["0"]
    prompt = "Question: 1+1=\nA. 1\nB. 2\nC. 3\nAnswer: A"
    assert list(row) == [
        "in-context examples",
        "origin_prompt",
        *(f"label: {x}" for x in "ABC"),
        "prediction",
        "gold",
    ]
    assert row["origin_prompt"] == row["label: A"]["prompt"] == prompt
    assert row["label: A"].keys() == {"testing input", "prompt", "PPL", "BPB"}
    if fidelity == "faithful":
        # BPB is the sum over bytes and PPL the sum over all tokens, so their ratio is a whole number.
        n_tokens = row["label: A"]["BPB"] * len(prompt) / row["label: A"]["PPL"]
        assert n_tokens == pytest.approx(round(n_tokens))
    details = read(folder, "results", "mcq")["details"]
    assert details["type"] == "PPL"
    assert details["0"]["origin_prediction"]["A"].keys() == {"prompt", "PPL", "BPB"}
    assert details["0"]["origin_prediction"]["gold"] == "B"
    assert details["0"].keys() == {"origin_prediction", "predictions", "references", "correct"}


META = """, meta_template=dict(round=[
    dict(role="HUMAN", begin="<u>", end="</u>"), dict(role="BOT", begin="<b>", end="</b>", generate=True),
])"""


@pytest.mark.parametrize(("fidelity", "end"), [("corrected", "<b>Answer:"), ("faithful", "<b>")])
def test_a_meta_template_marks_the_turns_of_a_table(workdir: Path, fidelity: str, end: str) -> None:
    write_config(workdir, '{"path": "mcq.jsonl"}', more=META)
    folder = run(workdir, "run.py", "--fidelity", fidelity)
    question = "<u>Question: 1+1=\nA. 1\nB. 2\nC. 3</u>"
    assert read(folder, "predictions", "mcq")["0"]["origin_prompt"] == question + end


def test_spaces_and_bare_texts_of_a_template_in_a_faithful_chat(workdir: Path) -> None:
    (workdir / "mcq.jsonl.meta.json").write_text(
        json.dumps({"human_prompt": "{question} Answer: ", "bot_prompt": "{answer}"}), encoding="utf-8"
    )
    turns = [{"role": "HUMAN", "prompt": "{question}"}, {"role": "BOT", "prompt": "{answer}"}]
    (workdir / "qa.jsonl.meta.json").write_text(
        json.dumps({"template": {"begin": "Add.", "round": turns}}), encoding="utf-8"
    )
    roles = """, meta_template=dict(
        round=[dict(role="HUMAN", api_role="HUMAN"), dict(role="BOT", api_role="BOT", generate=True)])"""
    write_config(workdir, '{"path": "mcq.jsonl"}, {"path": "qa.jsonl"}', args=", chat=True", more=roles)
    folder = run(workdir, "run.py", "--fidelity", "faithful")
    message = {name: read(folder, "predictions", name)["0"]["origin_prompt"] for name in ("mcq", "qa")}
    assert message == {
        "mcq": [{"role": "HUMAN", "prompt": "1+1= Answer: "}],
        "qa": [{"role": "HUMAN", "prompt": "1+1="}],
    }


def test_letters_that_do_not_begin_with_a_are_qa_to_the_original(workdir: Path) -> None:
    row = {"my_question": "1+1=", "X": "2", "Y": "3", "my_answer": "X"}
    (workdir / "xy.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    message = {"template": "{my_question} {X} {Y}", "input_columns": ["my_question", "X", "Y"]}
    (workdir / "xy.jsonl.meta.json").write_text(
        json.dumps({**message, "output_column": "my_answer"}), encoding="utf-8"
    )
    write_config(workdir, '{"path": "xy.jsonl"}')
    assert isinstance(read(run(workdir, "run.py"), "results", "xy")["details"], list)
    faithful = read(run(workdir, "run.py", "--fidelity", "faithful"), "results", "xy")
    assert faithful["details"]["0"]["references"] == "X"


@pytest.mark.parametrize("names", [("one",), ("one", "two")])
def test_tables_of_a_list_that_can_be_read_in_several_ways_are_all_named(
    workdir: Path, names: tuple[str, ...]
) -> None:
    for name in names:
        rows = [{"my_question": f"{n}+1=", "X": "2", "Y": "3", "my_answer": "PQ"[n % 2]} for n in range(8)]
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (workdir / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    entries = ", ".join(
        f'{{"path": "{name}.jsonl", "input_columns": ["my_question"], "output_column": "my_answer"}}'
        for name in names
    )
    write_config(workdir, entries)
    result = assay("as", "opencompass", "run.py")
    assert result.status == 2, result.out
    assert result.err.count("TABLE-018") == len(names), result.err
    assert all(f"{name}.jsonl" in result.err for name in names)
