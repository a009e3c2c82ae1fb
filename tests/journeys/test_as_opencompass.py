"""`assay as opencompass CONFIG.py`: a whole run in one file, with its summary groups."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli import assay
from fakes.config_folder import edit, write_configs


@pytest.fixture(autouse=True)
def _configs(workdir: Path) -> None:
    write_configs(workdir)


def tree(workdir: Path) -> Path:
    return sorted((workdir / "outputs" / "default").iterdir())[-1]


def test_a_config_with_models_datasets_and_groups(workdir: Path) -> None:
    result = assay("as", "opencompass", "eval_sums.py")
    assert result.status == 0, result.err
    folder = tree(workdir)
    (path,) = (folder / "summary").glob("*.csv")
    rows = [line.split(",") for line in path.read_text(encoding="utf-8").splitlines()]
    assert [row[:1] + row[2:] for row in rows] == [
        ["dataset", "metric", "mode", "says-b", "says-a"],
        ["--- sums ---", "-", "-", "-", "-"],
        ["sums", "accuracy", "gen", "100.00", "0.00"],
        ["sums_left", "accuracy", "gen", "100.00", "0.00"],
        ["sums_right", "accuracy", "gen", "100.00", "0.00"],
        ["sums-weighted", "accuracy", "gen", "100.00", "0.00"],
    ]
    assert "sums, group of 2" in result.out, "a group is in the table of every run, with its interval"
    assert "group 'more' has no naive_average: 1 of 2 subsets are missing: 'products'" in result.out
    assert "others" not in result.out
    predictions = json.loads((folder / "predictions/says-b/sums_left.json").read_text(encoding="utf-8"))
    assert predictions["4"] == {
        "origin_prompt": "left: 4 + 1 =\nA. 4\nB. 5",
        "prediction": "B",
        "gold": "B",
    }
    results = json.loads((folder / "results/says-a/sums_left.json").read_text(encoding="utf-8"))
    assert (results["accuracy"], results["details"]["0"]["correct"]) == (0.0, False)
    (run,) = (folder / "runs" / "says-b").iterdir()
    manifest = json.loads((run / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["groups"]["sums"] == ["sums_left", "sums_right"]
    assert manifest["tasks"][0]["settings"]["sampling"]["max_tokens"] == 77, "the model's own length"


def test_a_length_of_the_dataset_wins_over_the_models_and_a_persons_over_both(workdir: Path) -> None:
    edit(
        workdir / "configs/datasets/sums/sums_gen.py",
        "dict(type=GenInferencer)",
        "dict(type=GenInferencer, max_out_len=5)",
    )
    for flags, length in (((), 5), (("--max-out-len", "9"), 9)):
        assert assay("as", "opencompass", "eval_sums.py", *flags, "-w", f"out{length}").status == 0
        (manifest,) = (workdir / f"out{length}").glob("*/runs/says-b/*/manifest.json")
        settings = json.loads(manifest.read_text(encoding="utf-8"))["tasks"][0]["settings"]
        assert settings["sampling"]["max_tokens"] == length


def test_which_models_go_with_which_datasets(workdir: Path) -> None:
    with (workdir / "eval_sums.py").open("a", encoding="utf-8") as file:
        file.write("model_dataset_combinations = [dict(models=models[:1], datasets=datasets[1:])]\n")
    assert assay("as", "opencompass", "eval_sums.py").status == 0
    folder = tree(workdir)
    assert [str(path.relative_to(folder)) for path in folder.glob("results/*/*")] == [
        "results/says-b/sums_right.json"
    ]


def test_stages(workdir: Path) -> None:
    assert assay("as", "opencompass", "eval_sums.py", "-m", "infer").status == 0
    assert not (tree(workdir) / "results").exists()
    scored = assay("as", "opencompass", "eval_sums.py", "-m", "eval", "-r")
    assert scored.status == 0, scored.err
    assert "100.00" in scored.out
    assert "100.00" in assay("as", "opencompass", "eval_sums.py", "-m", "viz", "-r").out


JUDGED = """dict(
            type=GenericLLMEvaluator,
            prompt_template=dict(
                type=PromptTemplate,
                template=dict(round=[dict(role="HUMAN", prompt="{question}: {obj_gold} or {prediction}?")]),
            ),
            dict_postprocessor=dict(type=generic_llmjudge_postprocess),
            judge_cfg=dict(type="Assay", abbr="judge", model="mock:judge", model_args=dict(answer="A")),
        )"""


def test_a_judge_that_a_config_names(workdir: Path) -> None:
    config = workdir / "configs/datasets/sums/sums_gen.py"
    edit(config, "dict(type=AccEvaluator)", JUDGED)
    edit(
        config,
        "from sums import",
        "from opencompass.datasets import generic_llmjudge_postprocess\n"
        "from opencompass.evaluator import GenericLLMEvaluator\nfrom sums import",
    )
    assert assay("as", "opencompass", "eval_sums.py", "-m", "infer").status == 0
    runs = tree(workdir) / "runs" / "says-a"
    assert not list(runs.glob("*/judgements.jsonl")), "a judge is asked when answers are scored"
    scored = assay("as", "opencompass", "eval_sums.py", "-m", "eval", "-r")
    assert scored.status == 0, scored.err
    (judged,) = runs.glob("*/judgements.jsonl")
    assert len(judged.read_text(encoding="utf-8").splitlines()) == 10
    manifest = json.loads((judged.parent / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["judge"]["name"] == "mock:judge"
    other = assay("as", "opencompass", "eval_sums.py", "-m", "eval", "-r", "--judge", "mock:other")
    assert other.status in (0, 3), other.err
    names = {
        json.loads(path.read_text(encoding="utf-8"))["judge"]["name"]
        for path in runs.glob("*/manifest.json")
        if (path.parent / "judgements.jsonl").exists()
    }
    assert names == {"mock:judge", "mock:other"}


def test_the_command_line_wins_over_the_config(workdir: Path) -> None:
    result = assay("as", "opencompass", "eval_sums.py", "--models", "mock", "--datasets", "sums_ppl")
    assert result.status == 0, result.err
    assert "sums_left_ppl" in result.out
    predictions = json.loads(
        (tree(workdir) / "predictions/mock/sums_left_ppl.json").read_text(encoding="utf-8")
    )
    first = predictions["0"]
    losses = {label: first[f"label: {label}"]["PPL"] for label in ("A", "B")}
    assert first["prediction"] == min(losses, key=lambda label: losses[label])


def test_without_details(workdir: Path) -> None:
    assert assay("as", "opencompass", "eval_sums.py", "--dump-eval-details", "false").status == 0
    results = json.loads((tree(workdir) / "results/says-b/sums_left.json").read_text(encoding="utf-8"))
    assert results == {"accuracy": 100.0}


@pytest.mark.parametrize(
    ("flags", "part"),
    [
        (("--slurm",), "start jobs yourself"),
        (("-a", "vllm"), "used as servers"),
        (("--hf-path", "x", "--models", "mock"), "--models and --hf-path are both set"),
        (("--generation-kwargs", "temperature=1"), "describes the model of --hf-path"),
        (("--hf-path", "x", "--model-kwargs", "oops"), "expected key=value"),
        (("--custom-dataset-path", "x.csv"), "a config and --custom-dataset-path are both set"),
    ],
)
def test_what_cannot_be_done_is_rejected(flags: tuple[str, ...], part: str) -> None:
    result = assay("as", "opencompass", "eval_sums.py", *flags)
    assert (result.status, "USAGE-006" in result.err) == (2, True)
    assert part in result.err


def test_a_model_that_the_flags_describe(workdir: Path) -> None:
    result = assay(
        *("as", "opencompass", "--datasets", "sums_gen", "--hf-path", "/nowhere/model", "--hf-type", "base"),
        *("--generation-kwargs", "do_sample=True", "temperature=0.7", "--batch-size", "4", "--debug"),
    )
    assert result.status == 2
    assert "MODEL-003" in result.err
    assert "/nowhere/model" in result.err
    assert "--debug: " in result.err


def test_an_inference_that_asked_nothing_does_not_say_that_answers_are_kept(workdir: Path) -> None:
    fine = assay("as", "opencompass", "eval_sums.py", "--mode", "infer")
    assert fine.status == 0, fine.err
    assert "answers are stored but not scored" in fine.out
    for path in workdir.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace("BaseDataset):", "NoSuchBase):"), encoding="utf-8")
    broken = assay("as", "opencompass", "eval_sums.py", "--mode", "infer", "-w", "other")
    assert broken.status == 2
    assert "NoSuchBase" in broken.err
    assert "answers are kept" not in broken.out
