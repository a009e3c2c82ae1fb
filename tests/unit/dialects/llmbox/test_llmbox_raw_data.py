from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import Problem
from assay.dialects.llmbox.library.raw_data import Load, RawData
from assay.dialects.llmbox.loading import DownloadConfig
from assay.sources.dataset_folder import DatasetMissing
from assay.sources.hub import LocalHub

ProblemOf = Callable[[Callable[[], object]], Problem]
MMLU = ("hails/mmlu_no_train",)


def write(path: Path, n_rows: int, mark: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps({"n": number, "mark": mark}) + "\n" for number in range(n_rows)))


def loader(
    data: RawData,
    name: str = "d",
    path: str | Path | None = None,
    subset: str | None = None,
    load_args: Any = ("owner/d",),
    load_kwargs: dict[str, Any] | None = None,
) -> Load:
    return data.get_raw_dataset_loader(
        name, None if path is None else str(path), subset, load_args, load_kwargs
    )


def numbers(rows: list[dict[str, Any]]) -> list[int]:
    return [row["n"] for row in rows]


# Every way to give data, each with a test split of twenty rows and a subset "a".
def as_data_root(root: Path) -> tuple[RawData, str | None]:
    write(root / "owner" / "d" / "a" / "test.jsonl", 20)
    return RawData(LocalHub(root), None), None


def as_folder(root: Path) -> tuple[RawData, str | None]:
    write(root / "a" / "test.jsonl", 20)
    return RawData(None, str(root)), str(root)


def as_pattern(root: Path) -> tuple[RawData, str | None]:
    write(root / "a-test.jsonl", 20)
    path = str(root / "{subset}-{split}.jsonl")
    return RawData(None, path), path


def as_one_file(root: Path) -> tuple[RawData, str | None]:
    write(root / "any.jsonl", 20)
    path = str(root / "any.jsonl")
    return RawData(None, path), path


def as_saved_to_disk(root: Path) -> tuple[RawData, str | None]:
    import pyarrow

    folder = root / "a" / "test"
    folder.mkdir(parents=True)
    table = pyarrow.Table.from_pylist([{"n": number} for number in range(20)])
    for number, part in enumerate((table.slice(0, 15), table.slice(15))):
        with pyarrow.ipc.new_stream(str(folder / f"data-0000{number}-of-00002.arrow"), part.schema) as stream:
            stream.write_table(part)
    (root / "a" / "dataset_dict.json").write_text('{"splits": ["test"]}')
    return RawData(None, str(root)), str(root)


WAYS = [as_data_root, as_folder, as_pattern, as_one_file, as_saved_to_disk]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("split", "expected"),
    [
        ("test", list(range(20))),
        ("test[5:]", list(range(5, 20))),
        ("test[:10%]", [0, 1]),
        ("test[-3:]", [17, 18, 19]),
        ("test[:1]+test[-1:]", [0, 19]),
    ],
)
def test_slices_hold_wherever_data_comes_from(
    tmp_path: Path, way: Callable[[Path], tuple[RawData, str | None]], split: str, expected: list[int]
) -> None:
    data, path = way(tmp_path)
    assert numbers(loader(data, path=path, subset="a")(split)) == expected


@pytest.mark.parametrize("way", [as_data_root, as_folder, as_pattern, as_saved_to_disk])
def test_subsets_are_listed_wherever_data_comes_from(
    tmp_path: Path, way: Callable[[Path], tuple[RawData, str | None]]
) -> None:
    data, _ = way(tmp_path)
    assert data.subsets("d", ("owner/d",), split="test[:5]") == ["a"]


def test_sums_of_splits(tmp_path: Path) -> None:
    write(tmp_path / "validation.jsonl", 2, "v")
    write(tmp_path / "test.jsonl", 1, "t")
    rows = loader(RawData(None, None), path=tmp_path)("validation+test")
    assert [row["mark"] for row in rows] == ["v", "v", "t"]


def test_rows_belong_to_the_one_who_loads_them(tmp_path: Path) -> None:
    write(tmp_path / "train.jsonl", 2)
    load = loader(RawData(None, None), path=tmp_path)
    load("train")[0]["n"] = "changed"
    twice = load("train+train")
    twice[0]["n"] = "changed"
    assert [row["n"] for row in twice] == ["changed", 1, 0, 1]


def test_without_a_split_the_only_one_is_taken(tmp_path: Path, problem_of: ProblemOf) -> None:
    write(tmp_path / "test.jsonl", 2)
    assert numbers(loader(RawData(None, None), path=tmp_path)()) == [0, 1]
    write(tmp_path / "train.jsonl", 2)
    assert "matches 2 files" in problem_of(loader(RawData(None, None), path=tmp_path)).what


