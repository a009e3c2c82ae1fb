"""`assay check` over several datasets and over folders of dataset classes."""

from __future__ import annotations

import json
import re
from pathlib import Path

from cli import assay
from fakes.transforms import GEN, PPL, choice_rows, config, write_dataset

CLASS = """
from .generation_dataset import GenerationDataset
from ..metric import Em

class {name}(GenerationDataset):
    instruction = "{{word}}"
    metrics = [Em()]
    load_args = ("{name}",)
    evaluation_set = "test"

    def format_instance(self, instance):
        return dict(word=instance["{key}"], target=instance["word"])

    @property
    def references(self):
        return [[row["word"]] for row in self.evaluation_data]
"""


def checkout(workdir: Path) -> Path:
    """Write a folder such as the original's, and data for two of its three datasets."""
    folder = workdir / "dataset"
    folder.mkdir()
    for name, key in (("whole", "word"), ("absent", "word"), ("wrong", "wort")):
        (folder / f"{name}.py").write_text(CLASS.format(name=name, key=key), encoding="utf-8")
    (folder / "broken.py").write_text(
        "from .generation_dataset import GenerationDataset\nimport nowhere_to_be_found\n", encoding="utf-8"
    )
    (folder / "__init__.py").write_text("from .generation_dataset import X\n", encoding="utf-8")
    (folder / "generation_dataset.py").write_text("class GenerationDataset(Dataset): ...\n", encoding="utf-8")
    (folder / "notes.py").write_text("print('no dataset')\n", encoding="utf-8")
    for name in ("whole", "wrong"):
        data = workdir / "data" / name
        data.mkdir(parents=True)
        rows = [json.dumps({"word": f"w{n}"}) + "\n" for n in range(70)]
        (data / "test.jsonl").write_text("".join(rows), encoding="utf-8")
    return folder


def test_a_folder_gets_a_line_for_each_dataset(workdir: Path) -> None:
    folder = checkout(workdir)
    result = assay("check", str(folder), "--data-root", "data")
    assert result.status == 1
    lines = result.out.splitlines()
    assert [re.split(r"  +", line)[:2] for line in lines[:4]] == [
        ["needs data", "absent.py"],
        ["error", "broken.py"],
        ["ok", "whole.py"],
        ["error", "wrong.py"],
    ]
    assert "the dataset 'absent', split 'test' is needed, but was not found; no dataset 'absent'" in lines[0]
    assert "in 'data'" in lines[0]
    assert "line 2: it imports 'nowhere_to_be_found'" in lines[1]
    assert lines[2].endswith("class whole, 70 rows, by gen")
    # Only the beginning is looked at.
    assert re.search(r"line 12: .*rows 1, 2, 3, 4, 5 and 45 more: .*missing key 'wort'", lines[3])
    assert lines[4] == "not datasets: __init__.py, generation_dataset.py, notes.py"
    assert lines[5] == "4 datasets: 1 ok, 1 need data, 2 with errors"


def test_needed_data_is_no_error(workdir: Path) -> None:
    folder = checkout(workdir)
    files = [str(folder / f"{name}.py") for name in ("whole", "absent")]
    result = assay("check", "--dialect", "llmbox", *files)
    assert result.status == 0
    assert "is needed, but was not found; in hf://whole: the hub at" in result.out
    assert "2 datasets: 0 ok, 2 need data, 0 with errors" in result.out


def test_a_single_file_is_shown_in_full(workdir: Path) -> None:
    folder = checkout(workdir)
    result = assay("check", str(folder / "whole.py"), "--data-root", "data", "-m", "mock")
    assert result.status == 0
    assert "gen prompt of" in result.out
    assert "no errors" in result.out


def test_tables_are_listed_too(workdir: Path) -> None:
    (workdir / "a.csv").write_text("question,answer\n1+1=,2\n", encoding="utf-8")
    (workdir / "b.csv").write_text("question,A,B,answer\n1+1=,2,3,C\n", encoding="utf-8")
    result = assay("check", "a.csv", "b.csv", "-m", "mock")
    assert result.status == 1
    assert re.search(r"ok +a.csv +1 row, by gen", result.out)
    assert re.search(r"error +b.csv +.*\(TABLE-\d+\)", result.out)


def test_a_folder_without_dataset_classes_is_no_dataset(workdir: Path) -> None:
    (workdir / "empty").mkdir()
    result = assay("check", "empty")
    assert (result.status, "SOURCE-001" in result.err) == (1, True)


def test_a_dataset_may_be_called_dataset(workdir: Path) -> None:
    folder = checkout(workdir)
    (folder / "whole.py").rename(folder / "dataset.py")
    result = assay("check", str(folder), "--data-root", "data")
    assert re.search(r"ok +dataset.py +class whole", result.out)


def test_a_checkout_of_transforms_gets_a_line_for_each_dataset_folder(workdir: Path) -> None:
    gen, ppl = {"transform_gen_v0.py": GEN}, {"transform_ppl_v0.py": PPL}
    rows = choice_rows(5)
    both = {"a_gen.json": config("a", dataset="both"), "b_gen.json": config("b", dataset="both")}
    both["b_ppl.json"] = config("b", dataset="both", method="loglikelihood")
    write_dataset(workdir, {"a": rows, "b": rows}, {**gen, **ppl}, both, name="both")
    write_dataset(workdir, {}, gen, {"x_gen.json": config("x", dataset="absent")}, name="absent")
    broken = f"import nowhere_to_be_found\n{GEN}"
    write_dataset(workdir, rows, {"transform_gen_v0.py": broken}, name="broken")
    (workdir / "main.py").write_text("print('of the original')\n", encoding="utf-8")
    for named in (".", "datasets"):
        result = assay("check", named, "--method", "gen,ppl")
        assert result.status == 1
        lines = result.out.splitlines()
        assert [re.split(r"  +", line)[:2] for line in lines[:3]] == [
            ["needs data", "absent"],
            ["ok", "both"],
            ["error", "broken"],
        ]
        assert "'datasets/absent/data/x.jsonl'" in lines[0]
        assert lines[1].endswith("2 subsets, 10 rows, by gen, ppl")
        assert "nowhere_to_be_found" in lines[2]
        assert lines[3] == "3 datasets: 1 ok, 1 need data, 1 with errors"
        assert "main.py" not in result.out


def test_one_dataset_folder_is_shown_in_full(workdir: Path) -> None:
    folder = write_dataset(workdir, choice_rows(5), {"transform_gen_v0.py": GEN})
    assert "no errors" in assay("check", str(folder)).out
