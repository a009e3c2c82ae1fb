"""`assay as ultraeval`: the original's command lines on the mock model, and the files it writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli import assay
from fakes.infer_server import Body, serving
from fakes.transforms import FREE, GEN, PPL, choice_rows, config, free_rows, write_dataset

LIKELIHOOD = "loglikelihood"


@pytest.fixture
def checkout(workdir: Path, empty_cache: None) -> Path:
    """A checkout of the original, as the working folder: a dataset of two tasks, and one of free answers."""
    configs = {
        "north_gen.json": config("north", dataset="quiz"),
        "north_ppl.json": config("north", dataset="quiz", method=LIKELIHOOD),
        "far_south_gen.json": config("far_south", dataset="quiz", description="Think."),
    }
    rows = {"north": choice_rows(8), "far_south": choice_rows(5)}
    scripts = {"transform_gen_v0.py": GEN, "transform_ppl_v0.py": PPL}
    write_dataset(workdir, rows, scripts, configs, name="quiz")
    both = {"bleu-4": {"evaluation": {"type": "bleu"}}, "match": {"evaluation": {"type": "exact_match"}}}
    free = {"Sums_gen.json": config("sums", dataset="Sums", metric=both)}
    write_dataset(workdir, {"sums": free_rows(6)}, {"transform_gen_v0.py": FREE}, free, name="Sums")
    return workdir


class Logged:
    """The original's files after a run."""

    def __init__(self, printed: str) -> None:
        self.folder = Path(printed.rstrip().rsplit("\n", 1)[-1])

    def read(self, name: str) -> Any:
        """Return a file's content."""
        return json.loads((self.folder / name).read_text(encoding="utf-8"))

    def instances(self, task: str) -> list[dict[str, Any]]:
        """Return a task's rows."""
        lines = (self.folder / task / "instance.jsonl").read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]


def run(*flags: str, model: tuple[str, ...] = ("--model", "mock")) -> tuple[Logged, dict[str, Any], str]:
    """Run; return the original's files, Assay's manifest, and what was printed."""
    result = assay("as", "ultraeval", *model, *flags)
    assert result.status == 0, result.err
    (folder,) = Path("runs").iterdir()
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    return Logged(result.out), manifest, result.out + result.err


def test_flags_become_settings(checkout: Path) -> None:
    Path("p.json").write_text('{"temperature": 0.7, "max_tokens": 9}', encoding="utf-8")
    logged, manifest, printed = run(
        *("--datasets", "Quiz", "--tasks", "far-south,north", "--num_fewshot", "2", "--limit", "3"),
        *("--params", "p.json", "--seed", "5", "--fidelity", "faithful", "--output_base_path", "out"),
        *("--batch_size", "4", "--save", "x.json", "--model_args", "concurrency=3,chat=true"),
    )
    assert [task["name"] for task in manifest["tasks"]] == ["quiz:far-south", "quiz:north"]
    for task in manifest["tasks"]:
        settings = task["settings"]
        assert (task["methods"], task["n_samples"]) == (["gen"], 3)
        assert settings["limit"] == {"n": 3, "which": "first"}
        assert (settings["shots"], settings["seed"], settings["fidelity"]) == ({"gen": 2}, 5, "faithful")
        assert (settings["sampling"]["temperature"], settings["sampling"]["max_tokens"]) == (0.7, 9)
    for flag in ("--save: ", "--batch_size: mock", "--model_args concurrency: mock"):
        assert flag in printed
    assert logged.folder.parent == Path("out")


