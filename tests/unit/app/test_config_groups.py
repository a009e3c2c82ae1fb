"""A run of a config reports each group if all its subsets are evaluated."""

from __future__ import annotations

from pathlib import Path

import assay
from fakes.configs import write_quiz

GROUPS = """
quiz_datasets.append(dict(quiz_datasets[0], abbr='other'))
quiz_summary_groups = [
    dict(name='both', subsets=['quiz', 'other']),
    dict(name='more', subsets=['both', 'quiz'], weights=dict(both=3, quiz=1)),
    dict(name='absent', subsets=['quiz', 'nowhere']),
]
"""


def list_metric_tasks(dataset: str, out: Path) -> set[str]:
    result = assay.run(dataset, model="mock", out=str(out), cache=False)
    return {metric["task"] for metric in result.metrics}


def test_a_run_tells_the_groups_of_its_config(workdir: Path) -> None:
    config = write_quiz(workdir)
    config.write_text(config.read_text(encoding="utf-8") + GROUPS, encoding="utf-8")
    assert list_metric_tasks(str(config), workdir / "a") == {"quiz", "other", "both", "more"}
    assert list_metric_tasks(f"{config}:quiz", workdir / "b") == {"quiz"}


def test_groups_are_reported_again_when_answers_are_scored_again(workdir: Path) -> None:
    config = write_quiz(workdir)
    config.write_text(config.read_text(encoding="utf-8") + GROUPS, encoding="utf-8")
    result = assay.run(str(config), model="mock", out=str(workdir / "run"), cache=False)
    again = result.rescore()
    assert again.metrics == result.metrics
    assert again.manifest["groups"] == result.manifest["groups"] != {}
    # Without its config, as long as named parts score.
    config.unlink()
    read = result.rescore(extract="regex:^zzz")
    values = {metric["task"]: metric["value"] for metric in read.metrics if metric["is_headline"]}
    assert values == {"quiz": 0.0, "other": 0.0, "both": 0.0, "more": 0.0}
