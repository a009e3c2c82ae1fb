"""Which files of settings apply, and in what order their values win."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.app.config_report import find_unused_variables
from assay.app.settings import Settings, resolve_settings
from assay.core.errors import UsageError


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def sources(settings: Settings) -> dict[str, object]:
    """Return the value and source of every setting that is not a default."""
    manifest = settings.to_manifest()
    return {name: (one.value, one.source) for name, one in manifest.items() if one.source != "default"}


def test_each_source_overrides_the_ones_below_it(tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    names = ("seed", "shots", "max_tokens", "samples", "top_p", "limit")
    values = {name: 1 for name in names}

    def lines(count: int) -> str:
        return "".join(f"{name} = {values[name]}\n" for name in names[:count])

    write(home / ".config" / "assay" / "assay.toml", lines(6) + "[profiles.ci]\n" + lines(4))
    write(project / "assay.toml", lines(5) + "[profiles.ci]\n" + lines(3))
    environment = {"HOME": str(home), "ASSAY_SEED": "1", "ASSAY_SHOTS": "1"}
    found = resolve_settings({"seed": 1, "profile": "ci"}, environment, project)
    assert sources(found) == {
        "seed": (1, "flag"),
        "shots": (1, "env"),
        "max_tokens": (1, "profile ci"),
        "samples": (1, "profile ci"),
        "top_p": (1.0, "file"),
        "limit": ("1", "home"),
    }
    assert found.places["max_tokens"] == "assay.toml"
    assert found.places["samples"] == str(home / ".config" / "assay" / "assay.toml")
    assert found.profile == "ci"


def test_the_environment_can_name_the_profile_and_the_home_file(tmp_path: Path) -> None:
    write(tmp_path / "mine.toml", "[profiles.ci]\nseed = 4\n")
    environment = {"ASSAY_PROFILE": "ci", "ASSAY_CONFIG": str(tmp_path / "mine.toml"), "HOME": "/nobody"}
    assert sources(resolve_settings({}, environment, tmp_path)) == {"seed": (4, "profile ci")}


def test_a_repository_is_searched_up_to_its_root_and_no_further(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    deep = repository / "a" / "b"
    deep.mkdir(parents=True)
    write(tmp_path / "assay.toml", "seed = 1\n")
    write(repository / "assay.toml", 'seed = 2\nruns_dir = "results"\ninclude_path = ["tasks", "/abs"]\n')
    assert resolve_settings({}, {}, deep).values.seed is None
    (repository / ".git").mkdir()
    values = resolve_settings({}, {}, deep).values
    assert (values.seed, values.runs_dir) == (2, str(repository / "results"))
    assert values.include_path == (str(repository / "tasks"), "/abs")
    assert resolve_settings({}, {}, repository).values.runs_dir == "results"
    write(repository / "a" / "assay.toml", "seed = 3\n")
    assert resolve_settings({}, {}, deep).values.seed == 3


def test_a_tilde_is_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    write(tmp_path / "assay.toml", 'runs_dir = "~/runs"\n[profiles.x]\nmeta = "~/m.json"\n')
    values = resolve_settings({"profile": "x"}, {}, tmp_path).values
    assert (values.runs_dir, values.meta) == (f"{tmp_path}/runs", f"{tmp_path}/m.json")


@pytest.mark.parametrize(
    ("text", "code", "hint"),
    [
        ("[profiles.ci]\nmodle = 'mock'\n", "USAGE-001", "'modle' of profile ci in assay.toml.*'model'"),
        ("[profiles]\nci = 3\n", "USAGE-032", "no table"),
        ("[profiles.'a b']\nseed = 3\n", "USAGE-032", "'a b'"),
    ],
)
def test_a_profile_that_is_not_used_is_checked_too(text: str, code: str, hint: str, tmp_path: Path) -> None:
    write(tmp_path / "assay.toml", text)
    with pytest.raises(UsageError, match=f"{code}.*{hint}"):
        resolve_settings({}, {}, tmp_path)


def test_a_wrong_value_names_the_profile_and_the_file(tmp_path: Path) -> None:
    write(tmp_path / "assay.toml", "[profiles.ci]\nshots = -1\n")
    with pytest.raises(UsageError, match=r"USAGE-001.*'shots' \(from the profile ci in assay.toml\) is -1"):
        resolve_settings({"profile": "ci"}, {}, tmp_path)


def test_variables_without_effect_are_found() -> None:
    environment = {
        "ASSAY_MODLE": "x",
        "ASSAY_SEED": "1",
        "ASSAY_CACHE": "/c",
        "ASSAY_TEAM_PORT": "1",
        "PATH": "",
    }
    assert find_unused_variables(environment) == {"ASSAY_MODLE": "(did you mean 'ASSAY_MODEL'?)"}