def test_the_files_that_the_original_leaves_behind(checkout: Path) -> None:
    logged, _, printed = run("--datasets", "quiz,sums", "--write_out", "--num_fewshot", "1")
    names = ["quiz_far-south_gen", "quiz_north_gen", "sums_sums_gen"]
    assert sorted(path.name for path in logged.folder.iterdir()) == ["_all_results.json", *names]
    settings = logged.read("quiz_far-south_gen/config.json")
    assert settings == {
        "task_name": "quiz_far-south_gen",
        "path": "datasets/quiz/data/far_south.jsonl",
        "description": "Think.",
        "transform": "datasets/quiz/transform_gen_v0.py",
        "fewshot": 1,
        "batch_size": 1,
        "generate": {
            "method": "generate",
            "params": "",
            "args": settings["generate"]["args"],
        },
        "model_postprocess": "general_torch",
        "task_postprocess": "",
        "metric": {"accuracy": {"evaluation": {"type": "exact_match"}}},
        "log_dir": str(logged.folder),
    }
    every = logged.read("_all_results.json")
    for name in names:
        final = logged.read(f"{name}/final_metrics.json")
        assert final["task_name"] == name
        assert final["overall_result"] == every[name.partition("_")[0]][name]
        for metric, value in final["overall_result"].items():
            rows = final["instance_result"][metric]
            assert value == pytest.approx(sum(rows) / len(rows))
            assert f"| {name} | {metric} | {value:.4f} |" in printed
            instances = logged.instances(name)
            assert [one["metrics"][metric] for one in instances] == rows
            assert [one["eval_results"][metric] for one in instances] == rows
    mean = sum(every["quiz"][name]["accuracy"] for name in names[:2]) / 2
    assert every["quiz"]["mean_result"] == {"accuracy": pytest.approx(mean)}
    assert f"| quiz | accuracy | {mean:.4f} |" in printed
    first = logged.instances("quiz_far-south_gen")[0]
    assert first["data"] == choice_rows(5)[0]
    assert first["ground_truth"] == "(A)"
    (prompt,) = first["prompt_inputs"]
    assert prompt.startswith("Think.\n\nQuestion ")
    assert len(first["raw_outputs"]) == len(first["processed_outputs"]) == 1


def test_bleu_has_the_originals_scale(checkout: Path) -> None:
    rows = [{**row, "answer": "one two three four five"} for row in free_rows(4)]
    write_dataset(checkout, {"sums": rows}, {}, name="Sums")
    logged, _, _ = run("--datasets", "sums", "--model_args", "answer=one two three four five")
    final = logged.read("sums_sums_gen/final_metrics.json")
    assert final["overall_result"] == {"bleu-4": pytest.approx(100.0), "match": 1.0}
    assert final["instance_result"] == {"bleu-4": [pytest.approx(100.0)] * 4, "match": [1.0] * 4}


def test_likelihoods_of_each_option(checkout: Path) -> None:
    logged, _, _ = run("--datasets", "quiz", "--method", "ppl", "--write_out", "--limit", "2")
    assert logged.read("quiz_north_ppl/config.json")["generate"]["method"] == LIKELIHOOD
    for row, instance in zip(choice_rows(2), logged.instances("quiz_north_ppl"), strict=True):
        assert instance["prompt_inputs"] == [f"{row['question']} "]
        assert instance["ground_truth"] == "", "what the transform returns as processed_output"
        (tokens,), (losses,) = instance["raw_outputs"], instance["processed_outputs"]
        assert losses == [pytest.approx(-sum(some)) for some in tokens]
        chosen = list(row["target_scores"].values())[losses.index(min(losses))]
        assert instance["metrics"] == {"accuracy": chosen}


def test_instances_have_every_sample(checkout: Path) -> None:
    params = {"temperature": 0.5, "max_tokens": 9, "sampling_num": 2}
    (checkout / "two.json").write_text(json.dumps(params), encoding="utf-8")
    listed = """
def transform(data, num_sample, r, dataset_name):
    return {"input": data["question"], "output": data["answer"], "processed_output": [data["answer"]]}
"""
    write_dataset(checkout, {"sums": free_rows(3)}, {"transform_gen_v0.py": listed}, name="Sums")
    flags = ("--datasets", "sums", "--write_out", "--params", "two.json", "--fidelity", "faithful")
    for shots in ("0", "1"):
        logged = Logged(assay("as", "ultraeval", "--model", "mock", *flags, "--num_fewshot", shots).out)
        for n, one in enumerate(logged.instances("sums_sums_gen")):
            assert one["ground_truth"] == [str(n + 1)], "a list stays a list"
            for key in ("prompt_inputs", "raw_outputs", "processed_outputs"):
                assert len(one[key]) == 2, key
            assert all(prompt.endswith(f"{n}+1") for prompt in one["prompt_inputs"])
        settings = logged.read("sums_sums_gen/config.json")
        assert settings["generate"] == {"method": "generate", "params": "", "args": params}


