"""The printed tables; the expected text was printed by lm-eval 0.4.13 for such results."""

from __future__ import annotations

from typing import Any

from assay.systems.lm_eval.table import format_table

RESULTS: dict[str, Any] = {
    "results": {
        "mutual": {
            "name": "mutual",
            "alias": "mutual",
            "sample_len": 8,
            "acc,none": 1.0,
            "acc_stderr,none": 0.0,
            "acc_mutual_info,none": 0.75,
            "acc_mutual_info_stderr,none": 0.1636634,
        },
        "texts": {
            "name": "texts",
            "alias": "texts",
            "word_perplexity,none": 273.11360058,
            "word_perplexity_stderr,none": "N/A",
        },
        "both::inner": {
            "alias": "both::inner",
            "name": "both::inner",
            "acc,none": 1.0,
            "acc_stderr,none": 0.0,
        },
        "both": {"alias": "Both", "name": "both", "sample_len": 8, "sample_count": {"acc,none": 8}},
    },
    "group_subtasks": {"both::inner": ["mutual"], "both": ["both::inner"]},
    "versions": {"mutual": 1.0, "texts": "Yaml", "both": "0.5", "both::inner": "N/A"},
    "n-shot": {"mutual": 1, "both": 1, "both::inner": 1, "texts": 1},
    "higher_is_better": {
        "mutual": {"acc": True, "acc_mutual_info": True},
        "texts": {"word_perplexity": False},
        "both::inner": {"acc": None},
    },
}
RESULTS["results"]["both"] |= {"acc,none": 0.5, "acc_stderr,none": 0.25}
RESULTS["groups"] = {name: RESULTS["results"][name] for name in ("both::inner", "both")}


def test_groups_come_before_their_members_and_numbers_are_aligned() -> None:
    assert format_table(RESULTS).splitlines() == [
        "|    Tasks     |Version|Filter|n-shot|    Metric     |   | Value  |   |Stderr|",
        "|--------------|-------|------|-----:|---------------|---|-------:|---|------|",
        "|Both          |    0.5|none  |     1|acc            |   |  0.5000|±  |0.2500|",
        "| - both::inner|N/A    |none  |     1|acc            |   |  1.0000|±  |     0|",
        "|  - mutual    |      1|none  |     1|acc            |↑  |  1.0000|±  |     0|",
        "|              |       |none  |     1|acc_mutual_info|↑  |  0.7500|±  |0.1637|",
        "|texts         |Yaml   |none  |     1|word_perplexity|↓  |273.1136|±  |   N/A|",
    ]


def test_the_table_of_groups() -> None:
    head, rule, *rows = format_table(RESULTS, "groups").splitlines()
    assert head.startswith("|    Groups    |Version|Filter|")
    assert rule.startswith("|--------------|-------|")
    assert [row.split("|")[1].strip() for row in rows] == ["Both", "- both::inner"]
