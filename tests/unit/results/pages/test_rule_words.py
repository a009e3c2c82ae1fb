"""Every rule that a score may name is put into words on the page of a sample."""

from __future__ import annotations

import re
from typing import get_args

from assay.results.pages.bundle import ASSETS
from assay.scoring.extract.free_text import TEXT_RULES
from assay.scoring.extract.numbers import NUMBER_RULES
from assay.scoring.extract.options import OPTION_RULES
from assay.scoring.originals.leap.task_results import TASK_RULE
from assay.scoring.originals.llmbox.author_metrics import AUTHOR_RULE
from assay.scoring.originals.ultraeval.row_answers import WHOLE_OUTPUT
from assay.scoring.scorers.generated import VOTE
from assay.scoring.scorers.likelihood import ScoreBy


def test_every_rule_has_words() -> None:
    script = (ASSETS / "rule_words.js").read_text(encoding="utf-8")
    known = set(re.findall(r'^  (\w+): "', script, re.MULTILINE))
    rules = {rule.name for rules in (OPTION_RULES, NUMBER_RULES, TEXT_RULES) for rule in rules}
    assert rules | {*get_args(ScoreBy), VOTE, WHOLE_OUTPUT, AUTHOR_RULE, TASK_RULE} <= known
