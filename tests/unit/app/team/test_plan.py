from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.app.settings import RunSettings
from assay.app.team.plan import EvaluationPlan, EvaluationSettings, make_plan, require_no_secrets
from assay.core.errors import UsageError
from assay.core.team import Provenance, RegisteredDataset, RegisteredModel

_MODEL = RegisteredModel("m", "mock", {"answer": "A"})


def dataset(name: str, **settings: Any) -> RegisteredDataset:
    return RegisteredDataset(name, f"{name}.csv", "table", Provenance.FOLDER, settings=settings)


def planned(
    *datasets: RegisteredDataset, judge: RegisteredModel | None = None, **asked: Any
) -> EvaluationPlan:
    of_server = {"runs_dir": "kept", "seed": 1}
    return make_plan(_MODEL, datasets, EvaluationSettings(**asked), judge=judge, of_server=of_server)


def test_the_request_wins_over_the_dataset_and_that_over_the_server() -> None:
    plan = planned(dataset("a", seed=2, shots=5, max_tokens=9), shots=3)
    assert plan.datasets == ("a.csv",)
    reported = {
        name: (getattr(plan.values, name), plan.sources[name]) for name in RunSettings.__struct_fields__
    }
    assert reported["model"] == ("mock", "model")
    assert reported["model_args"] == ({"answer": "A"}, "model")
    assert reported["seed"] == (2, "dataset")
    assert reported["shots"] == (3, "request")
    assert reported["max_tokens"] == (9, "dataset")
    assert reported["runs_dir"] == ("kept", "server")
    assert reported["fidelity"] == ("corrected", "default")
    recorded = plan.settings("there").to_manifest()
    assert (recorded["out"].value, recorded["out"].source) == ("there", "server")


def test_a_model_says_where_its_workers_are() -> None:
    large = RegisteredModel("large", "hf:/large", {"num_gpus": "2"}, workers=4, on="ray")
    plan = make_plan(large, [dataset("a")], EvaluationSettings(), judge=None, of_server={})
    assert (plan.values.workers, plan.values.on) == (4, "ray")
    assert (plan.sources["workers"], plan.sources["on"]) == ("model", "model")
    assert (planned(dataset("a")).values.workers, planned(dataset("a")).sources["on"]) == (None, "default")


def test_datasets_that_are_set_differently_are_not_one_run() -> None:
    with pytest.raises(UsageError) as caught:
        planned(dataset("a", shots=5), dataset("b"))
    assert caught.value.problems[0].code == "TEAM-061"
    assert planned(dataset("a", shots=5), dataset("b"), shots=0).values.shots == 0
    assert planned(dataset("a", shots=5), dataset("b", shots=5)).values.shots == 5


@pytest.mark.parametrize("limit", [20, "20", "first:20"])
def test_a_limit_may_be_a_number(limit: int | str) -> None:
    assert planned(dataset("a"), limit=limit).values.limit == str(limit)


def test_a_judge_is_a_registered_model() -> None:
    plan = planned(dataset("a"), judge=RegisteredModel("j", "openai:j@http://h/v1", {"key_env": "K"}))
    assert (plan.values.judge, plan.values.judge_args) == ("openai:j@http://h/v1", {"key_env": "K"})


@pytest.mark.parametrize("name", ["api_key", "token", "hf_token", "PASSWORD", "client-secret"])
def test_arguments_that_are_secrets_are_rejected_without_being_reported(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        require_no_secrets({name: "hunter2"})
    assert caught.value.problems[0].code == "TEAM-032"
    assert "hunter2" not in str(caught.value)
    require_no_secrets({"key_env": "NAME", "batch_tokens": "9"})


def test_nothing_that_may_be_asked_for_is_a_path_or_a_model() -> None:
    free = {
        "model",
        "model_args",
        "judge",
        "judge_args",
        "out",
        "runs_dir",
        "data_root",
        "meta",
        "shots_from",
    }
    free |= {
        "split",
        "dataset_args",
        "table",
        "answers_from",
        "fresh",
        "stage",
        "cache",
        "dialect",
        "offline",
    }
    assert not free & set(EvaluationSettings.__struct_fields__)
    assert set(EvaluationSettings.__struct_fields__) <= set(RunSettings.__struct_fields__)


@given(
    st.builds(
        EvaluationSettings, shots=st.none() | st.integers(0, 9), seed=st.none() | st.integers(-(2**31), 2**31)
    )
)
def test_a_plan_is_read_back_as_it_was_made(asked: EvaluationSettings) -> None:
    plan = make_plan(_MODEL, [dataset("a")], asked, judge=None, of_server={})
    assert msgspec.json.decode(msgspec.json.encode(plan), type=EvaluationPlan) == plan
