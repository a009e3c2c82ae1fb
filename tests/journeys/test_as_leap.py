"""`assay as leap`: the original's command line on the mock model, and the files that the original writes."""

from __future__ import annotations

import ast
import json
import random
from pathlib import Path
from typing import Any

import pytest

from cli import assay

PETS = """
import numpy as np

from .base import Task, rf
from .metrics import f1_score, mean


class Pets(Task):
    DATASET_PATH = "pets"
    DATASET_NAME = ""
    DATA_FILES = {"train": "train.jsonl", "test": "test.jsonl"}
    DATASET_TYPE = "json"

    def n_shot(self):
        return 1

    def has_training_docs(self):
        return True

    def has_validation_docs(self):
        return False

    def has_test_docs(self):
        return True

    def training_docs(self):
        return self.dataset["train"]

    def test_docs(self):
        return self.dataset["test"]

    def doc_to_text(self, doc):
        return f"{doc['name']}은 고양이입니까?"

    def doc_to_target(self, doc):
        return " 예" if doc["is_cat"] else " 아니요"

    def construct_requests(self, doc, ctx):
        ll_no, _ = rf.loglikelihood(ctx, " 아니요")
        ll_yes, _ = rf.loglikelihood(ctx, " 예")
        return ll_no, ll_yes

    def process_results(self, doc, results):
        pred = np.argmax(results)
        return {"acc": pred == doc["is_cat"], "f1": (doc["is_cat"], pred)}

    def aggregation(self):
        return {"acc": mean, "f1": f1_score}

    def higher_is_better(self):
        return {"acc": True, "f1": True}
"""
SOUNDS = """
from .base import rf
from .metrics import mean
from .pets import Pets


class Sounds(Pets):
    def n_shot(self):
        return 0

    def request_type(self):
        return "greedy_until"

    def construct_requests(self, doc, ctx):
        return rf.greedy_until(ctx, {"until": ["."]})

    def process_results(self, doc, results):
        if doc["name"] == "pet 2":
            raise ValueError("nobody knows")
        return {"hit": float(results[0].strip() == self.doc_to_target(doc).strip())}

    def aggregation(self):
        return {"hit": mean}

    def higher_is_better(self):
        return {"hit": True}
"""
REGISTRY = 'EVAL_DATASET_METRIC = {"pets": "f1", "sounds": "hit"}\n'
DOCS = [{"name": f"pet {number}", "is_cat": number % 3 == 0} for number in range(7)]
SHOWN = [{"name": f"shown {number}", "is_cat": number == 1} for number in range(3)]


@pytest.fixture
def checkout(workdir: Path, empty_cache: None) -> Path:
    """A checkout of the original with two tasks, as the working folder, and their data."""
    for place, text in (
        ("evaluation/task/pets.py", PETS),
        ("evaluation/task/sounds.py", SOUNDS),
        ("api/config/dataset.py", REGISTRY),
        ("data/pets/test.jsonl", "\n".join(map(json.dumps, DOCS))),
        ("data/pets/train.jsonl", "\n".join(map(json.dumps, SHOWN))),
    ):
        path = workdir / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return workdir


def run(*flags: str, status: int = 0) -> tuple[dict[str, Any], str]:
    """Run; return the manifest, and what was printed."""
    result = assay("as", "leap", "--model", "mock", "--task_dir", "data", *flags)
    assert result.status == status, result.err
    (folder,) = Path("runs").iterdir()
    return json.loads((folder / "manifest.json").read_text(encoding="utf-8")), result.out + result.err


def saved(name: str, folder: str = "out/job") -> Any:
    return json.loads((Path(folder) / f"{name}.json").read_text(encoding="utf-8"))


def stored(name: str) -> list[dict[str, Any]]:
    (path,) = Path("runs").glob(f"*/{name}.jsonl")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_flags_become_settings(checkout: Path) -> None:
    manifest, printed = run(
        *("--task", "sounds", "--num_fewshot", "2", "--max_new_tokens", "9", "--temperature", "0.5"),
        *("--top_p", "0.9", "--top_k", "-1", "--seed", "3", "--limit", "first:2", "--task_id", "job"),
    )
    (task,) = manifest["tasks"]
    assert (task["dialect"], task["n_samples"], task["settings"]["shots"]) == ("leap", 2, 2)
    (sampling,) = task["settings"]["sampling"]
    expected = {"max_tokens": 9, "temperature": 0.5, "top_p": 0.9, "stop": ["."], "seed": 3}
    assert {name: sampling[name] for name in expected} == expected
    assert manifest["settings"]["data_root"]["value"] == "data"
    assert "--" not in printed