def test_the_config_that_is_loaded(tmp_path: Path) -> None:
    for config in ("copa", "boolq"):
        write(tmp_path / "super_glue" / config / "test.jsonl", 1, config)
    write(tmp_path / "wmt16" / "ro-en" / "test.jsonl", 1, "ro-en")
    data = RawData(LocalHub(tmp_path), None)

    def mark(name: str, subset: str | None, load_args: tuple[str, ...], path: Path | None = None) -> str:
        (row,) = loader(data, name, path, subset, load_args)("test")
        return str(row["mark"])

    assert mark("x", None, ("super_glue", "copa")) == "copa"
    assert mark("x", "boolq", ("super_glue", "copa")) == "boolq"
    assert mark("x", "boolq", ("super_glue",)) == "boolq"
    assert mark("wmt16", "ro-en", ()) == "ro-en"
    assert mark("wmt16", "en-ro", ()) == "ro-en"
    assert data.subsets("wmt16", ()) == ["en-ro", "ro-en"]
    # A cloned repository of many tasks: the one of the dataset's own name.
    assert mark("copa", None, ("super_glue",), tmp_path / "super_glue") == "copa"
    # A folder of datasets, given as the dataset's path.
    assert mark("x", None, ("super_glue", "copa"), tmp_path) == "copa"


def test_a_config_that_hub_json_gives_a_folder(tmp_path: Path) -> None:
    write(tmp_path / "wino" / "test.jsonl", 3)
    (tmp_path / "hub.json").write_text('{"winogrande:debiased": "wino"}')
    data = RawData(LocalHub(tmp_path), None)
    assert len(loader(data, load_args=("winogrande", "debiased"))("test")) == 3
    assert data.subsets("winogrande", ("winogrande",)) == ["debiased"]


def test_a_missing_dataset_names_itself_and_every_place(tmp_path: Path, problem_of: ProblemOf) -> None:
    load = loader(RawData(LocalHub(tmp_path), None), "arc", None, "ARC-Easy", ("allenai/ai2_arc",))
    problem = problem_of(lambda: load("test[:5]"))
    assert problem.code == "DATA-001"
    assert "the dataset 'allenai/ai2_arc', config 'ARC-Easy', split 'test' is needed" in problem.what
    assert f"no dataset 'allenai/ai2_arc' in {str(tmp_path)!r}" in problem.what
    assert f"no dataset 'arc' in {str(tmp_path)!r}" in problem.what
    assert f"{tmp_path}/allenai/ai2_arc/ARC-Easy/test.jsonl" in problem.fix
    assert '{"allenai/ai2_arc:ARC-Easy": "FOLDER"}' in problem.fix


def test_what_the_fix_says_works(tmp_path: Path) -> None:
    load = loader(RawData(LocalHub(tmp_path), None), "arc", None, "ARC-Easy", ("allenai/ai2_arc",))
    with pytest.raises(DatasetMissing):
        load("test")
    write(tmp_path / "allenai/ai2_arc/ARC-Easy/test.jsonl", 4)
    assert len(load("test")) == 4


def test_the_fix_names_the_folder_that_is_there(tmp_path: Path, problem_of: ProblemOf) -> None:
    write(tmp_path / "arc" / "ARC-Easy" / "validation.jsonl", 1)
    (tmp_path / "hub.json").write_text('{"allenai/ai2_arc": "arc"}')
    load = loader(RawData(LocalHub(tmp_path), None), "arc", None, "ARC-Easy", ("allenai/ai2_arc",))
    problem = problem_of(lambda: load("test"))
    assert problem.what.count("the splits are") == 1
    assert f"put its rows at {tmp_path}/arc/ARC-Easy/test.jsonl" in problem.fix


def test_a_missing_split_tells_those_that_are_there(tmp_path: Path, problem_of: ProblemOf) -> None:
    write(tmp_path / "owner" / "d" / "validation.jsonl", 1)
    problem = problem_of(lambda: loader(RawData(LocalHub(tmp_path), None))("train"))
    assert problem.code == "DATA-001"
    assert "the splits are 'validation'" in problem.what
    assert str(tmp_path / "owner" / "d") in problem.what


def test_nowhere_to_look(problem_of: ProblemOf) -> None:
    problem = problem_of(lambda: loader(RawData(None, None))("test"))
    assert "in hf://owner/d: the hub at http://127.0.0.1:9 cannot be reached" in problem.what
    assert "check the network" in problem.fix
    assert "pass --data-root" in problem.fix


@pytest.mark.parametrize("path", ["nowhere", "nowhere/{subset}.csv", "{split}.jsonl"])
def test_a_path_that_leads_nowhere(workdir: Path, problem_of: ProblemOf, path: str) -> None:
    problem = problem_of(lambda: loader(RawData(None, path), path=path)("test"))
    assert problem.code == "DATA-001"
    assert path.replace("{split}", "test").partition("{")[0] in problem.what


