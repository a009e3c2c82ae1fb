"""From the dict of a model to the plan of its load."""

from __future__ import annotations

from typing import Any

import pytest

from assay.app.settings import RunSettings
from assay.bench.arrivals import Arrivals, Ramp, TraceArrivals
from assay.bench.lengths import ConstantLength
from assay.bench.load import ClosedLoad, OpenLoad
from assay.core.request import Sampling
from assay.dialects.openicl.model_presets import MODEL_PRESETS
from assay.dialects.openicl.models import ModelConfig, read_models
from assay.systems.aisbench.performance import (
    PerfOptions,
    build_item_settings,
    client_args,
    perf_notes,
    perf_plan,
)

RAMP = {"ramp_up_strategy": "linear", "ramp_up_start_rps": 1, "ramp_up_end_rps": 9}


def model(preset: str = "vllm_api_stream_chat", **edited: Any) -> ModelConfig:
    (found,) = read_models([{**MODEL_PRESETS[preset], **edited}], "models.py", is_timed=True)
    return found


@pytest.mark.parametrize(
    ("edited", "asked", "shape"),
    [
        ({"batch_size": 8}, PerfOptions(), ClosedLoad(8)),
        ({"batch_size": 8, "request_rate": 0.0005}, PerfOptions(), ClosedLoad(8)),
        (
            {"batch_size": 8, "request_rate": 5},
            PerfOptions(seed=3),
            OpenLoad(Arrivals(5.0, burstiness=1.0, seed=3, is_rescaled=True), 8),
        ),
        (
            {"batch_size": 8, "request_rate": 5, "traffic_cfg": {"burstiness": 0}},
            PerfOptions(),
            OpenLoad(Arrivals(5.0, burstiness=0.0, is_rescaled=True), 8),
        ),
        (
            {"batch_size": 8, "request_rate": 5, "traffic_cfg": RAMP},
            PerfOptions(),
            OpenLoad(Arrivals(ramp=Ramp(1.0, 9.0), burstiness=1.0, is_rescaled=True), 8),
        ),
        (
            {"batch_size": 8, "traffic_cfg": RAMP},
            PerfOptions(),
            OpenLoad(Arrivals(ramp=Ramp(1.0, 9.0), burstiness=1.0, is_rescaled=True), 8),
        ),
        ({"batch_size": 8, "use_timestamp": True}, PerfOptions(), ClosedLoad(8)),
        ({"batch_size": 8}, PerfOptions(pressure_s=15.0), ClosedLoad(8)),
        ({"batch_size": 8, "request_rate": 2}, PerfOptions(pressure_s=15.0), ClosedLoad(8, starts_per_s=2.0)),
    ],
)
def test_when_requests_are_sent(
    edited: dict[str, Any], asked: PerfOptions, shape: ClosedLoad | OpenLoad
) -> None:
    load = perf_plan(model(**edited), 100, asked, has_times=False).load
    assert load.shape == shape
    is_pressed = asked.pressure_s is not None
    assert (load.n, load.seconds) == ((None, 15.0) if is_pressed else (100, None))
    assert load.goes_round is is_pressed


def test_times_of_a_trace_count_more_than_a_rate_and_bound_nothing() -> None:
    traced = model(batch_size=2, request_rate=5, use_timestamp=True)
    assert perf_plan(traced, 9, PerfOptions(), has_times=True).load.shape == OpenLoad(TraceArrivals())
    pressed = perf_plan(traced, 9, PerfOptions(pressure_s=1.0), has_times=True).load.shape
    assert pressed == ClosedLoad(2, starts_per_s=5.0)
    without = model(batch_size=2, use_timestamp=False)
    assert perf_plan(without, 9, PerfOptions(), has_times=True).load.shape == ClosedLoad(2)


def test_how_answers_are_written() -> None:
    drawn = model(
        max_out_len=77, generation_kwargs={"temperature": 0.5, "top_p": 0.9, "seed": 4, "stop": ["x"]}
    )
    message = perf_plan(drawn, 1, PerfOptions(), has_times=False).load.sampling
    assert message == Sampling(77, 0.5, 0.9, ("x",), 4)
    longer = perf_plan(drawn, 1, PerfOptions(max_out_len=5), has_times=False).load.sampling
    assert longer.max_tokens == 5


def test_what_the_config_does_not_say_is_left_to_the_server() -> None:
    silent = model(generation_kwargs={"ignore_eos": True})
    assert client_args(silent)["decoding"] == '{"ignore_eos": true}'
    message = model(generation_kwargs={"temperature": 0.5, "top_p": 0.9})
    assert client_args(message)["decoding"] == '{"temperature": 0.5, "top_p": 0.9}'


def test_items_are_messages_or_texts_and_as_long_as_asked() -> None:
    chat = build_item_settings(model(), RunSettings(), PerfOptions(num_prompts=3, max_out_len=9, seed=2))
    assert (chat.is_chat, chat.at_most, chat.n, chat.seed) == (True, 3, None, 2)
    assert chat.output == ConstantLength(9)
    text = build_item_settings(model("vllm_api_general_stream", path="/tok"), RunSettings(), PerfOptions())
    assert (text.is_chat, text.tokenizer, text.output) == (False, "/tok", None)


@pytest.mark.parametrize(
    ("edited", "asked", "has_times", "message"),
    [
        ({"traffic_cfg": RAMP}, PerfOptions(), False, "the ramp also applies without a request_rate"),
        ({"use_timestamp": True}, PerfOptions(), False, "has no times"),
        ({"use_timestamp": True}, PerfOptions(), True, "at the times of the trace"),
        ({"use_timestamp": True}, PerfOptions(pressure_s=1), True, "--pressure starts clients evenly"),
        ({"stream": False}, PerfOptions(), False, "stream is off"),
    ],
)
def test_what_a_person_may_not_expect_is_said(
    edited: dict[str, Any], asked: PerfOptions, has_times: bool, message: str
) -> None:
    (note,) = perf_notes(model(**edited), asked, has_times=has_times)
    assert message in note


def test_nothing_is_said_of_a_usual_load() -> None:
    assert not list(perf_notes(model(), PerfOptions(), has_times=True))
