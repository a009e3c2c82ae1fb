from __future__ import annotations

from pathlib import Path

import pytest

from assay.app.team.settings import resolve_team_settings


def test_flags_win_over_the_file_and_paths_are_whole(workdir: Path) -> None:
    elsewhere = workdir / "elsewhere"
    (elsewhere / "tables").mkdir(parents=True)
    (workdir / "mine").mkdir()
    (elsewhere / "assay-team.toml").write_text(
        'workers = 3\nruns_dir = "kept"\ndatasets = ["tables"]\ndatabase = "x.db"\nlease_s = 5\n'
    )
    settings = resolve_team_settings({"workers": 2, "allow_python": ("mine",), "home": None}, elsewhere)
    assert (settings.workers, settings.lease_s) == (2, 5.0)
    assert settings.runs_dir == str(elsewhere / "kept")
    assert settings.datasets == (str(elsewhere / "tables"),)
    assert settings.allow_python == (str(workdir / "mine"),)
    assert settings.home == str(workdir / "assay-team")
    assert settings.database_place == str(elsewhere / "x.db")


def test_the_address_of_a_database_is_left_as_it_is(workdir: Path) -> None:
    settings = resolve_team_settings({"database": "postgresql://ann@db/assay"}, workdir)
    assert settings.database_place == "postgresql://ann@db/assay"
    assert resolve_team_settings({}, workdir).database_place == str(workdir / "assay-team" / "team.db")


@pytest.mark.parametrize("workers", [0, 64])
def test_a_server_may_have_no_workers(workdir: Path, workers: int) -> None:
    assert resolve_team_settings({"workers": workers}, workdir).workers == workers


def test_a_benchmark_in_allow_python_is_a_name_not_a_path(tmp_path: Path) -> None:
    settings = resolve_team_settings({"allow_python": ("opencompass:mmlu_ppl",)}, tmp_path)
    assert settings.allow_python == ("opencompass:mmlu_ppl",)
