"""The load that a service's config describes, and models in the performance mode."""

from __future__ import annotations

from typing import Any

import pytest

from assay.core.errors import AuthorError
from assay.core.origin import Origin
from assay.dialects.openicl.model_presets import MODEL_PRESETS
from assay.dialects.openicl.models import ModelConfig, read_models
from assay.dialects.openicl.pacing import Pacing, RampUp, read_pacing
from assay.dialects.openicl.performance_summary import PerformanceSummary, read_performance_summary


def pacing(**entry: Any) -> Pacing:
    problems: list[str] = []
    found = read_pacing(entry, lambda what, fix: problems.append(what))
    assert not problems
    return found


def wrong(**entry: Any) -> list[str]:
    problems: list[str] = []
    read_pacing(entry, lambda what, fix: problems.append(what))
    return problems


def timed(**more: Any) -> ModelConfig:
    entry = {"type": "VLLMCustomAPIChat", "abbr": "m", **more}
    (found,) = read_models([entry], "config.py", is_timed=True)
    return found


def test_what_says_nothing_is_one_request_at_a_time() -> None:
    assert pacing() == Pacing(1, None, 1.0, None, uses_timestamps=False)


def test_every_field() -> None:
    ramp = {"ramp_up_strategy": "exponential", "ramp_up_start_rps": 1, "ramp_up_end_rps": 8}
    found = pacing(batch_size=7, request_rate=2.5, use_timestamp=True, traffic_cfg={"burstiness": 0, **ramp})
    assert found == Pacing(7, 2.5, 0.0, RampUp("exponential", 1.0, 8.0), uses_timestamps=True)


@pytest.mark.parametrize(("rate", "expected"), [(0, None), (0.0009, None), (0.001, 0.001), (0.05, 0.05)])
def test_the_rate_below_which_nobody_waits_is_the_codes(rate: float, expected: float | None) -> None:
    assert pacing(request_rate=rate).rate == expected


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"batch_size": 0}, "batch_size is 0"),
        ({"batch_size": 100_001}, "from 1 to 100000"),
        ({"batch_size": 2.5}, "expected a whole number"),
        ({"batch_size": True}, "batch_size is True"),
        ({"request_rate": -1}, "request_rate is -1"),
        ({"request_rate": float("nan")}, "request_rate is nan"),
        ({"request_rate": 64_001}, "from 0 to 64000"),
        ({"use_timestamp": "yes"}, "use_timestamp is 'yes'"),
        ({"traffic_cfg": [1]}, "traffic_cfg is [1]"),
        ({"traffic_cfg": {"burst": 1}}, "unknown key 'burst' (did you mean 'burstiness'?)"),
        ({"traffic_cfg": {"burstiness": ""}}, "traffic_cfg.burstiness is ''"),
        ({"traffic_cfg": {"burstiness": float("inf")}}, "traffic_cfg.burstiness is inf"),
        ({"traffic_cfg": {"ramp_up_strategy": "steep"}}, "ramp_up_strategy is 'steep'"),
        (
            {"traffic_cfg": {"ramp_up_strategy": "linear", "ramp_up_start_rps": 1}},
            "but not both ramp_up_start_rps",
        ),
        ({"traffic_cfg": {"ramp_up_end_rps": 1}}, "no ramp_up_strategy"),
        (
            {"traffic_cfg": {"ramp_up_strategy": "linear", "ramp_up_start_rps": 0, "ramp_up_end_rps": 5}},
            "traffic_cfg.ramp_up_start_rps is 0",
        ),
    ],
)
def test_what_is_wrong_is_said(entry: dict[str, Any], message: str) -> None:
    (found,) = wrong(**entry)
    assert message in found


def test_a_timed_model_says_whether_it_streams_and_that_nothing_is_sent_twice() -> None:
    silent = timed(stream=False, retry=2, request_rate=3, batch_size=4, path="/tokenizer")
    assert silent.model_args["stream"] == "false"
    assert silent.pacing == Pacing(4, 3.0)
    assert silent.tokenizer == "/tokenizer"
    assert silent.notes == ("retry: no effect, because timed requests are sent only once",)
    assert timed(stream=True).model_args["stream"] == "true"
    assert timed(type="VLLMCustomAPIStream").model_args["stream"] == "true"


def test_where_answers_count_pacing_has_no_effect() -> None:
    (found,) = read_models([{"type": "VLLMCustomAPIChat", "abbr": "m", "request_rate": 3}], "config.py")
    assert (found.pacing, found.tokenizer) == (None, None)
    assert found.notes == ("request_rate: no effect",)


def test_a_model_that_assay_names_is_paced_by_its_concurrency() -> None:
    own = {"model": "openai:m@http://h/v1", "model_args": {"concurrency": 9}, "request_rate": 2}
    found = timed(type="Assay", **own)
    assert found.pacing == Pacing(9, 2.0)
    assert "stream" not in found.model_args


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({**MODEL_PRESETS["hf_chat_model"], "path": "x"}, "runs inside this program"),
        (
            {"type": "VLLMCustomAPI", "generation_kwargs": {"num_return_sequences": 3}},
            "several answers per request",
        ),
        ({"type": "VLLMCustomAPI", "request_rate": "fast"}, "request_rate is 'fast'"),
    ],
)
def test_what_cannot_be_measured(entry: dict[str, Any], message: str) -> None:
    with pytest.raises(AuthorError, match="OPENICL-040") as raised:
        read_models([entry], "config.py", is_timed=True)
    assert message in str(raised.value)


def summary(**message: Any) -> PerformanceSummary:
    return read_performance_summary(message, Origin("s.py"))


def test_summarizers_of_performance() -> None:
    stable = {"type": "StablePerfMetricCalculator", "stats_list": ["Average", "P5"]}
    assert summary(attr="performance", calculator=stable) == PerformanceSummary(True, ("Average", "P5"))
    usual = {"type": "DefaultPerfMetricCalculator"}
    assert summary(attr="performance", calculator=usual) == PerformanceSummary()
    assert summary(attr="accuracy", summary_groups=[]) == PerformanceSummary()


@pytest.mark.parametrize(
    "calculator",
    [
        None,
        {"type": "OtherCalculator"},
        {"type": "DefaultPerfMetricCalculator", "stats_list": ["P0"]},
        {"type": "DefaultPerfMetricCalculator", "stats_list": ["P100"]},
        {"type": "DefaultPerfMetricCalculator", "stats_list": []},
        {"type": "DefaultPerfMetricCalculator", "stats_list": ["P1"] * 9},
    ],
)
def test_summarizers_that_cannot_be_followed(calculator: Any) -> None:
    with pytest.raises(AuthorError, match="OPENICL-041"):
        summary(attr="performance", calculator=calculator)
