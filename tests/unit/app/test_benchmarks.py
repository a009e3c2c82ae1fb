from __future__ import annotations

import os
from pathlib import Path

import pytest

from assay.app.benchmark_index import load_benchmarks
from assay.app.benchmark_sources import SOURCES, SourceFolder, find_installed_folders
from assay.app.benchmarks import ListedBenchmark, get_source, list_benchmarks, resolve_benchmarks
from assay.app.settings import RunSettings, resolve_settings
from assay.core.benchmark import DataState
from assay.core.errors import UsageError
from assay.core.team import Provenance, RegisteredDataset
from assay.ledger.database import open_database
from assay.ledger.datasets import Datasets
from fakes.benchmark_packages import write_packages, write_rows

NO_SETTINGS = RunSettings()
EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture
def site(workdir: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ASSAY_CACHE", str(workdir / "cache"))
    monkeypatch.setenv("HF_HUB_CACHE", str(workdir / "hub"))
    site = write_packages(workdir / "site")
    monkeypatch.syspath_prepend(str(site))
    return site


def names(pattern: str | None, values: RunSettings = NO_SETTINGS) -> list[str]:
    return [one.name for one in list_benchmarks(pattern, values).benchmarks]


def find(name: str, values: RunSettings = NO_SETTINGS) -> ListedBenchmark:
    return next(one for one in list_benchmarks(name, values).benchmarks if one.name == name)


@pytest.mark.usefixtures("site")
def test_the_packages_on_the_path_are_listed_with_their_versions() -> None:
    listed = list_benchmarks(None, RunSettings())
    assert [(one.source, one.version, one.n_benchmarks) for one in listed.sources] == [
        ("lm_eval", "0.9", 2),
        ("opencompass", "9.1.0", 4),
        ("aisbench", "3.0", 1),
    ]
    assert [one.name for one in listed.benchmarks] == [
        "aisbench:sums_gen_0_shot",
        "lm_eval:capitals",
        "lm_eval:capitals_easy",
        "opencompass:other/sums_ppl",
        "opencompass:sums_gen",
        "opencompass:sums_gen_abc123",
        "opencompass:sums_ppl",
    ]
    assert "opencompass:sums_parts" not in names(None), "a file without datasets is no benchmark"


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("sums_gen*", ["aisbench:sums_gen_0_shot", "opencompass:sums_gen", "opencompass:sums_gen_abc123"]),
        ("opencompass:sums_g*", ["opencompass:sums_gen", "opencompass:sums_gen_abc123"]),
        ("aisbench:", ["aisbench:sums_gen_0_shot"]),
        ("KNOW CAPITALS", ["lm_eval:capitals", "lm_eval:capitals_easy"]),
        ("org/cap", ["lm_eval:capitals_easy"]),
        ("nothing", []),
    ],
)
def test_a_pattern_is_a_glob_or_a_word_of_name_dataset_and_description(
    pattern: str, found: list[str]
) -> None:
    assert names(pattern) == found


def test_the_data_of_a_benchmark_is_here_on_the_hub_or_missing(site: Path, workdir: Path) -> None:
    root = RunSettings(data_root=str(workdir / "data"))
    assert find("opencompass:sums_gen").data is DataState.MISSING
    assert find("lm_eval:capitals_easy").data is DataState.HUB
    assert find("lm_eval:capitals").data is DataState.HUB, "a group needs what its members need"
    write_rows(workdir / "data" / "sums")
    assert find("opencompass:sums_gen", root).data is DataState.HERE
    (workdir / "hub" / "datasets--org--capitals").mkdir(parents=True)
    assert find("lm_eval:capitals_easy").data is DataState.HUB, (
        "a process asks the client for its folder once"
    )
    (workdir / "data" / "org" / "capitals").mkdir(parents=True)
    assert find("lm_eval:capitals_easy", root).data is DataState.HERE


def test_the_list_of_a_folder_is_kept_until_a_file_or_the_version_changes(site: Path) -> None:
    (place,) = find_installed_folders(SOURCES["opencompass"])
    first = load_benchmarks(place)
    (cached,) = (site.parent / "cache").glob("benchmarks-opencompass-*.json")
    written = cached.stat().st_mtime_ns
    assert load_benchmarks(place) == first
    assert cached.stat().st_mtime_ns == written, "nothing changed, so nothing was read again"
    config = Path(place.folder) / "datasets" / "sums" / "sums_gen_abc123.py"
    config.write_text(config.read_text().replace("GenInferencer", "CLPInferencer"))
    os.utime(config, ns=(1, 1))
    changed = {one.name: one.methods for one in load_benchmarks(place)}
    assert changed["sums_gen_abc123"] == ("prob",)
    written = cached.stat().st_mtime_ns
    load_benchmarks(place._replace(version="9.2.0"))
    assert cached.stat().st_mtime_ns > written


def test_names_lists_parts_and_patterns_become_what_a_run_takes(site: Path) -> None:
    folder = site / "opencompass" / "configs" / "datasets" / "sums"

    def resolved(name: str) -> list[str]:
        return list(resolve_benchmarks([name], RunSettings())[0])

    assert resolved("opencompass:SUMS_gen") == [str(folder / "sums_gen.py")]
    assert resolved("opencompass:sums_gen:sums,more") == [f"{folder / 'sums_gen.py'}:sums,more"]
    gens = [str(folder / "sums_gen.py"), str(folder / "sums_gen_abc123.py")]
    assert resolved("opencompass:sums_gen,sums_gen_abc123") == gens
    assert resolved("opencompass:sums_gen*") == gens
    assert resolved("data.csv") == ["data.csv"]
    assert resolved("org/name:config") == ["org/name:config"]
    assert resolved("lm_eval:capitals") == ["lm_eval:capitals"], "its dialect resolves the name"


