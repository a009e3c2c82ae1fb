from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import AssayError, AuthorError
from assay.core.method import Method
from assay.dialects.ultraeval.arguments import TransformArguments, read_transform_arguments
from assay.dialects.ultraeval.collect import TransformVersion, collect_tasks, find_newest
from assay.dialects.ultraeval.detect import DatasetName, find_dataset_folders, is_config_file, is_dataset
from assay.sources.dataset_folder import DatasetMissing
from fakes.transforms import (
    FREE,
    GEN,
    PPL,
    choice_rows,
    compile_only,
    compile_transform,
    config,
    write_dataset,
)

SCRIPTS = {"transform_gen_v0.py": GEN, "transform_gen_v1.py": GEN, "transform_ppl_v0.py": PPL}


def names(name: Path | str, **asked: Any) -> list[str]:
    return [one.name for one in collect_tasks(str(name), TransformArguments(**asked))]


def picked(name: Path | str, method: Method = Method.GEN, **asked: Any) -> str:
    (one,) = collect_tasks(str(name), TransformArguments(**asked))
    return one.recipes[method].version.path.name


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder without a config."""
    return write_dataset(tmp_path, choice_rows(4), SCRIPTS)


@pytest.fixture
def described(tmp_path: Path) -> Path:
    """A folder whose configs name the older script."""
    configs = {"sums_gen.json": config(), "sums_ppl.json": config(method="loglikelihood")}
    return write_dataset(tmp_path, choice_rows(4), SCRIPTS, configs)


def test_the_newest_version_is_the_default(folder: Path) -> None:
    assert picked(folder) == "transform_gen_v1.py"
    assert picked(folder, Method.PPL) == "transform_ppl_v0.py"


def test_versions_are_ordered_by_number(tmp_path: Path) -> None:
    every = [
        TransformVersion.of(tmp_path / f"transform_gen_{name}.py") for name in ("v10", "v9", "cot", "v2.1")
    ]
    assert [one.name for one in sorted(every, key=lambda one: one.age)] == ["cot", "v2.1", "v9", "v10"]
    best = find_newest(every, Method.GEN)
    assert best is not None
    assert best.name == "v10"
    assert find_newest(every, Method.PPL) is None


def test_a_version_can_be_picked(folder: Path) -> None:
    assert picked(folder, transform="v0") == "transform_gen_v0.py"
    assert picked(folder, transform=str(folder / "transform_gen_v0.py")) == "transform_gen_v0.py"
    with pytest.raises(AuthorError, match=r"ULTRAEVAL-003.*no transform 'v7'.*transform_gen_v1"):
        collect_tasks(str(folder), TransformArguments(transform="v7"))


def test_versions_are_recorded(folder: Path) -> None:
    spec = compile_only(folder, dataset_args={"transform": "v0"}).task.spec
    assert spec.settings["transform"] == {
        "gen": {
            "file": "transform_gen_v0.py",
            "version": "v0",
            "available": ["transform_gen_v0.py", "transform_gen_v1.py"],
        }
    }


def test_a_config_names_its_version_and_a_flag_another(described: Path) -> None:
    assert picked(described) == "transform_gen_v0.py"
    assert picked(described, transform="v1") == "transform_gen_v1.py"
    assert picked(described / "config" / "sums_gen.json", transform="v1") == "transform_gen_v1.py"
    (one,) = collect_tasks(str(described), TransformArguments(transform="v1"))
    assert set(one.recipes) == {"gen"}


def test_methods_of_one_task_are_one_task(described: Path) -> None:
    (one,) = collect_tasks(str(described), TransformArguments())
    assert set(one.recipes) == {"gen", "ppl"}
    assert one.full_name(Method.GEN) == "sums_sums_gen"
    assert one.full_name(Method.PROB) == "sums_sums_gen"
    assert one.full_name(Method.PPL) == "sums_sums_ppl"


def test_a_folder_that_is_elsewhere_is_taken_as_it_is(described: Path, tmp_path: Path) -> None:
    shutil.move(described, tmp_path / "mine")
    assert names(tmp_path / "mine") == ["mine:sums"]
    (one,) = collect_tasks(str(tmp_path / "mine"), TransformArguments())
    assert one.data == tmp_path / "mine" / "data" / "sums.jsonl"


def test_a_config_alone_and_a_list_of_them(described: Path, tmp_path: Path) -> None:
    assert names(described / "config" / "sums_gen.json") == ["sums"]
    whole = [config("sums_sums_gen"), config("sums_sums_ppl", method="loglikelihood")]
    for one in whole:
        one["path"] = "datasets/sums/data/sums.jsonl"
    (tmp_path / "configs").mkdir()
    path = tmp_path / "configs" / "eval_config.json"
    path.write_text(json.dumps(whole))
    assert is_config_file(path)
    (found,) = collect_tasks(str(path), TransformArguments())
    assert found.name == "sums"
    assert found.full_name(Method.GEN) == "sums_sums_gen"
    assert set(found.recipes) == {"gen", "ppl"}


def test_paths_of_a_list_elsewhere_begin_in_the_working_folder(
    described: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout, elsewhere = described.parent.parent, tmp_path_factory.mktemp("elsewhere")
    params = {"method": "generate", "params": "mine.json"}
    (checkout / "mine.json").write_text('{"max_tokens": 7}', encoding="utf-8")
    listed = elsewhere / "list.json"
    written = config("sums_sums_gen", generate=params, path="datasets/sums/data/sums.jsonl")
    listed.write_text(json.dumps([written]), encoding="utf-8")
    monkeypatch.chdir(checkout)
    # The same file beside the list is another one: the original would not look there.
    (elsewhere / "mine.json").write_text('{"max_tokens": 9}', encoding="utf-8")
    (one,) = collect_tasks(str(listed), TransformArguments())
    assert one.data == Path("datasets/sums/data/sums.jsonl")
    assert one.recipes[Method.GEN].version.path == Path("datasets/sums/transform_gen_v0.py")
    assert compile_only(listed).task.spec.settings["sampling"]["max_tokens"] == 7
    monkeypatch.chdir(elsewhere)
    with pytest.raises(AuthorError, match="run from the checkout"):
        collect_tasks(str(listed), TransformArguments())


def test_tasks_of_a_folder_are_a_family_and_can_be_chosen(tmp_path: Path) -> None:
    rows = {"north_pole": choice_rows(2), "south-pole": choice_rows(3)}
    configs = {f"{task}_gen.json": config(task, dataset="polar") for task in rows}
    folder = write_dataset(tmp_path, rows, SCRIPTS, configs, name="polar")
    assert names(folder) == ["polar:north-pole", "polar:south-pole"]
    assert names(f"{folder}:south_pole") == ["polar:south-pole"]
    assert names(f"{folder}:*pole") == ["polar:north-pole", "polar:south-pole"]
    assert [one.task.spec.family for one in compile_transform(folder)] == ["polar", "polar"]
    assert [one.task.spec.family for one in compile_transform(f"{folder}:north-pole")] == [None]
    with pytest.raises(AuthorError, match="no task 'east-pole'"):
        names(f"{folder}:east-pole")


def test_a_checkout_names_all_its_datasets(described: Path, tmp_path: Path) -> None:
    write_dataset(tmp_path, choice_rows(2), SCRIPTS, name="other")
    (tmp_path / "datasets" / "__init__.py").write_text("")
    assert [path.name for path in find_dataset_folders(tmp_path)] == ["other", "sums"]
    assert names(tmp_path) == names(tmp_path / "datasets") == ["other", "sums"]


def test_a_script_or_a_data_file_can_be_named(folder: Path, tmp_path: Path) -> None:
    assert names(folder / "transform_gen_v0.py") == ["sums"]
    assert picked(folder / "transform_gen_v0.py") == "transform_gen_v0.py"
    assert picked(folder / "data" / "sums.jsonl") == "transform_gen_v1.py"
    elsewhere = tmp_path / "rows.jsonl"
    shutil.copy(folder / "data" / "sums.jsonl", elsewhere)
    assert names(elsewhere, transform=str(folder / "transform_ppl_v0.py")) == ["rows"]
    assert names(folder / "transform_gen_v0.py", data=str(elsewhere)) == ["rows"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("", True),
        ("transform_gen_v0.py", True),
        ("config/sums_gen.json", True),
        ("data", False),
        ("data/sums.jsonl", False),
        ("absent", False),
    ],
)
def test_what_is_recognised(described: Path, name: str, expected: bool) -> None:
    assert is_dataset(str(described / name)) is expected
    assert is_dataset(f"{described}:sums") is True


def test_a_transform_need_not_be_written_as_a_function(tmp_path: Path) -> None:
    (tmp_path / "transform_gen_v0.py").write_text("transform = lambda data, n, r, name: {}\n")
    assert is_dataset(str(tmp_path))
    assert is_dataset(str(tmp_path / "transform_gen_v0.py"))


def test_other_files_are_not_taken(tmp_path: Path) -> None:
    (tmp_path / "rows.json").write_text('[{"question": "1", "transform": "is a column"}]')
    (tmp_path / "model.py").write_text("def transform(x):\n    return x\n")
    assert not is_dataset(str(tmp_path / "rows.json"))
    assert not is_dataset(str(tmp_path / "model.py"))
    assert not is_dataset(str(tmp_path))


def test_a_name_with_a_colon_may_be_a_file(tmp_path: Path) -> None:
    odd = tmp_path / "a:b"
    odd.mkdir()
    assert DatasetName.of(str(odd)) == DatasetName(odd)
    assert DatasetName.of(f"{odd}:x, y") == DatasetName(odd, ("x", "y"))


def test_missing_data_says_how_to_make_it(described: Path) -> None:
    (described / "data" / "sums.jsonl").unlink()
    with pytest.raises(DatasetMissing, match=r"ULTRAEVAL-004.*the data file 'datasets/sums/data/sums.jsonl'"):
        collect_tasks(str(described), TransformArguments())
    (described / "make_dataset.py").write_text("")
    with pytest.raises(DatasetMissing, match="assay prepare"):
        collect_tasks(str(described), TransformArguments())


def test_data_of_tasks_that_were_not_chosen_may_be_absent(tmp_path: Path) -> None:
    rows = {"north": choice_rows(2)}
    configs = {f"{task}_gen.json": config(task, dataset="polar") for task in ("north", "south")}
    folder = write_dataset(tmp_path, rows, SCRIPTS, configs, name="polar")
    assert names(f"{folder}:north") == ["polar:north"]
    with pytest.raises(DatasetMissing, match=r"no.*south|south.*does not exist"):
        names(folder)


def test_a_run_does_not_depend_on_how_its_config_is_written(
    described: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = compile_only(described / "config" / "sums_gen.json").task.spec
    monkeypatch.chdir(described)
    short = compile_only("config/sums_gen.json").task.spec
    assert short.settings == whole.settings
    assert short.data_hash == whole.data_hash


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (
            {"transform": "datasets/sums/transform_gen_v3.py"},
            r'ULTRAEVAL-003.*"transform" is.*did you mean',
        ),
        ({"generate": {"method": "guess", "params": ""}}, r"ULTRAEVAL-002.*guess"),
        ({"fewshots": 3}, r"ULTRAEVAL-002.*'fewshots' \(did you mean 'fewshot'"),
        ({"fewshot": "three"}, r'ULTRAEVAL-002.*"fewshot" is .*expected a whole number'),
        ({"fewshot": -1}, r'ULTRAEVAL-002.*"fewshot" is -1, expected a whole number, 0 or more'),
        ({"metric": {"accuracy": "exact_match"}}, r'ULTRAEVAL-002.*"metric" is .*an object of objects'),
        ({"metric": {"accuracy": {}}}, r'"evaluation" is missing in "metric".*write "evaluation": {"type"'),
        (
            {"metric": {"accuracy": {"evaluation": {"type": "bleu"}, "agregation": {}}}},
            r"unknown key 'agregation' in \"metric\" \(did you mean 'aggregation'",
        ),
        ({"batch_size": "many"}, r'"batch_size" is .many., expected .int'),
        ({"generate": "generate"}, r'ULTRAEVAL-002.*"generate" is .generate., expected an object'),
        ({"metric": {"accuracy": {"evaluation": {}}}}, r"ULTRAEVAL-002.*metric 'accuracy' has no \"type\""),
        ({"generate": {"method": "generate", "params": "mine.json"}}, r"ULTRAEVAL-003.*'mine.json'"),
    ],
)
def test_a_wrong_config_is_reported(tmp_path: Path, change: dict[str, Any], expected: str) -> None:
    folder = write_dataset(tmp_path, choice_rows(3), SCRIPTS, {"sums_gen.json": {**config(), **change}})
    with pytest.raises(AssayError, match=expected):
        compile_transform(folder)


def test_configs_of_one_task_may_not_differ(tmp_path: Path) -> None:
    configs = {"a_gen.json": config(), "b_gen.json": config()}
    folder = write_dataset(tmp_path, choice_rows(3), SCRIPTS, configs)
    with pytest.raises(AuthorError, match=r"ULTRAEVAL-002.*the task 'sums' for gen is defined twice"):
        collect_tasks(str(folder), TransformArguments())


def test_a_method_without_a_script_is_rejected(tmp_path: Path) -> None:
    folder = write_dataset(tmp_path, choice_rows(3), {"transform_gen_v0.py": FREE})
    with pytest.raises(AuthorError, match=r"ULTRAEVAL-007.*'ppl' was requested.*transform_ppl_v0"):
        compile_transform(folder, methods=("ppl",))


def test_unknown_arguments_are_rejected() -> None:
    with pytest.raises(AssayError, match=r"USAGE-007.*'transfrom'.*did you mean 'transform'"):
        read_transform_arguments({"transfrom": "v0"})


def test_parameters_come_from_file_config_and_known_names(tmp_path: Path) -> None:
    (tmp_path / "params.json").write_text('{"temperature": 0.5, "max_tokens": 7, "min_p": 0.1, "top_k": -1}')
    named = {**config(), "generate": {"method": "generate", "params": "params.json"}}
    folder = write_dataset(tmp_path, choice_rows(3), SCRIPTS, {"sums_gen.json": named})
    one = compile_only(folder)
    assert one.task.spec.settings["sampling"]["temperature"] == 0.5
    assert one.task.spec.settings["sampling"]["max_tokens"] == 7
    assert "'min_p' are not sent" in one.notes[0]
    assert compile_only(folder, temperature=0.0).task.spec.settings["sampling"]["temperature"] == 0.0
    named["generate"]["params"] = "models/model_params/vllm_sample_v1.json"
    write_dataset(tmp_path, choice_rows(3), SCRIPTS, {"sums_gen.json": named})
    assert compile_only(folder).task.spec.settings["sampling"]["top_p"] == 0.95
    assert compile_only(folder, samples=3).task.spec.settings["sampling"]["n"] == 3


def test_a_server_of_the_original_is_sent_all_parameters(tmp_path: Path) -> None:
    named = {**config(), "generate": {"method": "generate", "params": "vllm_beamsearch.json"}}
    folder = write_dataset(tmp_path, choice_rows(3), SCRIPTS, {"sums_gen.json": named})
    sampling = compile_only(folder, takes_parameters=True, is_faithful=True).task.spec.settings["sampling"]
    assert sampling["server"] == {
        "use_beam_search": True,
        "best_of": 10,
        "top_k": -1,
        "early_stopping": "never",
        "sampling_num": 1,
    }
    # The server writes 16 tokens where nobody says how many.
    assert (sampling["max_tokens"], sampling["temperature"]) == (16, 0.0)
    other = compile_only(folder)
    assert "server" not in other.task.spec.settings["sampling"]
    assert any("'use_beam_search', 'best_of', 'early_stopping' are not sent" in one for one in other.notes)


def test_parameters_for_likelihoods_do_not_shorten_answers(tmp_path: Path) -> None:
    (tmp_path / "params.json").write_text('{"prompt_logprobs": 0, "max_tokens": 1}')
    folder = write_dataset(tmp_path, choice_rows(3), SCRIPTS, {"sums_gen.json": config()})
    for name in (str(tmp_path / "params.json"), "vllm_logprobs"):
        one = compile_only(folder, dataset_args={"params": name})
        assert one.task.spec.settings["sampling"]["max_tokens"] == 256