def test_a_given_path_is_not_replaced_by_the_data_root(tmp_path: Path) -> None:
    write(tmp_path / "root" / "owner" / "d" / "test.jsonl", 1)
    write(tmp_path / "given" / "train.jsonl", 1)
    with pytest.raises(DatasetMissing):
        loader(RawData(LocalHub(tmp_path / "root"), None), path=tmp_path / "given")("test")


def test_loader_scripts_are_never_run(tmp_path: Path) -> None:
    write(tmp_path / "d" / "test.jsonl", 3)
    (tmp_path / "d" / "d.py").write_text("raise SystemExit('run')\n")
    assert len(loader(RawData(None, None), path=tmp_path / "d")("test")) == 3


def test_load_kwargs(tmp_path: Path, problem_of: ProblemOf) -> None:
    write(tmp_path / "test.jsonl", 1)
    kwargs: dict[str, Any] = {"download_config": DownloadConfig(extract_compressed_file=True)}
    assert len(loader(RawData(None, None), path=tmp_path, load_kwargs=kwargs)("test")) == 1
    assert list(kwargs) == ["download_config"]
    problem = problem_of(lambda: loader(RawData(None, None), path=tmp_path, load_kwargs={"data_files": "x"}))
    assert problem.code == "DATA-003"
    assert "'data_files'" in problem.what


@pytest.mark.parametrize("load_args", [None, "race", ("a", "b", "c"), (1,)])
def test_load_args_of_no_known_form(problem_of: ProblemOf, load_args: Any) -> None:
    assert problem_of(lambda: loader(RawData(None, None), load_args=load_args)).code == "DATA-003"


def test_load_args_none_with_a_path(tmp_path: Path) -> None:
    write(tmp_path / "test.jsonl", 1)
    data = RawData(None, str(tmp_path))
    assert len(loader(data, path=tmp_path, load_args=None)("test")) == 1
    assert data.subsets("d", None) == []


def test_the_message() -> None:
    data = RawData(None, None)
    _, message = data.get_raw_dataset_loader(
        "arc", None, "ARC-Easy", ("allenai/ai2_arc",), None, return_msg=True
    )
    assert message == "Loading raw dataset 'arc:ARC-Easy' from the data root or the hub (allenai/ai2_arc)"


def test_files_of_the_author(tmp_path: Path, workdir: Path, problem_of: ProblemOf) -> None:
    author, given = tmp_path / "author", tmp_path / "given"
    data = RawData(None, str(given), beside=author)
    problem = problem_of(lambda: data.load_raw_dataset_from_file("examples.json"))
    assert str(author / "examples.json") in problem.what
    for place in (author, given, workdir):
        write(place / "examples.jsonl", 1, place.name)
        assert data.load_raw_dataset_from_file("examples.jsonl") == [{"n": 0, "mark": place.name}]
    assert data.load_raw_dataset_from_file(author / "examples.jsonl")[0]["mark"] == "author"
    (author / "rows.py").write_text("ROWS = [{'a': 1}]\n")
    assert data.load_raw_dataset_from_file("rows.py") == [{"a": 1}]


def test_a_pattern_lists_the_subsets_of_its_split(tmp_path: Path) -> None:
    for name in ("dev/a_dev", "test/a_test", "test/b_test", "test/b_dev"):
        write(tmp_path / f"{name}.jsonl", 1)
    data = RawData(None, str(tmp_path / "{split}" / "{subset}_{split}.jsonl"))
    assert data.subsets("d", ("owner/d",), split="test") == ["a", "b"]
    assert data.subsets("d", ("owner/d",), split="dev") == ["a"]
    nested = RawData(None, str(tmp_path / "{subset}" / "{subset}.jsonl"))
    write(tmp_path / "x" / "x.jsonl", 1)
    assert nested.subsets("d", ("owner/d",), split="dev") == ["x"]
    assert RawData(None, str(tmp_path / "test" / "a_test.jsonl")).subsets("d", ("owner/d",)) == []


def test_real_data(shared_data: Path) -> None:
    data = RawData(LocalHub(shared_data), None)
    assert len(data.subsets("mmlu", MMLU, split="test")) == 57
    (row, *_) = rows = loader(data, "mmlu", None, "anatomy", MMLU)("test[:10%]")
    assert len(rows) == 14  # of 135
    assert row["answer"] in range(4)
    assert data.subsets("gsm8k", ("gsm8k", "main")) == []
    assert len(loader(data, "gsm8k", None, None, ("gsm8k", "main"))("test")) == 1319
    assert len(loader(data, "boolq", None, None, ("super_glue", "boolq"))("validation")) == 1000
    assert len(loader(data, "sst2", None, None, ("nyu-mll/glue", "sst2"))("validation")) == 872
    assert data.subsets("arc", ("allenai/ai2_arc",), split="test") == ["ARC-Challenge", "ARC-Easy"]
    assert len(data.subsets("bbh", ("RUCAIBox/bbh",), split="test")) == 27
    assert len(loader(data, "bbh", None, "word_sorting", ("RUCAIBox/bbh",))("test[-3:]")) == 3