def test_a_file_of_the_same_spelling_has_priority(site: Path, workdir: Path) -> None:
    (workdir / "leap:x").write_text("")
    assert get_source("leap:x") is None
    assert get_source("leap:y") is SOURCES["leap"]


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize(
    ("name", "what", "fix"),
    [
        (
            "opencompass:sums_gne",
            "OpenCompass has no benchmark 'sums_gne' (did you mean 'sums_gen'?)",
            "list them: assay ls benchmarks 'opencompass:sums*'",
        ),
        (
            "llmbox:mmlu",
            "'llmbox:mmlu' names a benchmark of LLMBox, which is not on this machine",
            "name the folder of a checkout: --benchmarks-from DIR",
        ),
    ],
)
def test_a_wrong_name_and_a_missing_source_are_errors_with_their_fix(name: str, what: str, fix: str) -> None:
    with pytest.raises(UsageError) as caught:
        resolve_benchmarks([name], RunSettings())
    (problem,) = caught.value.problems
    assert (problem.code, problem.what, problem.fix) == ("USAGE-011", what, fix)


def test_a_missing_package_is_an_error_with_the_command_that_installs_it(workdir: Path) -> None:
    with pytest.raises(UsageError) as caught:
        resolve_benchmarks(["aisbench:sums"], RunSettings())
    assert caught.value.problems[0].fix == (
        "pip install --no-deps ais_bench_benchmark, or name the folder of a checkout: --benchmarks-from DIR"
    )


def test_folders_of_every_dialect_are_sources(workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(workdir / "cache"))
    folders = [str(EXAMPLES / name) for name in ("llmbox", "ultraeval", "leap")]
    environment = {"ASSAY_BENCHMARKS_FROM": ",".join(folders)}
    values = resolve_settings({}, environment, workdir).values
    assert values.benchmarks_from == tuple(folders)
    assert {"llmbox:hellaswag", "ultraeval:gsm8k", "leap:klue_ynat"} <= set(names(None, values))
    hellaswag = find("llmbox:hellaswag", values)
    assert (hellaswag.methods, hellaswag.split, hellaswag.datasets) == (
        ("ppl", "prob", "gen"),
        "validation",
        ("hellaswag",),
    )
    assert find("ultraeval:arc", values).members == ("challenge", "easy")
    assert find("leap:xquad", values).about == "지문에서 질문의 답을 찾는 능력 평가 (영어)"
    (target,), *_ = resolve_benchmarks(["leap:klue_sts"], values)
    assert target == f"{EXAMPLES / 'leap'}:klue_sts"


def test_folders_of_task_files_reach_the_dialect(workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(workdir / "cache"))
    folder = workdir / "tasks"
    folder.mkdir()
    (folder / "mine.yaml").write_text("task: mine\ndataset_path: json\ntest_split: test\n")
    given = RunSettings(benchmarks_from=(str(folder),))
    assert names("mine", given) == ["lm_eval:mine"]
    values = resolve_benchmarks(["lm_eval:mine"], given).values
    assert values.dataset_args == {"include_path": str(folder)}
    assert resolve_benchmarks(["data.csv"], given).values is given, "other datasets know no such argument"


def test_the_registered_datasets_of_a_team_are_a_source(workdir: Path) -> None:
    (workdir / "assay-team").mkdir()
    database = open_database(str(workdir / "assay-team" / "team.db"))
    place = str(workdir / "sums.csv")
    Datasets(database).add(
        RegisteredDataset("sums", place, "table", Provenance.UPLOAD, "Sums of two numbers.")
    )
    database.close()
    listed = list_benchmarks("team:", NO_SETTINGS, "team")
    assert [(one.name, one.about, one.data) for one in listed.benchmarks] == [
        ("team:sums", "Sums of two numbers.", DataState.MISSING)
    ]
    assert resolve_benchmarks(["team:sums"], NO_SETTINGS)[0] == (place,)


def test_the_datasets_of_a_team_on_postgresql_are_a_source(
    workdir: Path, monkeypatch: pytest.MonkeyPatch, database_place: str
) -> None:
    database = open_database(database_place)
    place = str(workdir / "sums.csv")
    Datasets(database).add(RegisteredDataset("sums", place, "table", Provenance.UPLOAD))
    database.close()
    monkeypatch.setenv("ASSAY_TEAM_DATABASE", database_place)
    listed = list_benchmarks("team:", NO_SETTINGS, "team")
    assert [one.name for one in listed.benchmarks] == ["team:sums"]
    assert resolve_benchmarks(["team:sums"], NO_SETTINGS)[0] == (place,)


def test_a_database_is_shown_without_its_password() -> None:
    place = SourceFolder(SOURCES["team"], "postgresql://me:secret@host:5432/assay", "")
    assert place.shown_place == "postgresql://me:***@host:5432/assay"
    assert SourceFolder(SOURCES["team"], "/a/team.db", "").shown_place == "/a/team.db"