def test_without_flags_texts_are_greedy_and_short_and_the_class_says_how_many_examples(
    checkout: Path,
) -> None:
    manifest, _ = run("--task", "*", status=3)
    pets, sounds = manifest["tasks"]
    assert (pets["settings"]["shots"], sounds["settings"]["shots"]) == (1, 0)
    (sampling,) = sounds["settings"]["sampling"]
    assert (sampling["max_tokens"], sampling.get("temperature", 0.0)) == (16, 0.0)
    assert {task["settings"]["fidelity"] for task in manifest["tasks"]} == {"corrected"}


def test_flags_without_meaning_are_accepted_and_reported(checkout: Path) -> None:
    _, printed = run(
        *("--task", "pets", "--device", "0,1", "--tensor_parallel_size", "2", "--infer_backend", "vllm"),
        *("--gpu_memory_utilization", "0.9", "--max_model_len", "4096", "--write_out"),
    )
    for flag in (
        *("device", "tensor_parallel_size", "infer_backend", "gpu_memory_utilization"),
        *("max_model_len", "write_out"),
    ):
        assert printed.count(f"--{flag}: ") == 1


@pytest.mark.parametrize(
    ("task", "names"),
    [("pets", ["pets"]), ("p*", ["pets"]), ("sounds,pets", ["pets", "sounds"]), ("*s", ["pets", "sounds"])],
)
def test_tasks_are_found_by_name_and_wildcard(checkout: Path, task: str, names: list[str]) -> None:
    manifest, _ = run("--task", task, "--limit", "2")
    assert [one["name"] for one in manifest["tasks"]] == names


def test_the_folder_of_tasks_may_be_given(checkout: Path) -> None:
    (checkout / "evaluation").rename(checkout / "mine")
    result = assay("as", "leap", "--model", "mock", "--task", "pets", "--task_dir", "data")
    assert (result.status, "USAGE-006" in result.err) == (2, True)
    assert "--dataset_dir DIR" in result.err
    manifest, _ = run("--task", "pets", "--dataset_dir", "mine/task")
    assert [task["name"] for task in manifest["tasks"]] == ["pets"]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--task", "pet"], "did you mean 'pets'?"),
        (["--task", "q*"], "q*"),
        (["--task", "pets", "--top_k", "5"], "--top_k is not supported: it is not sent to the model"),
        (["--task", "pets", "--num_fewshot", "-2"], "shots"),
        (["--task", "pets", "--infer_backend", "tgi"], "invalid choice"),
        (["--model_dir", "x"], "--task"),
    ],
)
def test_what_cannot_be_done_is_rejected(checkout: Path, flags: list[str], message: str) -> None:
    result = assay("as", "leap", "--model", "mock", "--task_dir", "data", *flags)
    assert (result.status, message in result.err) == (2, True), result.err
    assert not Path("runs").exists()


def test_a_model_is_a_folder_among_the_models_or_a_name(checkout: Path) -> None:
    (checkout / "models" / "mock").mkdir(parents=True)
    result = assay(
        *("as", "leap", "--model", "mock", "--model_dir", "models", "--task", "pets", "--task_dir", "data")
    )
    assert result.status == 2
    assert "models/mock" in result.err
    assert "MODEL-" in result.err


def test_help_lists_the_flags_of_the_original(workdir: Path) -> None:
    result = assay("as", "leap", "--help")
    assert result.status == 0
    for flag in (
        *("device", "task_id", "model", "task", "model_dir", "task_dir", "infer_backend"),
        *("tensor_parallel_size", "gpu_memory_utilization", "max_model_len", "max_new_tokens"),
        *("num_fewshot", "temperature", "top_p", "top_k", "save_dir", "write_out"),
    ):
        assert f"--{flag} " in result.out.replace("\n", " \n")


