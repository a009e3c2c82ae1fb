from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from assay.core.errors import Problem
from assay.sources.dataset_folder import DatasetMissing
from assay.sources.files import open_source
from assay.sources.hub import LocalHub

ProblemOf = Callable[[Callable[[], object]], Problem]


def hub_of(root: Path, *files: str, names: str = "") -> LocalHub:
    for file in files:
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_text('{"a": 1}\n')
    if names:
        (root / "hub.json").write_text(names)
    return LocalHub(root)


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
    path = LocalHub(data).resolve(name, config=config, split=split)
    assert path == data / file
    next(open_source(path).records())


def test_real_configs_and_splits(data: Path) -> None:
    hub = LocalHub(data)
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
    assert "no file name contains a split" in problem.what


def test_files_beside_the_data_are_left_out(tmp_path: Path) -> None:
    companions = ["d/categories.json", "d/test.jsonl.meta.json", "d/dataset_info.json", "d/.cache/train.json"]
    hub = hub_of(tmp_path, "d/test.jsonl", *companions)
    assert hub.configs("d") == ()
    assert hub.splits("d") == ("test",)


def test_files_beside_the_one_of_the_dataset_s_name_are_no_configs(tmp_path: Path) -> None:
    hub = hub_of(tmp_path, "humaneval/HumanEval.jsonl", "humaneval/example_samples.jsonl")
    assert hub.configs("humaneval") == ()
    assert hub.resolve("humaneval", split="test").name == "HumanEval.jsonl"
    assert hub.resolve("humaneval", config="example_samples").name == "example_samples.jsonl"


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
    empty = problem_of(lambda: LocalHub(tmp_path / "nowhere").resolve("d"))
    assert empty.code == "SOURCE-010"
    assert str(tmp_path / "nowhere") in empty.what
    hub = hub_of(tmp_path, "hellaswag/test.csv", names='{"Rowan/hellaswag": "hellaswag", "gone": "away"}')
    assert hub.resolve("Rowan/hellaswag").name == "test.csv"
    assert "did you mean 'hellaswag'?" in problem_of(lambda: hub.resolve("helaswag")).what
    assert "maps 'gone' to 'away'" in problem_of(lambda: hub.configs("gone")).what
    for outside in ("", "../x", str(tmp_path / "hellaswag"), "hellaswag/../hellaswag"):
        problem_of(lambda outside=outside: hub.resolve(outside))  # type: ignore[misc]


def test_broken_hub_json(tmp_path: Path, problem_of: ProblemOf) -> None:
    assert "invalid hub.json" in problem_of(lambda: hub_of(tmp_path, names='{"a": 1}').configs("a")).what


def test_a_folder_without_data(tmp_path: Path, problem_of: ProblemOf) -> None:
    (tmp_path / "d").mkdir()
    assert "contains no data file" in problem_of(lambda: LocalHub(tmp_path).resolve("d")).what


SHARDS = tuple(f"train-0000{number}-of-00002.parquet" for number in range(2))


def test_shards_are_one_file_in_several(tmp_path: Path, problem_of: ProblemOf) -> None:
    hub = hub_of(tmp_path, *(f"d/data/{shard}" for shard in SHARDS), "d/data/test-00000-of-00001.parquet")
    assert [path.name for path in hub.files("d", split="train")] == list(SHARDS)
    problem = problem_of(lambda: hub.resolve("d", split="train"))
    assert all(f"'d/data/{shard}'" in problem.what for shard in SHARDS)
    (tmp_path / "d" / "data" / SHARDS[1]).unlink()
    problem = problem_of(lambda: LocalHub(tmp_path).files("d", split="train"))
    assert "has 1 of 2 shards" in problem.what


@pytest.mark.parametrize("folder", ["openai/gsm8k", "openai___gsm8k", "openai--gsm8k"])
def test_spellings_of_a_hub_name(tmp_path: Path, folder: str) -> None:
    hub = hub_of(tmp_path, f"{folder}/main/test.jsonl")
    assert (
        hub.resolve("openai/gsm8k", config="main", split="test") == tmp_path / folder / "main" / "test.jsonl"
    )


