"""The counts of the conformance script for a small checkout."""

from __future__ import annotations

from pathlib import Path

from benchmarks.conformance_ultraeval import section
from fakes.transforms import GEN, PPL, choice_rows, config, write_dataset


def test_files_that_load_have_data_and_render_are_counted(tmp_path: Path) -> None:
    raising = GEN.replace("text =", "text = data['absent'] +")
    scripts = {"transform_gen_v0.py": GEN, "transform_gen_v1.py": raising, "transform_ppl_v0.py": PPL}
    configs = {
        "a_gen.json": config("a", dataset="quiz"),
        "a_ppl.json": config("a", dataset="quiz", method="loglikelihood"),
        "b_gen.json": config("a", dataset="quiz", transform="datasets/quiz/transform_gen_v1.py"),
    }
    whole = write_dataset(tmp_path, {"a": choice_rows(3)}, scripts, configs, name="quiz")
    absent = {"x_gen.json": config("x", dataset="empty"), "y_gen.json": {"task_name": "y"}}
    broken = {"transform_gen_v0.py": GEN, "transform_gen_v1.py": "import nowhere_to_be_found\n" + GEN}
    empty = write_dataset(tmp_path, {}, broken, absent, name="empty")
    lines = section([whole, empty]).splitlines()
    # Two configs by v0, and one by ppl, each corrected and faithful.
    assert lines[0] == "2 dataset folders; 18 prompts were made."
    assert "| transform scripts | 5 | 4 | 3 | 2 |" in lines
    assert "| task configs | 5 | 4 | 3 | 2 |" in lines
    problems = [line for line in lines if line.startswith("- ")]
    assert len([line for line in problems if "by transform_gen_v1.py: " in line and "absent" in line]) == 2
    assert any("nowhere_to_be_found" in line for line in problems)
