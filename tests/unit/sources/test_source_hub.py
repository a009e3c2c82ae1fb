from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from assay.core.errors import Problem
from assay.sources.files import open_source
from assay.sources.hub import Hub

ProblemOf = Callable[[Callable[[], object]], Problem]


def hub_of(root: Path, *files: str, names: str = "") -> Hub:
    for file in files:
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_text('{"a": 1}\n')
    if names:
        (root / "hub.json").write_text(names)
    return Hub(root)


@pytest.mark.parametrize(
    ("name", "config", "split", "file"),
    [
        ("openai/gsm8k", "main", "test", "gsm8k/test.jsonl"),
        ("gsm8k", None, "train", "gsm8k/train.jsonl"),
        ("boolq", None, None, "boolq/validation.jsonl"),
        ("allenai/ai2_arc", "ARC-Easy", "validation", "arc/ARC-Easy/validation.jsonl"),
        ("arc", "ARC-Challenge", "dev", "arc/ARC-Challenge/validation.jsonl"),
        ("cais/mmlu", "anatomy", "dev", "mmlu/dev/anatomy_dev.csv"),
        ("cais/mmlu", "anatomy", "test", "mmlu/test/anatomy_test.csv"),
        ("klue", "ynat", "validation", "klue/ynat/validation.json"),
        ("klue", "sts", "validation", "klue/sts/validation.json"),
        ("bm_klue", "nli", "validation", "klue/klue-nli-v1.1/klue-nli-v1.1_dev.json"),
        ("klue", "klue-sts-v1.1", "dev", "klue/klue-sts-v1.1/klue-sts-v1.1_dev.json"),
        ("bm_kor-nlu-datasets", "KorNLI", "validation", "kor_nlu/KorNLI/xnli.dev.ko.tsv"),
        ("bm_kor-nlu-datasets", "KorSTS", "train", "kor_nlu/KorSTS/sts-train.tsv"),
        ("bbh", "web_of_lies", None, "bbh/bbh/web_of_lies.json"),
        ("bbh/bbh", "web_of_lies", "test", "bbh/bbh/web_of_lies.json"),
        ("openai_humaneval", "openai_humaneval", "test", "humaneval/HumanEval.jsonl.gz"),
        ("xquad", None, None, "xquad/xquad.en.json"),
    ],
)
def test_real_layouts(data: Path, name: str, config: str | None, split: str | None, file: str) -> None:
    path = Hub(data).resolve(name, config=config, split=split)
    assert path == data / file
    next(open_source(path).records())


def test_real_configs_and_splits(data: Path) -> None:
    hub = Hub(data)
    assert len(hub.configs("cais/mmlu")) == 57
    assert hub.splits("cais/mmlu", "anatomy") == ("dev", "test")
    assert hub.configs("gsm8k") == ()
    assert hub.splits("gsm8k") == ("test", "train")
    assert hub.configs("kor_nlu") == ("KorNLI", "KorSTS")
    assert len(hub.configs("bbh")) == 27


@pytest.mark.parametrize("asked", ["validation", "valid", "val", "dev"])
@pytest.mark.parametrize("present", ["validation", "valid", "val", "dev"])
def test_names_of_the_validation_split(tmp_path: Path, asked: str, present: str) -> None:
    hub = hub_of(tmp_path, f"d/{present}.jsonl", "d/test.jsonl")
    assert hub.resolve("d", split=asked) == tmp_path / "d" / f"{present}.jsonl"


def test_the_exact_split_comes_first_then_its_spelling(tmp_path: Path) -> None:
    hub = hub_of(tmp_path, "d/dev.jsonl", "d/val.jsonl")
    assert hub.resolve("d", split="dev").name == "dev.jsonl"
    assert hub.resolve("d", split="validation").name == "val.jsonl"


@pytest.mark.parametrize("asked", ["validation", "auxiliary_train", "nonsense"])
def test_an_absent_split_is_never_replaced(tmp_path: Path, problem_of: ProblemOf, asked: str) -> None:
    hub = hub_of(tmp_path, "d/train.jsonl", "d/test.jsonl")
    problem = problem_of(lambda: hub.resolve("d", split=asked))
    assert problem.code == "SOURCE-010"
    assert "the splits are 'test', 'train'" in problem.what