def test_the_cache_of_the_datasets_library(tmp_path: Path, problem_of: ProblemOf) -> None:
    stamp = "0123456789abcdef0123456789abcdef01234567"
    hub = hub_of(
        tmp_path,
        f"openai___gsm8k/main/0.0.0/{stamp}/gsm8k-test.arrow",
        f"openai___gsm8k/main/0.0.0/{stamp}/gsm8k-train-00000-of-00002.arrow",
        f"openai___gsm8k/main/0.0.0/{stamp}/gsm8k-train-00001-of-00002.arrow",
        f"openai___gsm8k/main/0.0.0/{stamp}/cache-1234567890abcdef.arrow",
        f"openai___gsm8k/main/0.0.0/{stamp}/dataset_info.json",
        f"openai___gsm8k/socratic/0.0.0/{stamp}/gsm8k-test.arrow",
        f"cnn_dailymail/3.0.0/3.0.0/{stamp}/cnn_dailymail-test.arrow",
        f"race/all/1.0.0/{stamp}/race-test.arrow",
        f"race/all/1.0.0/{stamp[::-1]}/race-test.arrow",
    )
    assert hub.configs("openai/gsm8k") == ("main", "socratic")
    assert hub.resolve("openai/gsm8k", config="main", split="test").parent.parent.parent.name == "main"
    assert (
        hub.resolve("openai/gsm8k", config="socratic", split="test").parent.parent.parent.name == "socratic"
    )
    assert len(hub.files("openai/gsm8k", config="main", split="train")) == 2
    assert hub.resolve("cnn_dailymail", config="3.0.0", split="test").name == "cnn_dailymail-test.arrow"
    assert "matches 2 files" in problem_of(lambda: hub.files("race", config="all", split="test")).what


def test_the_cache_of_the_hub_client(tmp_path: Path, problem_of: ProblemOf) -> None:
    repository = "datasets--allenai--ai2_arc"
    hub = hub_of(tmp_path, *(f"{repository}/snapshots/{rev}/ARC-Easy/test.parquet" for rev in ("old", "new")))
    assert "2 snapshots" in problem_of(lambda: hub.folder("allenai/ai2_arc")).what
    (tmp_path / repository / "refs").mkdir()
    (tmp_path / repository / "refs" / "main").write_text("new")
    path = hub.resolve("allenai/ai2_arc", config="ARC-Easy", split="test")
    assert path.relative_to(tmp_path / repository).parts[:2] == ("snapshots", "new")


def test_what_save_to_disk_writes(tmp_path: Path) -> None:
    hub = hub_of(tmp_path, "one/test/data-00000-of-00001.arrow", "many/a/test/data-00000-of-00001.arrow")
    assert hub.resolve("one", split="test").name == "data-00000-of-00001.arrow"
    assert hub.configs("many") == ("a",)
    assert hub.resolve("many", config="a", split="test").parts[-3:-1] == ("a", "test")


def test_splits_that_are_not_the_usual_words(tmp_path: Path) -> None:
    hub = hub_of(
        tmp_path, "anli/dev_r2.jsonl", "anli/train_r2.jsonl", "halu/qa_samples/data.json", "e/eval.json"
    )
    assert hub.configs("anli") == ()
    assert hub.resolve("anli", split="dev_r2").name == "dev_r2.jsonl"
    assert hub.configs("halu", split="data") == ("qa_samples",)
    assert hub.resolve("halu", config="qa_samples", split="data").name == "data.json"
    assert hub.resolve("e", split="eval").name == "eval.json"


def test_a_config_with_a_folder_of_its_own(tmp_path: Path, problem_of: ProblemOf) -> None:
    names = (
        '{"super_glue:boolq": "boolq", "winogrande:debiased": "winogrande", "winogrande:xl": "winogrande/xl"}'
    )
    files = ("boolq/validation.jsonl", "winogrande/validation.jsonl", "winogrande/xl/train.jsonl")
    hub = hub_of(tmp_path, *files, names=names)
    assert hub.resolve("super_glue", config="boolq", split="validation").parent.name == "boolq"
    assert hub.configs("super_glue") == ("boolq",)
    assert hub.resolve("winogrande", config="debiased", split="validation").parent.name == "winogrande"
    assert hub.resolve("winogrande", config="xl", split="train").parent.name == "xl"
    assert hub.configs("winogrande") == ("debiased", "xl")
    with pytest.raises(DatasetMissing):
        hub.resolve("super_glue", config="copa", split="validation")


@pytest.mark.parametrize(("config", "split"), [("a", "train"), ("b", "test")])
def test_what_is_missing_has_a_type_of_its_own(tmp_path: Path, config: str, split: str) -> None:
    with pytest.raises(DatasetMissing):
        hub_of(tmp_path, "d/a/test.csv").resolve("d", config=config, split=split)
