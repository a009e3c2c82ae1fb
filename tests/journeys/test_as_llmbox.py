"""`assay as llmbox`: the original's command line on the mock model."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from cli import assay

CLASS = """
from .multiple_choice_dataset import MultipleChoiceDataset

class Quiz(MultipleChoiceDataset):
    instruction = "{{question}}{{'\\\\n' + options if options}}\\nAnswer:"
    evaluation_set = "test"
    example_set = "dev"
    load_args = ("quiz",)

    def format_instance(self, instance):
        return dict(question=instance["question"], options=["yes", "no"], target_idx=instance["answer"])

    @property
    def references(self):
        return [row["answer"] for row in self.evaluation_data]
"""
FREE = """
from .generation_dataset import GenerationDataset
from ..metric import Em

class Free(GenerationDataset):
    instruction = "Q: {question}"
    evaluation_set = "test"
    load_args = ()
    metrics = [Em()]
    extra_model_args = dict(temperature=0, stop=["\\n"])

    def format_instance(self, instance):
        return dict(question=instance["question"], target=str(instance["answer"]))

    @property
    def references(self):
        return [[str(row["answer"])] for row in self.evaluation_data]
"""


@pytest.fixture
def checkout(workdir: Path) -> Path:
    """A checkout of the original with three datasets, the data of two, and this folder as the working one."""
    folder = workdir / "utilization" / "dataset"
    folder.mkdir(parents=True)
    for name, text in (("quiz", CLASS), ("free", FREE), ("translation_dataset", FREE)):
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    for name in ("quiz", "free", "wmt16/de-en", "wmt16/ro-en"):
        data = workdir / "data" / name
        data.mkdir(parents=True)
        for split, n in (("test", 9), ("dev", 4)):
            rows = [json.dumps({"question": f"{split} {k}?", "answer": k % 2}) + "\n" for k in range(n)]
            (data / f"{split}.jsonl").write_text("".join(rows), encoding="utf-8")
    return workdir


def run(*flags: str) -> dict[str, Any]:
    """Run, and return the manifest of the run."""
    result = assay("as", "llmbox", "-m", "mock", "--data_root", "data", *flags)
    assert result.status == 0, result.err
    (folder,) = Path("runs").iterdir()
    manifest: dict[str, Any] = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    manifest["folder"] = folder
    return manifest


def test_flags_become_settings(checkout: Path) -> None:
    (checkout / "assay.toml").write_text('[model_args]\nchat = "true"\n', encoding="utf-8")
    manifest = run(
        *("-d", "quiz", "-shots", "2", "--ranking_type", "prob", "-i", "5", "--evaluation_set", "test"),
        *("--seed", "7", "--model_type", "chat", "--max_example_tokens", "90"),
        *("--system_prompt", "Be\\nbrief", "--instruction", "Say:\\n{question}\\t{options}"),
    )
    (task,) = manifest["tasks"]
    settings = task["settings"]
    assert (task["name"], task["methods"], task["n_samples"]) == ("quiz", ["prob"], 5)
    assert settings["limit"] == {"n": 5, "which": "first"}
    assert (settings["shots"], settings["seed"], settings["form"]) == (2, 7, "chat")
    assert settings["max_example_tokens"] == 90
    assert settings["system_prompt"] == "Be\nbrief"
    assert settings["instruction"] == "Say:\n{question}\t{options}"


def test_the_originals_seed_is_the_default(checkout: Path) -> None:
    assert run("-d", "quiz")["settings"]["seed"]["value"] == 2023


def test_generation_flags(checkout: Path) -> None:
    manifest = run(
        *("-d", "free", "-i", "-3", "--temperature", "0.5", "--max_new_tokens", "12", "--top_p", "0.9"),
        *("--stop", "\\n\\n", "Ende ä", "--majority", "3"),
    )
    sampling = manifest["tasks"][0]["settings"]["sampling"]
    assert sampling["stop"] == ["\n\n", "Ende ä"]
    assert (sampling["temperature"], sampling["top_p"], sampling["max_tokens"], sampling["n"]) == (
        0.5,
        0.9,
        12,
        3,
    )
    samples = (manifest["folder"] / "samples.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [json.loads(line)["sample"]["fields"]["question"] for line in samples]
    assert questions == ["test 6?", "test 7?", "test 8?"]


def test_several_datasets_and_a_file_that_serves_many(checkout: Path) -> None:
    manifest = run("-d", "quiz", "wmt16:ro-en,de-en", "-i", "2", "--evaluation_results_dir", "runs")
    assert [task["name"] for task in manifest["tasks"]] == ["quiz", "wmt16:de-en", "wmt16:ro-en"]


def test_datasets_are_looked_for_where_the_person_says(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = checkout / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    common = ("as", "llmbox", "-m", "mock", "--data_root", "../data", "-d", "quiz")
    missing = assay(*common)
    assert (missing.status, "USAGE-006" in missing.err) == (2, True)
    for folder in ("..", "../utilization/dataset"):
        assert assay(*common, "--dataset_dir", folder).status == 0
    wrong = assay(*common[:-1], "quizz", "--dataset_dir", "..")
    assert "did you mean 'quiz'?" in wrong.err


def test_a_dry_run_checks(checkout: Path) -> None:
    common = ("as", "llmbox", "-m", "mock", "--data_root", "data", "--dry_run")
    one = assay(*common, "-d", "quiz")
    assert (one.status, "no errors" in one.out) == (0, True)
    many = assay(*common, "-d", "quiz", "free", "wmt14")
    assert "3 datasets: 2 ok, 1 need data, 0 with errors" in many.out
    assert not Path("runs").exists()


def test_flags_without_effect_are_named_with_what_happens_instead(checkout: Path) -> None:
    result = assay(
        *("as", "llmbox", "-m", "mock", "--data_root", "data", "-d", "quiz", "--hf_mirror", "--vllm", "True"),
        *("--openai_api_key", "sk-secret", "-b", "16:auto", "--flash_attn", "False", "--gptq", "False"),
    )
    assert result.status == 0, result.err
    assert "--hf_mirror: set the hub's address in the environment: HF_ENDPOINT" in result.err
    assert "--vllm: the local model runs with transformers" in result.err
    assert "--openai_api_key: models behind an API are not supported" in result.err
    assert "flash" not in result.err
    assert "gptq" not in result.err
    (folder,) = Path("runs").iterdir()
    everything = result.out + result.err + (folder / "manifest.json").read_text(encoding="utf-8")
    assert "sk-secret" not in everything


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--load_in_8bit",), "--load_in_8bit is not supported: weights are not quantised"),
        (
            ("--top_k", "5", "--repetition_penalty", "1.1"),
            "--repetition_penalty is not supported: it is not sent",
        ),
        (("--num_beams", "4"), "--best_of is not supported: it is not sent"),
        (("--tokenizer", "other"), "another tokenizer than the model's own gives other numbers"),
        (("--model_backend", "openai"), "a model behind an API, which is not supported"),
        (("-m", "gpt-3.5-turbo"), "a model behind an API, which is not supported"),
        (("--continue_from", "x.json"), "is not a run folder"),
        (("-b", "many"), "--batch_size: found 'many'"),
        (("--chat_template", "llama3"), "'llama3' is not a file"),
        (("-m", "mock", "--chat_template", "llama3"), "'llama3' is not a file"),
        (("-m", "mock", "--chat_template", "quiz.jinja"), "mock has its own chat template"),
        (("-d", "agieval:math"), "agieval consists of two datasets"),
        (("--model_type", "base", "--chat_template", "tokenizer"), "contradicts --model_type base"),
        (("--ranking_tipe", "ppl"), "unrecognized arguments"),
        (("--dry_run", "perhaps"), "expected True or False"),
        (("--shots", "many"), "'many' is not a valid integer"),
    ],
)
def test_what_would_change_the_numbers_is_rejected(
    checkout: Path, flags: tuple[str, ...], message: str
) -> None:
    Path("quiz.jinja").write_text("{{ messages }}", encoding="utf-8")
    result = assay("as", "llmbox", "-m", "smollm2", "-d", "quiz", *flags)
    assert (result.status, message in result.err) == (2, True), result.err
    assert not Path("runs").exists()


TYPED = CLASS.replace(
    "    def format_instance",
    """    def init_arguments(self):
        if self.model_type == "chat":
            self.instruction = "Reply briefly. {{question}}"

    def format_instance""",
)


@pytest.mark.parametrize(
    ("flags", "sees", "form"),
    [
        (("--model_type", "chat"), "chat", "chat"),
        (("--model_type", "base"), "base", "text"),
        (("--model_type", "chat", "--chat_template", "base"), "chat", "text"),
        (("--chat_template", "base"), "chat", "text"),
        (("--chat_template", "tokenizer"), "chat", "chat"),
        ((), "chat", "chat"),
    ],
)
def test_the_type_a_class_sees_is_the_one_asked_for(
    checkout: Path, flags: tuple[str, ...], sees: str, form: str
) -> None:
    (checkout / "assay.toml").write_text('[model_args]\nchat = "true"\n', encoding="utf-8")
    (checkout / "utilization" / "dataset" / "quiz.py").write_text(TYPED, encoding="utf-8")
    settings = run("-d", "quiz", *flags)["tasks"][0]["settings"]
    assert (settings["model_type"], settings["form"]) == (sees, form)
    assert settings["instruction"].startswith("Reply briefly.") == (sees == "chat")


def test_the_tokenizers_template_is_what_is_used_anyway(checkout: Path) -> None:
    result = assay(
        *("as", "llmbox", "-m", "mock", "--data_root", "data", "-d", "quiz", "--chat_template", "tokenizer"),
        *("--model-arg", "chat=true"),
    )
    assert result.status == 0, result.err
    assert "--chat_template tokenizer: the model's own template is used" in result.err


def test_flags_of_run_that_messages_name_work_too(checkout: Path) -> None:
    manifest = run("-d", "quiz", "--method", "prob", "--limit", "first:3", "--dataset-arg", "example_set=dev")
    (task,) = manifest["tasks"]
    assert (task["methods"], task["n_samples"]) == (["prob"], 3)
    again = assay(
        *(
            "as",
            "llmbox",
            "-m",
            "mock",
            "--data_root",
            "data",
            "-d",
            "quiz",
            "--retry-failed",
            "--progress",
            "none",
        )
    )
    assert again.status == 0, again.err


def test_values_that_ask_for_nothing_are_no_trouble(checkout: Path) -> None:
    run("-d", "quiz", "--num_beams", "1", "--repetition_penalty", "1", "--tokenizer", "mock")


def test_a_run_is_continued_in_its_folder(checkout: Path) -> None:
    folder = run("-d", "quiz")["folder"]
    result = assay(
        *("as", "llmbox", "-m", "mock", "--data_root", "data", "-d", "quiz", "--continue_from", str(folder))
    )
    assert result.status == 0
    assert "is complete: 18 stored responses" in result.err


def test_help_lists_every_flag() -> None:
    shown = assay("as", "llmbox", "--help").out
    for flag in ("-shots", "--ranking_type", "--dataset_dir", "--load_in_4bit", "--hfd_cache_path", "--ape"):
        assert flag in shown
    assert re.search(r"^  llmbox ", assay("as", "--help").out, re.MULTILINE)
    assert "did you mean 'llmbox'" in assay("as", "lmbox").err