def test_the_files_that_the_original_leaves_behind(checkout: Path) -> None:
    _, printed = run("--task", "pets,sounds", "--save_dir", "out", "--task_id", "job", status=3)
    assert "out/job\n" in printed
    assert "1 of 14 samples failed (1 scoring)" in printed
    # Asking the model again would not help: its answer is there.
    assert "--retry-failed asks them" not in printed
    assert sorted(path.name for path in Path("out/job").iterdir()) == [
        "pets.json",
        "result.json",
        "sounds.json",
    ]
    result = saved("result")
    assert list(result) == ["configs", "results"]
    assert result["configs"]["task"] == "pets,sounds"
    assert result["configs"]["temperature"] == 0.0
    assert set(result["configs"]) & {"write_out", "device", "task_id"} == set()
    assert list(result["results"]["pets"]) == ["time", "f1", "acc"]
    assert result["results"]["pets"]["time"] == "0:00:00"
    right = [one["acc"] == "True" for one in saved("pets")]
    assert result["results"]["pets"]["acc"] == round(sum(right) / 7, 4)
    assert list(result["results"]["sounds"]) == ["time", "hit"]
    pairs = [ast.literal_eval(one["f1"]) for one in saved("pets")]
    both, message, true = (
        sum(map(test, pairs)) for test in (all, lambda one: bool(one[1]), lambda one: bool(one[0]))
    )
    assert result["results"]["pets"]["f1"] == round(2 * both / (message + true), 4)


def test_a_document_has_its_prompts_what_the_model_gave_and_its_values(checkout: Path) -> None:
    run("--task", "pets", "--num_fewshot", "0", "--save_dir", "out", "--task_id", "job")
    numbers = {line["request_id"]: line["outcome"]["sum_logprob"] for line in stored("responses")}
    rows = saved("pets")
    for number, (row, doc, sample) in enumerate(zip(rows, DOCS, stored("samples"), strict=True)):
        logits = [numbers[ask["id"]] for ask in sample["asks"]]
        assert row == {
            "doc_id": number,
            "prompt_0": f"{doc['name']}은 고양이입니까? 아니요",
            "prompt_1": f"{doc['name']}은 고양이입니까? 예",
            "logit_0": logits[0],
            "logit_1": logits[1],
            "truth": " 예" if doc["is_cat"] else " 아니요",
            "acc": str((logits[1] > logits[0]) == doc["is_cat"]),
            "f1": f"({doc['is_cat']}, {int(logits[1] > logits[0])})",
        }
    # As the original writes it: Korean can be read in the file.
    assert "고양이" in Path("out/job/pets.json").read_text(encoding="utf-8")


def test_a_document_that_failed_says_why(checkout: Path) -> None:
    run("--task", "sounds", "--save_dir", "out", "--task_id", "job", status=3)
    rows = saved("sounds")
    assert [sorted(row) for row in rows] == [
        ["doc_id", "error" if number == 2 else "hit", "logit_0", "prompt_0", "truth"] for number in range(7)
    ]
    assert "raised ValueError: nobody knows" in rows[2]["error"]
    assert isinstance(rows[0]["logit_0"], str)
    assert rows[0]["prompt_0"] == "pet 0은 고양이입니까?"


def test_faithful_files_are_those_of_the_original(checkout: Path) -> None:
    _, printed = run(
        *("--task", "pets,sounds", "--fidelity", "faithful", "--max_new_tokens", "99"),
        *("--save_dir", "out", "--task_id", "job"),
        status=3,
    )
    assert "--max_new_tokens: the original ignores it" in printed
    assert saved("result")["configs"]["temperature"] == 1.0
    order = list(DOCS)
    generator = random.Random(42)
    generator.shuffle(order)
    for row, doc in zip(saved("pets"), order, strict=True):
        (shown,) = generator.sample(SHOWN, 1)
        answer = "예" if shown["is_cat"] else "아니요"
        question = f"{shown['name']}은 고양이입니까? {answer}\n\n{doc['name']}은 고양이입니까?"
        assert row["prompt_0"] == f"{question} 아니요"
    assert [row["prompt_0"] for row in saved("sounds")] == [
        f"{doc['name']}은 고양이입니까?until" for doc in order
    ]


def test_a_conversation_is_written_as_its_messages(checkout: Path) -> None:
    Path("assay.toml").write_text('[model_args]\nchat = "true"\n', encoding="utf-8")
    manifest, _ = run("--task", "sounds", "--limit", "first:1", "--save_dir", "out")
    (row,) = saved("sounds", f"out/{manifest['id']}")
    assert row["prompt_0"] == [{"role": "user", "content": "pet 0은 고양이입니까?"}]


def test_a_name_with_a_slash_is_a_file_in_a_folder(checkout: Path) -> None:
    (checkout / "api" / "config" / "dataset.py").unlink()
    names = 'from . import pets\n\nTASK_REGISTRY = {"zoo/pets": pets.Pets}\n'
    (checkout / "evaluation" / "task" / "__init__.py").write_text(names, encoding="utf-8")
    run("--task", "zoo/*", "--save_dir", "out", "--task_id", "job")
    assert len(saved("zoo/pets")) == len(DOCS)
    assert list(saved("result")["results"]) == ["zoo/pets"]
