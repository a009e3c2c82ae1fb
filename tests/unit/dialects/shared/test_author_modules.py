"""An author's file runs with its own `import` function, without effects elsewhere."""

from __future__ import annotations

import dataclasses
import pickle
import sys
import typing
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from assay.core.errors import AuthorError, Problem
from assay.dialects.shared.author_modules import AuthorModules

TABLE: Mapping[str, Mapping[str, Any]] = {
    "system": {"top": "TOP"},
    "system.metric": {"Em": "EM", "F1": "F1"},
    "system.metric.deep": {"inner": 7},
    "system.dataset": {"Base": object},
    "system.dataset.utils": {"load": "LOAD"},
}


def modules(folder: Path, **more: Any) -> AuthorModules:
    return AuthorModules(
        "system.dataset", TABLE, folder=folder, extendable=("system.dataset.utils",), code="X-001", **more
    )


def ran(folder: Path, text: str, name: str = "mine", **more: Any) -> ModuleType:
    path = folder / f"{name}.py"
    path.write_text(text, encoding="utf-8")
    return modules(folder, **more).run(path)


def problem(folder: Path, text: str) -> Problem:
    with pytest.raises(AuthorError) as caught:
        ran(folder, text)
    (found,) = caught.value.problems
    return found


@pytest.mark.parametrize(
    ("statement", "expression", "expected"),
    [
        ("from ..metric import Em", "Em", "EM"),
        ("from ..metric import Em as Exact, F1", "Exact + F1", "EMF1"),
        ("from .. import metric", "metric.Em", "EM"),
        ("from .. import metric as m, top", "m.F1 + top", "F1TOP"),
        ("from . import Base", "Base", object),
        ("from . import utils", "utils.load", "LOAD"),
        ("from .utils import load", "load", "LOAD"),
        ("from system import top", "top", "TOP"),
        ("from system.metric import Em", "Em", "EM"),
        ("from system.metric import deep", "deep.inner", 7),
        ("import system", "system.top + system.metric.Em", "TOPEM"),
        ("import system.metric", "system.metric.Em", "EM"),
        ("import system.metric as m", "m.Em", "EM"),
        ("import system.metric.deep as d", "d.inner", 7),
        ("import system.metric, json", "system.metric.Em + json.dumps(1)", "EM1"),
        ("from ..metric import *", "Em + F1", "EMF1"),
        ("from .sibling import *", "shared + public", "sharedpublic"),
        ("from .sibling import shared", "shared", "shared"),
        ("from . import sibling", "sibling.shared", "shared"),
        ("import system.dataset.sibling as s", "s.shared", "shared"),
        ("from system.dataset.sibling import shared", "shared", "shared"),
        ("import os.path as p, re", "p.sep + re.escape('x')", "/x"),
        ("from xml.etree import ElementTree", "ElementTree.__name__", "xml.etree.ElementTree"),
    ],
)
def test_every_form_of_import(tmp_path: Path, statement: str, expression: str, expected: Any) -> None:
    (tmp_path / "sibling.py").write_text(
        "from ..metric import Em\nshared = 'shared'\npublic = 'public'\n_private = 'no'\n", encoding="utf-8"
    )
    text = f"{statement}\nfound = {expression}\ndef later():\n    {statement}\n    return {expression}\n"
    if "*" in statement:
        text = f"{statement}\nfound = {expression}\ndef later():\n    return {expression}\n"
    module = ran(tmp_path, text)
    assert module.found == expected
    assert module.later() == expected
    assert not hasattr(module, "_private")


def test_nothing_is_left_under_a_foreign_name(tmp_path: Path) -> None:
    (tmp_path / "sibling.py").write_text("x = 1\n", encoding="utf-8")
    before = set(sys.modules)
    ran(tmp_path, "import system.metric\nfrom .sibling import x\n")
    new = set(sys.modules) - before
    assert not {name for name in new if name.partition(".")[0] in ("system", "sibling", "mine", "utils")}
    assert all(name.startswith("assay_author_") for name in new)
    with pytest.raises(ModuleNotFoundError):
        __import__("system")


@pytest.mark.parametrize(
    "text",
    [
        "from .sibling import x\nraise ValueError\n",
        "from .bad import y\n",
        "import nowhere_at_all\n",
        "1 +\n",
    ],
)
def test_a_file_that_fails_leaves_nothing_of_its_own(tmp_path: Path, text: str) -> None:
    (tmp_path / "sibling.py").write_text("x = 1\n", encoding="utf-8")
    (tmp_path / "bad.py").write_text("raise RuntimeError('sibling')\n", encoding="utf-8")
    before = set(sys.modules)
    with pytest.raises(AuthorError):
        ran(tmp_path, text)
    assert not [name for name in set(sys.modules) - before if name.endswith(("_mine", "_bad"))]


def test_half_of_a_sibling_is_never_found(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("half = 1\nraise RuntimeError\n", encoding="utf-8")
    text = (
        "tried = []\n"
        "for _ in range(2):\n"
        "    try:\n        from . import bad\n        tried.append(bad.half)\n"
        "    except Exception as error:\n        tried.append(type(error).__name__)\n"
    )
    assert ran(tmp_path, text).tried == ["AuthorError", "AuthorError"]


def test_siblings_of_the_same_name_do_not_see_each_other(tmp_path: Path) -> None:
    loaded = []
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "sibling.py").write_text(f"who = {folder!r}\nseen = []\n", encoding="utf-8")
        loaded.append(
            ran(
                tmp_path / folder,
                "from .sibling import who, seen\nseen.append(1)\ndef later():\n    from . import sibling\n"
                "    return sibling.who, sibling.seen\n",
            )
        )
    assert [module.who for module in loaded] == ["one", "two"]
    assert [module.later() for module in loaded] == [("one", [1]), ("two", [1])]


