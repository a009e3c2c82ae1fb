"""The counts of the conformance script for a small checkout."""

from __future__ import annotations

from pathlib import Path

from assay.dialects.openicl.config.loading import ConfigFiles
from assay.dialects.openicl.config.prompt_hash import hash_config
from benchmarks.conformance_openicl import section
from benchmarks.openicl_entries import dataset_folder

CONFIG = """
from mmengine.config import read_base
with read_base():
    from .parts import reader
quiz_datasets = [dict(type='Quiz', abbr=abbr, reader_cfg=reader, infer_cfg=dict(
    prompt_template=dict(type='P'), retriever=dict(type='R'), inferencer=dict(type='I')
)) for abbr in ('a', 'b')]
"""


def test_configs_entries_and_hashes_are_counted(tmp_path: Path) -> None:
    folder = tmp_path / "opencompass" / "configs" / "datasets" / "quiz"
    folder.mkdir(parents=True)
    (folder / "parts.py").write_text(
        "reader = dict(input_columns='q', output_column='a')\n", encoding="utf-8"
    )
    (folder / "quiz_gen.py").write_text(CONFIG, encoding="utf-8")
    right = hash_config(ConfigFiles().load(folder / "quiz_gen.py"))
    for name in (f"quiz_gen_{right}", "quiz_gen_000000"):
        (folder / f"{name}.py").write_text(CONFIG, encoding="utf-8")
    broken = CONFIG.replace(".parts", ".part")
    (folder / "broken.py").write_text(broken, encoding="utf-8")
    (folder / "wrong.py").write_text(CONFIG.replace("retriever=", "retreiver="), encoding="utf-8")

    found = dataset_folder(tmp_path)
    assert found is not None
    lines = section(found).splitlines()
    assert "| dataset configs | 6 |" in lines
    assert "| that load | 5 |" in lines
    assert "| that have a list of datasets without a problem | 3 |" in lines
    assert "| entries in these | 6 |" in lines
    assert "| that have a hash in their name | 2 |" in lines
    assert "| whose hash is found again | 1 |" in lines
    problems = [line for line in lines if line.startswith("- ")]
    assert problems[0].startswith(
        "- quiz/broken.py: line 4: the base `.part` was not found: no file quiz/part.py"
    )
    assert "'retreiver'" in problems[1]
