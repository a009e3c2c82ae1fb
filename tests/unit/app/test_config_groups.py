"""Groups of a config are told by any run of it, if all their subsets are evaluated."""

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


def told(dataset: str, out: Path) -> set[str]:
    result = assay.run(dataset, model="mock", out=str(out), cache=False)
    return {metric["task"] for metric in result.metrics}


def test_a_run_tells_the_groups_of_its_config(workdir: Path) -> None:
    config = write_quiz(workdir)
    config.write_text(config.read_text(encoding="utf-8") + GROUPS, encoding="utf-8")
    assert told(str(config), workdir / "a") == {"quiz", "other", "both", "more"}
    assert told(f"{config}:quiz", workdir / "b") == {"quiz"}
