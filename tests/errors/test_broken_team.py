"""Errors in a team's settings file appear before the server starts; exit status 2."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from cli import assay

BROKEN = Path(__file__).parent / "broken" / "team"
_CSV = "question,A,B,answer\n1+1=,1,2,B\n"


@pytest.mark.parametrize(
    ("file", "code", "message"),
    [
        ("unknown_setting.toml", "TEAM-050", ("'worker'", "did you mean 'workers'?", "assay-team.toml")),
        ("wrong_value.toml", "TEAM-050", ("'workers'", "'two'")),
        ("no_toml.toml", "TEAM-050", ("not valid TOML",)),
        ("unknown_word.toml", "TEAM-050", ("'dataset'", "explain")),
        ("no_folder.toml", "TEAM-051", ("nowhere",)),
        ("wrong_dataset_setting.toml", "TEAM-052", ("[dataset.sums]", "shots")),
        ("not_a_datasets_setting.toml", "TEAM-052", ("[dataset.sums]", "'out'")),
    ],
)
def test_a_broken_team_file_is_reported(
    workdir: Path, file: str, code: str, message: tuple[str, ...]
) -> None:
    shutil.copy(BROKEN / file, workdir / "assay-team.toml")
    (workdir / "sums.csv").write_text(_CSV)
    result = assay("serve", "--port", "0")
    assert result.status == 2, result
    assert code in result.err
    for part in message:
        assert part in result.err.replace("\n", " "), result.err
