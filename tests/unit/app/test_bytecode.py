"""Where Python keeps the bytecode of packages that cannot keep their own."""

from __future__ import annotations

import importlib.machinery
import os
import py_compile
import subprocess
import sys
from pathlib import Path

import pytest

from assay.app import bytecode
from assay.app.bytecode import keep_bytecode


@pytest.fixture(autouse=True)
def package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return the file of an installed package without bytecode, in a folder that cannot be written."""
    file = tmp_path / "site" / "torch" / "__init__.py"
    file.parent.mkdir(parents=True)
    file.touch()
    (tmp_path / "site" / "torch-2.13.0.dist-info").mkdir()
    os.utime(file, (1, 1))
    monkeypatch.setattr(bytecode, "_PACKAGES", ("torch",))
    monkeypatch.setattr(bytecode, "find_spec", lambda name: find_installed(name, tmp_path / "site"))
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site"), str(tmp_path / "missing")])
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", None)
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", "")  # Restored after the test, whatever it sets.
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    return file


def find_installed(name: str, site: Path) -> importlib.machinery.ModuleSpec | None:
    importlib.invalidate_caches()
    return importlib.machinery.PathFinder.find_spec(name, [str(site)])


def test_bytecode_is_kept_in_the_cache_folder(tmp_path: Path) -> None:
    keep_bytecode()
    assert sys.pycache_prefix is not None
    assert Path(sys.pycache_prefix).parent == tmp_path / "cache" / "bytecode"
    assert os.environ["PYTHONPYCACHEPREFIX"] == sys.pycache_prefix


def test_another_version_of_a_package_gets_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_bytecode()
    first = sys.pycache_prefix
    monkeypatch.setattr(sys, "pycache_prefix", None)
    (tmp_path / "site" / "torch-2.13.0.dist-info").rename(tmp_path / "site" / "torch-2.14.0.dist-info")
    keep_bytecode()
    assert sys.pycache_prefix not in {None, first}


def test_the_users_own_folder_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "pycache_prefix", "/mine")
    keep_bytecode()
    assert sys.pycache_prefix == "/mine"
    assert os.environ["PYTHONPYCACHEPREFIX"] == ""


def test_the_user_can_disable_bytecode(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    keep_bytecode()
    assert sys.pycache_prefix is None


def test_packages_with_bytecode_or_a_writable_folder_keep_their_own(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(os, "access", lambda path, mode: True)
        keep_bytecode()
        assert sys.pycache_prefix is None
    py_compile.compile(str(package))
    keep_bytecode()
    assert sys.pycache_prefix is None


def test_nothing_is_kept_if_all_files_have_one_date(package: Path) -> None:
    date = os.stat(bytecode.__file__).st_mtime_ns
    os.utime(package, ns=(date, date))
    keep_bytecode()
    assert sys.pycache_prefix is None


@pytest.mark.parametrize("trouble", [RuntimeError("no home directory"), PermissionError(13, "denied")])
def test_a_missing_package_and_unreadable_folders_are_no_errors(
    monkeypatch: pytest.MonkeyPatch, package: Path, trouble: Exception
) -> None:
    def fail() -> Path:
        raise trouble

    with monkeypatch.context() as patch:
        patch.setattr(bytecode, "cache_dir", fail)
        keep_bytecode()
    assert sys.pycache_prefix is None
    package.unlink()
    package.parent.rmdir()
    keep_bytecode()
    assert sys.pycache_prefix is None


def test_a_process_uses_what_an_earlier_one_kept(tmp_path: Path) -> None:
    keep_bytecode()
    (tmp_path / "module.py").write_text("", "utf-8")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    code = "import sys, os, module; print(os.path.isfile(module.__cached__), module.__cached__)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith(f"True {tmp_path / 'cache' / 'bytecode'}")
