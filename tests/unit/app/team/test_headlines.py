"""Tables are scored by the described scorers."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.app.run import run
from assay.app.settings import RunSettings, Settings
from assay.app.team.checking import require_headline
from assay.core.errors import AssayError, AuthorError, PlanError
from assay.core.method import Method

_TABLES = {
    "options.csv": "question,A,B,category,answer\n1+1=,1,2,sums,B\nred,colour,fruit,words,A\n",
    "plain_options.csv": "question,A,B,answer\n1+1=,1,2,B\n",
    "free.csv": "question,answer\nCapital of Norway?,Oslo\n",
    "numbers.csv": "question,answer\n1+1=,2\n",
    "texts.jsonl": '{"text": "Once upon a time there was a table of texts."}\n',
}


def given_by_runs(table: Path) -> set[str]:
    """Return the metrics that runs of a table by every method have, over all of its rows."""
    found: set[str] = set()
    for method in Method:
        values = RunSettings(model="mock", method=(method,), out=str(table.with_name(f"run-{method}")))
        try:
            finished = run(
                (str(table),), Settings(values, dict.fromkeys(RunSettings.__struct_fields__, "test"))
            )
        except (AuthorError, PlanError):
            continue
        found |= {metric.metric for metric in finished.metrics if metric.group is None}
    return found


@pytest.mark.parametrize("name", _TABLES)
def test_every_metric_of_a_run_may_be_a_headline_and_nothing_else(workdir: Path, name: str) -> None:
    table = workdir / name
    table.write_text(_TABLES[name])
    given = given_by_runs(table)
    assert given
    for headline in given:
        require_headline((str(table),), RunSettings(), headline)
    for headline in ("acuracy", "rouge", "accuracy_macro_macro"):
        with pytest.raises(AssayError) as caught:
            require_headline((str(table),), RunSettings(), headline)
        (problem,) = caught.value.problems
        assert problem.code == "TEAM-046"
        named = set(problem.fix.split("'")[1::2])
        # Words are compared with words: where answers are numbers, those metrics have no values.
        assert named - given <= ({"exact", "f1", "contains"} if name == "numbers.csv" else set())
        assert given <= named
