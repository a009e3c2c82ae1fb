"""Thoughts of local models: what the template asks for, and where the answer begins."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from assay.backends.hf.generation import Draft, EndDetector, begin_answer, new_draft
from assay.backends.local.thoughts import (
    HARMONY,
    ThoughtMaker,
    choose_switches,
    find_thought_marks,
    needs_no_switch,
    split_thought,
)
from assay.core.errors import BackendError
from assay.core.prompt import Message
from assay.core.request import Generate, Sampling, make_request
from assay.core.response import Finish
from assay.core.thinking import read_thinking
from fakes.thinking_templates import ALWAYS_OPEN, CHANNELS, SWITCHED

PLAIN = "{% for m in messages %}{{ m.content }}{% endfor %}"


def switches(template: str, thinking: str) -> dict[str, Any]:
    return choose_switches(read_thinking(thinking), template, "the model")


@pytest.mark.parametrize(
    ("template", "thinking", "expected"),
    [
        (SWITCHED, "on", {"enable_thinking": True}),
        (SWITCHED, "off", {"enable_thinking": False}),
        (SWITCHED, "512", {"enable_thinking": True}),
        (ALWAYS_OPEN, "on", {}),
        (ALWAYS_OPEN, "64", {}),
        (CHANNELS, "on", {}),
        (CHANNELS, "low", {"reasoning_effort": "low"}),
        (PLAIN, "off", {}),
        (SWITCHED + "{{ thinking_budget }}", "64", {"enable_thinking": True, "thinking_budget": 64}),
    ],
)
def test_a_setting_becomes_the_templates_own_variables(
    template: str, thinking: str, expected: dict[str, Any]
) -> None:
    assert switches(template, thinking) == expected


@pytest.mark.parametrize(
    ("template", "thinking", "words"),
    [
        (PLAIN, "on", "does not support thinking"),
        (PLAIN, "512", "does not support thinking"),
        (ALWAYS_OPEN, "off", "cannot switch thinking off"),
        (CHANNELS, "off", "use --thinking low"),
        (SWITCHED, "high", "no levels of effort"),
        ("{{ enable_thinking }}" + PLAIN, "64", "cannot end a thought"),
    ],
)
def test_what_a_template_does_not_support_is_an_error(template: str, thinking: str, words: str) -> None:
    with pytest.raises(BackendError, match="MODEL-021") as error:
        switches(template, thinking)
    assert words in str(error.value)


def test_off_for_a_model_that_never_thinks_only_deserves_a_note() -> None:
    assert needs_no_switch(read_thinking("off"), PLAIN)
    assert not needs_no_switch(read_thinking("off"), SWITCHED)
    assert not needs_no_switch(None, PLAIN)


@pytest.mark.parametrize(
    ("template", "opening", "closing"),
    [
        (SWITCHED, "<think>", "</think>"),
        ("{{ m.split('</think>') }}", "<think>", "</think>"),
        ("[THINK]", "[THINK]", "[/THINK]"),
        ("◁think▷", "◁think▷", "◁/think▷"),
        ("<seed:think>", "<seed:think>", "</seed:think>"),
        ("<|START_THINKING|>", "<|START_THINKING|>", "<|END_THINKING|>"),
        (PLAIN, None, None),
    ],
)
def test_marks_come_from_the_template(template: str, opening: str | None, closing: str | None) -> None:
    marks = find_thought_marks(template)
    assert (marks and marks.opening, marks and marks.closing) == (opening, closing)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<think>\na + b\n</think>\n\nB", ("a + b", "B")),
        ("a + b\n</think>\n\nB", ("a + b", "B")),
        ("<think>a + b", ("a + b", "")),
        ("<think></think>B", (None, "B")),
        ("B", (None, "B")),
        ("The tag <think> opens a thought and </think> closes it.", None),
        ("[THINK]x[/THINK]B", ("x", "B")),
        ("<|channel|>analysis<|message|>x<|end|><|start|>assistant<|channel|>final<|message|>B", ("x", "B")),
        ("<|channel|>analysis<|message|>x", ("x", "")),
    ],
)
def test_a_whole_text_is_split(text: str, expected: tuple[str | None, str] | None) -> None:
    assert split_thought(text) == (expected or (None, text))


@lru_cache(maxsize=1)
def tokenizer() -> Any:
    """Return SmolLM2's tokenizer with gpt-oss's special tokens."""
    pytest.importorskip("transformers", reason="the hf extra is not installed")
    from assay.backends.registry import open_backend

    loaded = open_backend("smollm2", {})._tokenizer  # type: ignore[attr-defined]
    loaded.add_special_tokens(
        {"additional_special_tokens": ["<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|return|>"]}
    )
    return loaded


def write(
    template: str, text: str, sampling: Sampling, *, prompt: str = "", budget: int | None = None
) -> tuple[Draft, EndDetector]:
    """Feed a text token by token, as a model would write it; return the draft."""
    maker = ThoughtMaker(tokenizer(), find_thought_marks(template), budget)
    request = make_request("t", "1", "gen", "answer", 0, Generate((Message("user", "?"),), sampling))
    prompt_ids = tuple(tokenizer().encode(prompt or "x", add_special_tokens=False))
    draft = new_draft(prompt_ids, sampling, None, "k", 0, thought=maker.make(request, prompt_ids))
    ending = EndDetector(tokenizer(), [tokenizer().convert_tokens_to_ids("<|return|>")])
    for token in tokenizer().encode(text, add_special_tokens=False):
        draft.ids.append(token)
        ending.check(draft)
        if draft.is_done:
            break
    return draft, ending


LONG = Sampling(max_tokens=200)
OPEN = {"prompt": "<|im_start|>assistant\n<think>\n"}


@pytest.mark.model
@pytest.mark.parametrize(
    ("template", "given", "text", "thought", "answer"),
    [
        (SWITCHED, {}, "<think>\nIs it A? No.\n</think>\n\nB<|im_end|>", "Is it A? No.", "B"),
        (SWITCHED, {}, "B<|im_end|>", None, "B"),
        (SWITCHED, {}, "<b>B</b><|im_end|>", None, "<b>B</b>"),
        (ALWAYS_OPEN, OPEN, "Is it A?</think>\n\nB<|im_end|>", "Is it A?", "B"),
        (
            CHANNELS,
            {"prompt": "<|start|>assistant"},
            "<|channel|>analysis<|message|>A?<|end|><|start|>assistant<|channel|>final<|message|>B<|return|>",
            "A?",
            "B",
        ),
        (CHANNELS, {}, "<|channel|>final<|message|>B<|return|>", None, "B"),
        (SWITCHED, {"prompt": "<think>\n\n</think>\n\n"}, "B<|im_end|>", None, "B"),
    ],
)
def test_the_answer_begins_after_the_thought(
    template: str, given: dict[str, Any], text: str, thought: str | None, answer: str
) -> None:
    output = write(template, text, LONG, **given)[0].output
    assert output is not None
    assert (output.reasoning, output.text, output.finish) == (thought, answer, Finish.END)
    assert (output.n_thinking_tokens > 0) == (thought is not None)
    assert output.n_thinking_tokens < output.n_tokens
    assert not output.is_cut_in_thought


@pytest.mark.model
@pytest.mark.parametrize(("template", "given"), [(SWITCHED, {}), (ALWAYS_OPEN, OPEN)])
def test_a_truncated_thought_is_no_answer(template: str, given: dict[str, Any]) -> None:
    opening = "" if given else "<think>"
    output = write(template, f"{opening}The answer is B. Or is it", Sampling(max_tokens=7), **given)[0].output
    assert output is not None
    assert output.is_cut_in_thought
    assert output.text == ""
    assert output.n_thinking_tokens == output.n_tokens == 7


@pytest.mark.model
def test_a_turn_that_ends_inside_its_thought_has_no_answer() -> None:
    output = write(SWITCHED, "<think>The answer is B.<|im_end|>", LONG)[0].output
    assert output is not None
    assert (output.text, output.finish, output.reasoning) == ("", Finish.END, "The answer is B.")


@pytest.mark.model
@pytest.mark.parametrize("stop", [("\n",), ("B",), ("</think>",)])
def test_stop_strings_are_searched_in_the_answer_only(stop: tuple[str, ...]) -> None:
    text = "<think>\nB or C\n</think>\n\nThe answer\nis B and more"
    output = write(SWITCHED, text + "<|im_end|>", Sampling(max_tokens=200, stop=stop))[0].output
    assert output is not None
    assert output.reasoning == "B or C"
    assert output.text == {"\n": "The answer", "B": "The answer\nis "}.get(
        stop[0], "The answer\nis B and more"
    )


@pytest.mark.model
def test_a_budget_ends_a_thought_and_leaves_room_for_the_answer() -> None:
    sampling = Sampling(max_tokens=4)
    thinking, ending = write(SWITCHED, "<think>" + "hmm " * 40, sampling, budget=10)
    assert thinking.needs_answer
    answering = begin_answer(thinking)
    assert tokenizer().decode(answering.prompt).endswith("\n</think>\n\n")
    assert answering.max_new == 4
    for token in tokenizer().encode("\n B it is, surely", add_special_tokens=False):
        answering.ids.append(token)
        ending.check(answering)
        if answering.is_done:
            break
    ending.take_answer(thinking, answering)
    assert thinking.output is not None
    assert thinking.output.n_thinking_tokens == 10
    assert thinking.output.text.startswith("B it")
    assert thinking.output.finish is Finish.LENGTH


@pytest.mark.model
def test_within_its_budget_only_the_answer_is_limited_by_max_tokens() -> None:
    text = "<think>" + "hmm " * 10 + "</think>" + "and so on " * 10
    output = write(SWITCHED, text, Sampling(max_tokens=6), budget=60)[0].output
    assert output is not None
    assert output.finish is Finish.LENGTH
    assert output.n_tokens - output.n_thinking_tokens == 6


@pytest.mark.model
@pytest.mark.parametrize("n_thought", [1, 40])
def test_an_engines_text_is_read_like_that_of_the_own_loop(n_thought: int) -> None:
    from assay.backends.vllm.backend import AnswerJob, WriteJob
    from assay.backends.vllm.token_engine import WriteAnswer

    sampling = Sampling(max_tokens=4, stop=("\n",))
    draft, ending = write(SWITCHED, "", sampling, budget=10)
    job = WriteJob(draft, ending)
    assert job.ask.stop == ()
    assert job.ask.max_tokens == 14
    text = "<think>" + "hmm " * n_thought + "</think>\n\nB\nand more"
    ids = tuple(tokenizer().encode(text, add_special_tokens=False)[:14])
    following = job.take(WriteAnswer(ids, "", is_stopped=False), 0.0)
    if n_thought == 40:
        [answering] = following
        assert isinstance(answering, AnswerJob)
        assert draft.needs_answer
        answer = tuple(tokenizer().encode("B\n", add_special_tokens=False))
        answering.take(WriteAnswer(answer, "B", is_stopped=True), 0.0)
        assert answering.draft is draft
    assert draft.output is not None
    assert draft.output.n_thinking_tokens <= 10 + 1
    assert draft.output.reasoning is not None
    assert draft.output.text == "B"


@pytest.mark.model
def test_a_begun_reply_and_a_plain_text_have_no_thought() -> None:
    maker = ThoughtMaker(tokenizer(), HARMONY, None)
    begun = (Message("user", "?"), Message("assistant", "The answer is"))
    for prompt in (begun, "plain"):
        request = make_request("t", "1", "gen", "answer", 0, Generate(prompt, LONG))
        assert maker.make(request, (1, 2)) is None
    assert maker.n_begun == 1


@pytest.mark.model
def test_the_embedded_model_thinks_with_a_budget_and_then_answers(tmp_path: Path) -> None:
    from assay.backends.registry import open_backend

    template = tmp_path / "thinks.jinja"
    template.write_text(ALWAYS_OPEN)
    args = {"chat_template": str(template), "thinking": "8", "dtype": "float32"}
    backend = open_backend("smollm2", args)
    prompts = [(Message("user", f"What is {n} + {n}?"),) for n in range(3)]
    requests = [
        make_request("t", str(n), "gen", "answer", 0, Generate(prompt, Sampling(max_tokens=4)))
        for n, prompt in enumerate(prompts)
    ]
    outputs = [response.outcome.outputs[0] for response in backend.run(requests)]  # type: ignore[union-attr]
    backend.close()
    assert [output.n_thinking_tokens for output in outputs] == [8, 8, 8]
    assert all(output.reasoning for output in outputs)
    assert any(output.text and output.n_tokens > 8 for output in outputs)
    assert backend.n_tokens(requests[0].ask) == backend.n_tokens(Generate(prompts[0], Sampling(max_tokens=4)))


@pytest.mark.model
def test_a_forced_answer_equals_that_of_an_independent_loop(tmp_path: Path) -> None:
    """Greedy in fp32: the budget's tokens, the closing mark, then the answer, one text at a time."""
    import torch
    from transformers import AutoModelForCausalLM

    from assay.backends.registry import open_backend

    template = tmp_path / "thinks.jinja"
    template.write_text(ALWAYS_OPEN)
    args = {"chat_template": str(template), "thinking": "6", "dtype": "float32", "max_batch": "2"}
    backend: Any = open_backend("smollm2", args)
    prompts = [(Message("user", f"Name {n} rivers of Europe."),) for n in range(2, 5)]
    asked = [
        make_request("t", str(n), "gen", "answer", 0, Generate(prompt, Sampling(max_tokens=5)))
        for n, prompt in enumerate(prompts)
    ]
    found = {response.request_id: response.outcome.outputs[0] for response in backend.run(asked)}
    model = AutoModelForCausalLM.from_pretrained(backend._source, dtype=torch.float32).eval()
    read = backend._tokenizer
    backend.close()

    def extend(ids: list[int], n: int) -> list[int]:
        for _ in range(n):
            with torch.no_grad():
                newest = int(model(input_ids=torch.tensor([ids])).logits[0, -1].argmax())
            ids = [*ids, newest]
            if newest in (0, 2):
                break
        return ids

    for request in asked:
        [message] = prompts[int(request.sample_id)]
        text = f"<|im_start|>user\n{message.content}<|im_end|>\n<|im_start|>assistant\n<think>\n"
        start = read.encode(text, add_special_tokens=False)
        thought = extend(start, 6)
        closed = thought + read.encode("\n</think>\n\n", add_special_tokens=False)
        answer = extend(closed, 5)[len(closed) :]
        output = found[request.id]
        assert output.reasoning == read.decode(thought[len(start) :]).strip()
        assert output.text == read.decode(answer, skip_special_tokens=True).lstrip()
        assert output.n_thinking_tokens == 6


@pytest.mark.model
@pytest.mark.parametrize("thinking", ["on", "off"])
def test_a_model_that_does_not_do_what_was_requested_is_noted(thinking: str, tmp_path: Path) -> None:
    from assay.backends.registry import open_backend

    template = tmp_path / "thinks.jinja"
    # This model does not know the marks: it never opens a thought, and "off" leaves one open.
    template.write_text(SWITCHED if thinking == "on" else SWITCHED.replace("\n\n</think>\n\n", "\n"))
    backend = open_backend("smollm2", {"chat_template": str(template), "thinking": thinking})
    ask = Generate((Message("user", "What is 2 + 2?"),), Sampling(max_tokens=4))
    list(backend.run([make_request("t", "1", "gen", "answer", 0, ask)]))
    notes = " ".join(backend.notes())
    backend.close()
    assert ("never thought" if thinking == "on" else "thought before 1 of 1 answers") in notes
