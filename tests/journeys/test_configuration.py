"""Settings from files, profiles and variables, as a person uses them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli import assay

ROWS = "question,A,B,answer\n1+1=,2,3,A\n2+2=,5,4,B\n3+3=,6,7,A\n"


@pytest.fixture
def project(workdir: Path) -> Path:
    (workdir / "data.csv").write_text(ROWS, encoding="utf-8")
    (workdir / "assay.toml").write_text(
        'model = "mock"\n[model_args]\napi_key = "s3cret-s3cret"\n[profiles.ci]\nlimit = 2\n',
        encoding="utf-8",
    )
    return workdir


def read_settings(folder: Path) -> dict[str, dict[str, object]]:
    settings: dict[str, dict[str, object]] = json.loads((folder / "manifest.json").read_text())["settings"]
    return settings


def test_a_profile_decides_and_the_run_records_it(project: Path) -> None:
    (project / "assay.toml").write_text('model = "mock"\n[profiles.ci]\nlimit = 2\n', encoding="utf-8")
    result = assay("run", "data.csv", "--profile", "ci", "--out", "run")
    assert result.status == 0, result.err
    assert read_settings(project / "run")["limit"] == {"value": "2", "source": "profile ci"}
    assert read_settings(project / "run")["model"] == {"value": "mock", "source": "file"}


@pytest.mark.parametrize(
    "line",
    [
        ("data.csv", "--timings"),
        ("data.csv", "--profile"),
        ("--profile", "data.csv"),
        ("data.csv", "--profile", "--chat", "off"),
        ("--profile", "./data.csv", "--profile", "ci"),
    ],
)
def test_where_the_time_went_under_both_names(line: tuple[str, ...], project: Path) -> None:
    (project / "assay.toml").write_text('model = "mock"\n[profiles.ci]\nlimit = 2\n', encoding="utf-8")
    result = assay("run", *line)
    assert result.status == 0, result.err
    assert "time: start " in result.out


def test_config_shows_each_value_with_its_source(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_SEED", "9")
    monkeypatch.setenv("ASSAY_SHOT", "9")
    result = assay("config", "--profile", "ci", "--shots", "1", "--json")
    config = json.loads(result.out)["config"]
    found = {one["name"]: (one["value"], one["source"], one["place"]) for one in config["settings"]}
    assert found["model"] == ("mock", "file", "assay.toml")
    assert found["limit"] == ("2", "profile ci", "assay.toml")
    assert found["seed"] == (9, "env", "ASSAY_SEED")
    assert found["shots"] == (1, "flag", "")
    assert found["top_p"] == (None, "default", "")
    assert config["profile"] == "ci"
    assert config["unused_variables"] == {"ASSAY_SHOT": "(did you mean 'ASSAY_SHOTS'?)"}
    shown = assay("config", "--profile", "ci")
    assert "project file  assay.toml" in shown.out
    assert "profiles  ci (in use: ci)" in shown.out
    assert "ASSAY_SHOT has no effect" in shown.out
    assert "s3cret" not in result.out + shown.out


def test_config_of_one_setting_and_of_an_unknown_one(project: Path) -> None:
    result = assay("config", "model")
    assert result.out.splitlines()[1].split() == ["model", "mock", "project", "file", "(assay.toml)"]
    assert "did you mean 'model'" in assay("config", "modle").err


def test_run_without_arguments_shows_the_usage(project: Path) -> None:
    result = assay("run")
    assert (result.status, "Missing argument 'DATASET...'" in result.err) == (2, True)