def test_siblings_may_import_each_other_in_a_circle(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\nfrom .b import y\n", encoding="utf-8")
    (tmp_path / "b.py").write_text("from .a import x\ny = x + 1\n", encoding="utf-8")
    assert ran(tmp_path, "from .a import y\n").y == 2


def test_a_sibling_may_add_to_a_module_of_the_table(tmp_path: Path) -> None:
    (tmp_path / "utils.py").write_text("def mine():\n    return 'mine'\n", encoding="utf-8")
    module = ran(tmp_path, "from .utils import load, mine\nboth = load + mine()\n")
    assert module.both == "LOADmine"


def test_other_modules_of_the_table_are_not_replaced_by_files(tmp_path: Path) -> None:
    """Among the original's datasets stand its framework's files, which must not run."""
    (tmp_path / "base.py").write_text("raise RuntimeError\n", encoding="utf-8")
    table = {**TABLE, "system.dataset.base": {"Base": int}}
    path = tmp_path / "mine.py"
    path.write_text("from .base import Base\n", encoding="utf-8")
    assert AuthorModules("system.dataset", table, folder=tmp_path, code="X-001").run(path).Base is int


def test_names_that_are_there_without_an_import(tmp_path: Path) -> None:
    text = "def f(x: List[Nowhere], y: a-b) -> Tuple[int, ...]:\n    return List\n"
    module = ran(tmp_path, text, ambient={"List": typing.List})  # noqa: UP006
    assert module.f(1, 2) is typing.List  # noqa: UP006
    assert not hasattr(__builtins__, "List")
    with pytest.raises(NameError):
        ran(tmp_path, "def f():\n    return List\n").f()


def test_dataclasses_and_pickling(tmp_path: Path) -> None:
    text = (
        "from __future__ import annotations\nimport dataclasses, typing\n"
        "@dataclasses.dataclass\nclass Row:\n    name: str\n    n: typing.ClassVar[int] = 3\n"
        "def f(): return 1\n"
    )
    module = ran(tmp_path, text)
    row = module.Row("x")
    assert [field.name for field in dataclasses.fields(row)] == ["name"]
    for dumps, loads in ((pickle.dumps, pickle.loads), (pickle._dumps, pickle._loads)):  # type: ignore[attr-defined]
        assert loads(dumps(row)) == row
        assert loads(dumps(module.f))() == 1


def test_what_goes_wrong_names_the_line(tmp_path: Path) -> None:
    path = str(tmp_path / "mine.py")
    (tmp_path / "beside.py").write_text("x = 1\n", encoding="utf-8")
    (tmp_path / "bad.py").write_text("\n\nboom\n", encoding="utf-8")

    def read_failure(text: str) -> tuple[str, int | None, str]:
        found = problem(tmp_path, text)
        assert found.where is not None
        return found.where.path, found.where.line, f"{found.what} | {found.fix}"

    assert read_failure("x = 1\nx = (\n")[:2] == (path, 2)
    assert read_failure("def f():\n    return 1 / 0\nf()\n") == (
        path,
        2,
        read_failure("def f():\n    return 1 / 0\nf()\n")[2],
    )
    where, line, message = read_failure("\nimport nowhere_at_all.deeper\n")
    assert (where, line) == (path, 2)
    assert "'nowhere_at_all" in message
    assert message.endswith("pip install nowhere_at_all")
    assert "did you mean 'system.metric'" in read_failure("from ..metrik import Em\n")[2]
    assert "did you mean 'Em'" in read_failure("from ..metric import Emm\n")[2]
    assert read_failure("import beside\n")[2].endswith("write from .beside import ...")
    assert read_failure("from .bad import x\n")[:2] == (str(tmp_path / "bad.py"), 3)
    assert "beyond top-level" in read_failure("from ...other import x\n")[2]
    assert "SystemExit" in read_failure("import sys\nsys.exit(3)\n")[2]
    # A syntax error inside a text that the file evaluates is no syntax error of the file.
    assert read_failure("x = 1\neval('1 +')\n")[:2] == (path, 2)


def test_a_person_who_interrupts_is_heard(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        ran(tmp_path, "import signal; signal.raise_signal(signal.SIGINT)\n")


def test_a_module_may_have_other_names(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("value = 3\nclass Here: ...", encoding="utf-8")
    text = (
        "from short import Base\nfrom short.utils import load\nfrom short.beside import Here\n"
        "import short.beside as one, system.dataset.beside as other\n"
        "assert one is other and one.Here is Here\n"
    )
    module = ran(tmp_path, text, aliases={"short": "system.dataset", "other.short": "system.dataset"})
    assert module.load == "LOAD"
    assert "short" not in sys.modules


def test_a_file_that_another_imported_is_not_run_again(tmp_path: Path) -> None:
    beside = tmp_path / "beside.py"
    beside.write_text("class Here: ...", encoding="utf-8")
    (tmp_path / "mine.py").write_text("from .beside import Here", encoding="utf-8")
    known = modules(tmp_path)
    mine = known.run(tmp_path / "mine.py")
    assert known.run(beside).Here is mine.Here


def test_two_copies_of_a_file_can_define_the_same_command_line_flag(tmp_path: Path) -> None:
    text = (
        "from absl import flags\nflag = flags.DEFINE_string('flag_of_a_test', None, 'help', required=True)\n"
    )
    for _ in range(2):
        assert ran(tmp_path, text).flag.name == "flag_of_a_test"
    from absl import flags

    assert "flag_of_a_test" not in flags.FLAGS