def test_instances_say_which_program_passed(checkout: Path) -> None:
    row: dict[str, Any] = {
        "prompt": "def f(x):\n",
        "entry_point": "f",
        "test": "def check(f):\n    assert f(1) == 2\n",
        "task_id": "1",
    }
    row |= {"passage": "", "question": "", "target_scores": {}, "answer": ""}
    script = """
def transform(data, num_sample, r, dataset_name):
    return {"input": data["prompt"].strip(), "output": "", "processed_output": ""}
"""
    metric = {"pass_k": {"evaluation": {"type": "function_execution"}, "aggregation": {"type": "pass_k"}}}
    method = {"method": "generate", "params": {"temperature": 0.5, "sampling_num": 2}}
    code = {"code_gen.json": config("code", dataset="code", metric=metric, generate=method)}
    write_dataset(checkout, {"code": [row]}, {"transform_gen_v0.py": script}, code, name="code")
    programs = iter(["    return x", "    return x + 1"])

    def model(body: Body) -> list[str]:
        return [next(programs) for _ in body["instances"]]

    with serving(model) as server:
        where = ("--model", "general", "--model_args", f"url={server.url},concurrency=1")
        result = assay("as", "ultraeval", *where, "--datasets", "code", "--write_out")
    assert result.status == 0, result.err
    (one,) = Logged(result.out).instances("code_code_gen")
    assert one["eval_results"] == {"pass_k": [False, True]}
    assert one["metrics"] == {"pass@1": 0.5, "pass@2": 1.0}


def test_rows_that_failed_have_no_value(checkout: Path) -> None:
    command = ("as", "ultraeval", "--model", "mock", "--model_args", "fail_every=2", "--datasets", "quiz")
    result = assay(*command, "--write_out")
    assert result.status == 3
    logged = Logged(result.out)
    final = logged.read("quiz_north_gen/final_metrics.json")
    values = final["instance_result"]["accuracy"]
    known = [value for value in values if value is not None]
    assert 0 < len(known) < len(values) == 8
    assert final["overall_result"]["accuracy"] == pytest.approx(sum(known) / len(known))
    outputs = [one["raw_outputs"] for one in logged.instances("quiz_north_gen")]
    assert [output == [None] for output in outputs] == [value is None for value in values]


def test_a_list_of_configs_is_evaluated_by_each_method(checkout: Path) -> None:
    entries = [
        config("quiz_north_gen", dataset="quiz", path="datasets/quiz/data/north.jsonl"),
        config("quiz_north_ppl", dataset="quiz", path="datasets/quiz/data/north.jsonl", method=LIKELIHOOD),
    ]
    Path("configs").mkdir()
    Path("configs/eval.json").write_text(json.dumps(entries), encoding="utf-8")
    logged, _, printed = run("--config_path", "configs/eval.json", "--method", "gen")
    assert {path.name for path in logged.folder.glob("*/")} == {"quiz_north_gen", "quiz_north_ppl"}
    assert "--method: the configs define" in printed


def test_a_config_that_was_written_can_be_run_again(checkout: Path) -> None:
    logged, _, _ = run("--datasets", "quiz", "--tasks", "north")
    again = assay(
        "run", str(logged.folder / "quiz_north_gen" / "config.json"), "-m", "mock", "--out", "again"
    )
    assert again.status == 0, again.err
    manifest = json.loads(Path("again/manifest.json").read_text(encoding="utf-8"))
    assert [task["name"] for task in manifest["tasks"]] == ["quiz:north"]


def test_all_datasets_leave_out_what_has_no_such_method(checkout: Path) -> None:
    logged, _, _ = run("--datasets", "all", "--method", "ppl")
    assert {path.name for path in logged.folder.glob("*/")} == {"quiz_north_ppl"}


def test_tasks_are_called_by_the_names_of_their_files(checkout: Path) -> None:
    configs = {"Deep_Sea_gen.json": config("Marine", dataset="quiz", path="datasets/quiz/data/north.jsonl")}
    write_dataset(checkout, {}, {}, configs, name="quiz")
    for named in ("deep-sea", "marine"):
        logged, _, _ = run("--datasets", "quiz", "--tasks", named)
        assert {path.name for path in logged.folder.glob("*/")} == {"quiz_Marine_gen"}