def test_unsplit_data_is_test_data_alone(tmp_path: Path, problem_of: ProblemOf) -> None:
    hub = hub_of(tmp_path, "d/first.json", "d/second.json")
    assert hub.resolve("d", config="first", split="test").name == "first.json"
    problem = problem_of(lambda: hub.resolve("d", config="first", split="train"))
    assert "its files name no split" in problem.what


def test_files_beside_the_data_are_left_out(tmp_path: Path) -> None:
    companions = ["d/categories.json", "d/test.jsonl.meta.json", "d/dataset_info.json", "d/.cache/train.json"]
    hub = hub_of(tmp_path, "d/test.jsonl", *companions)
    assert hub.configs("d") == ()
    assert hub.splits("d") == ("test",)


def test_layouts_of_the_hub_itself(tmp_path: Path) -> None:
    shard = "train-00000-of-00001.parquet"
    hub = hub_of(tmp_path, f"flat/data/{shard}", f"deep/en/{shard}", "disk/test/data-00000-of-00001.arrow")
    assert hub.resolve("flat", split="train").name == shard
    assert hub.resolve("deep", config="en", split="train").name == shard
    assert hub.resolve("disk", split="test").name == "data-00000-of-00001.arrow"


def test_a_split_word_inside_a_name_is_not_cut_out(tmp_path: Path) -> None:
    hub = hub_of(tmp_path, "d/auxiliary_train.csv", "d/train.csv")
    assert hub.configs("d") == ()
    assert hub.splits("d") == ("auxiliary_train", "train")


@pytest.mark.parametrize(
    ("files", "config", "split"),
    [
        (["d/test.csv", "d/test.jsonl"], None, "test"),
        (["d/a/test.csv", "d/b/test.csv"], None, "test"),
        (["d/test.csv", "d/train.csv"], None, None),
        (["d/a/x-test.csv", "d/a/y-test.csv"], "a", "test"),
    ],
)
def test_several_files_are_listed(
    tmp_path: Path, problem_of: ProblemOf, files: list[str], config: str | None, split: str | None
) -> None:
    problem = problem_of(lambda: hub_of(tmp_path, *files).resolve("d", config=config, split=split))
    assert problem.code == "SOURCE-010"
    assert all(repr(file) in problem.what for file in files)


def test_an_unknown_config(tmp_path: Path, problem_of: ProblemOf) -> None:
    hub = hub_of(tmp_path, "d/anatomy/test.csv", "e/test.csv")
    problem = problem_of(lambda: hub.resolve("d", config="anatomie", split="test"))
    assert "did you mean 'anatomy'?" in problem.what
    assert "has no configs" in problem_of(lambda: hub.resolve("e", config="x", split="test")).what


def test_unknown_names(tmp_path: Path, problem_of: ProblemOf) -> None:
    empty = problem_of(lambda: Hub(tmp_path / "nowhere").resolve("d"))
    assert empty.code == "SOURCE-010"
    assert str(tmp_path / "nowhere") in empty.what
    hub = hub_of(tmp_path, "hellaswag/test.csv", names='{"Rowan/hellaswag": "hellaswag", "gone": "away"}')
    assert hub.resolve("Rowan/hellaswag").name == "test.csv"
    assert "did you mean 'hellaswag'?" in problem_of(lambda: hub.resolve("helaswag")).what
    assert "maps 'gone' to 'away'" in problem_of(lambda: hub.configs("gone")).what
    for outside in ("", "../x", str(tmp_path / "hellaswag"), "hellaswag/../hellaswag"):
        problem_of(lambda outside=outside: hub.resolve(outside))  # type: ignore[misc]


def test_broken_hub_json(tmp_path: Path, problem_of: ProblemOf) -> None:
    assert "hub.json is broken" in problem_of(lambda: hub_of(tmp_path, names='{"a": 1}').configs("a")).what


def test_a_folder_without_data(tmp_path: Path, problem_of: ProblemOf) -> None:
    (tmp_path / "d").mkdir()
    assert "holds no data file" in problem_of(lambda: Hub(tmp_path).resolve("d")).what
