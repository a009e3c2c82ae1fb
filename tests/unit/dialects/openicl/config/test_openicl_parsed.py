"""Which bases a file asks for, read without running it."""

from __future__ import annotations

from pathlib import Path

from assay.dialects.openicl.config.parsed import BaseImport, parse_config_file

TEXT = """
import os
from opencompass.datasets import X
from .beside import a
with read_base():
    from copy import deepcopy
    from ..up.one import b as c, d
    if True:
        from opencompass.configs.datasets.e import *
with open('x') as file:
    from opencompass.models import Y
def later():
    from .inner import f
"""


def test_bases_in_order(tmp_path: Path) -> None:
    path = tmp_path / "config.py"
    path.write_text(TEXT, encoding="utf-8")
    parsed = parse_config_file(path)
    assert parsed.problems == ()
    assert parsed.bases == (
        BaseImport("beside", 1, ("a",), 4),
        BaseImport("up.one", 2, ("b", "d"), 7),
        BaseImport("opencompass.configs.datasets.e", 0, ("*",), 9),
        BaseImport("inner", 1, ("f",), 13),
    )
    assert [str(base) for base in parsed.bases][1] == "..up.one"


def test_a_file_is_read_in_the_encoding_it_names(tmp_path: Path) -> None:
    path = tmp_path / "config.py"
    path.write_bytes("# -*- coding: gbk -*-\nprompt = '问题'\n".encode("gbk"))
    assert parse_config_file(path).problems == ()
    path.write_bytes("prompt = '问题'\n".encode("gbk"))
    (problem,) = parse_config_file(path).problems
    assert problem.code == "OPENICL-001"