def test_a_server_of_the_original_is_a_model(checkout: Path) -> None:
    with serving() as server:
        model = ("--model", "general", "--model_args", f"url={server.url},concurrency=2")
        _, manifest, _ = run(
            *("--datasets", "sums", "--num_fewshot", "1", "--batch_size", "3", "--fidelity", "faithful"),
            model=model,
        )
        assert manifest["model"]["name"] == f"ultraeval:{server.url}"
        assert [len(body["instances"]) for body in server.bodies] == [3, 3]
        assert manifest["settings"]["model_args"]["value"] == {"concurrency": "2", "batch_size": "3"}


def test_a_second_model_behind_the_same_url_is_asked(checkout: Path) -> None:
    def constant(body: Body) -> list[str]:
        return ["(A)" for _ in body["instances"]]

    with serving() as server:
        flags = ("--datasets", "Sums", "--model", "general", "--model_args", f"url={server.url}")
        assert assay("as", "ultraeval", *flags).status == 0
        n_texts = len(server.instances)
        server.model = constant
        again = assay("as", "ultraeval", *flags)
        assert again.status == 0, again.err
        assert len(server.instances) == 2 * n_texts
        assert "does not report which model it runs" in " ".join(again.err.split())
        assert Logged(again.out).read("_all_results.json")["sums"]["sums_sums_gen"]["match"] == 0.0
        named = (*flags[:-1], f"url={server.url},model=llama")
        for extra, n_asked in (((), 1), ((), 0), (("--fresh",), 1)):
            before = len(server.instances)
            assert assay("as", "ultraeval", *named, *extra).status == 0
            assert len(server.instances) - before == n_asked * n_texts, extra


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--model", "mock"), "no dataset is named"),
        (("--model", "mock", "--datasets", "quizz"), "there is no dataset 'quizz' (did you mean 'quiz'?)"),
        (("--model", "mock", "--datasets", "quiz,sums", "--tasks", "north"), "tasks of one dataset"),
        (
            ("--model", "mock", "--datasets", "quiz", "--config_path", "x.json"),
            "each selects what to evaluate",
        ),
        (
            ("--model", "mock", "--config_path", "x.json", "--tasks", "north"),
            "cannot be combined with --config_path",
        ),
        (
            ("--model", "mock", "--datasets", "x", "--dataset_dir", "runs"),
            "there is no dataset folder in 'runs'",
        ),
        (("--model", "general", "--datasets", "quiz"), "has no url"),
        (("--model", "gpt-4", "--datasets", "quiz"), "a model behind an API"),
        (("--model", "mock", "--datasets", "quiz", "--model_args", "x"), "expected key=value"),
        (("--datasets", "quiz"), "--model"),
    ],
)
def test_what_cannot_be_followed_is_reported(checkout: Path, flags: tuple[str, ...], message: str) -> None:
    result = assay("as", "ultraeval", *flags)
    assert result.status == 2
    assert "USAGE-006" in result.err
    assert message in " ".join(result.err.split())


def test_help_lists_the_flags() -> None:
    shown = assay("as", "ultraeval", "--help").out
    for flag in ("--config_path", "--num_fewshot", "--write_out", "--datasets", "--tasks", "--fidelity"):
        assert flag in shown


@pytest.mark.model
def test_a_real_model_by_both_methods(checkout: Path) -> None:
    entries = [
        config("quiz_north_gen", dataset="quiz", path="datasets/quiz/data/north.jsonl"),
        config("quiz_north_ppl", dataset="quiz", path="datasets/quiz/data/north.jsonl", method=LIKELIHOOD),
    ]
    Path("eval.json").write_text(json.dumps(entries), encoding="utf-8")
    Path("short.json").write_text('{"temperature": 0.3, "top_p": 0.8, "max_tokens": 12}', encoding="utf-8")
    logged, manifest, _ = run(
        *("--config_path", "eval.json", "--limit", "3", "--num_fewshot", "1", "--batch_size", "4"),
        *("--fidelity", "faithful", "--write_out", "--params", "short.json"),
        model=("--model", "smollm2"),
    )
    assert manifest["settings"]["model_args"]["value"] == {"max_batch": "4"}
    for instance in logged.instances("quiz_north_ppl"):
        (tokens,), (losses,) = instance["raw_outputs"], instance["processed_outputs"]
        assert len(tokens) == 3
        assert losses == [pytest.approx(-sum(some)) for some in tokens]
        assert all(loss > 0 for loss in losses)
    assert len(logged.instances("quiz_north_gen")) == 3
