from __future__ import annotations

import asyncio
import functools
import re
import threading
from collections.abc import Callable
from typing import Any

import pytest

from assay.backends.python.function import FunctionBackend
from assay.core.errors import BackendError
from assay.core.prompt import Message, Prompt
from assay.core.request import Generate, Kind, Request, Sampling, make_request
from assay.core.response import Completion, Failure, Finish, Response

CHAT = (Message("system", "Be brief."), Message("user", "1+1="))


def requests(*prompts: Prompt, **sampling: Any) -> list[Request]:
    return [
        make_request("t", f"s{at}", "gen", "answer", 0, Generate(prompt, Sampling(**sampling)))
        for at, prompt in enumerate(prompts)
    ]


def run(function: Callable[..., Any], sent: list[Request], **args: str) -> dict[str, Response]:
    backend = FunctionBackend("python:f", function, args)
    return {response.request_id: response for response in backend.run(sent)}


def texts(function: Callable[..., Any], sent: list[Request], **args: str) -> list[str]:
    answered = run(function, sent, **args)
    outcomes = [answered[request.id].outcome for request in sent]
    assert all(isinstance(outcome, Completion) for outcome in outcomes), outcomes
    return [one.text for outcome in outcomes if isinstance(outcome, Completion) for one in outcome.outputs]


def failure(function: Callable[..., Any], **args: str) -> Failure:
    (response,) = run(function, requests("q"), **args).values()
    assert isinstance(response.outcome, Failure)
    return response.outcome


def test_a_prompt_arrives_as_one_text() -> None:
    assert texts(lambda prompt: prompt.upper(), requests("a", CHAT)) == ["A", "BE BRIEF.\n\n1+1="]


def test_messages_arrive_as_dicts() -> None:
    def answer(messages: list[dict[str, str]]) -> str:
        return "|".join(f"{one['role']}:{one['content']}" for one in messages)

    assert texts(answer, requests(CHAT, "plain")) == ["system:Be brief.|user:1+1=", "user:plain"]


def test_several_prompts_arrive_in_batches() -> None:
    sizes = []

    def answer(prompts: list[str]) -> list[str]:
        sizes.append(len(prompts))
        return [prompt[::-1] for prompt in prompts]

    assert texts(answer, requests("ab", "cd", "ef"), batch_size="2") == ["ba", "dc", "fe"]
    assert sizes == [2, 1]


def test_conversations_arrive_in_batches() -> None:
    def answer(batch: list[list[dict[str, str]]]) -> list[str]:
        return [messages[-1]["content"] for messages in batch]

    assert texts(answer, requests(CHAT, CHAT)) == ["1+1=", "1+1="]


def test_an_async_function_answers_several_prompts_at_once() -> None:
    gate = asyncio.Barrier(3)

    async def answer(prompt: str) -> str:
        await gate.wait()
        return prompt

    assert texts(answer, requests("a", "b", "c")) == ["a", "b", "c"]


def test_a_function_runs_on_as_many_threads_as_set() -> None:
    barrier = threading.Barrier(3, timeout=60)

    def answer(prompt: str) -> str:
        barrier.wait()
        return prompt

    assert sorted(texts(answer, requests("a", "b", "c"), concurrency="3")) == ["a", "b", "c"]
    threads = set()

    def remember(prompt: str) -> str:
        threads.add(threading.get_ident())
        return prompt

    texts(remember, requests("a", "b"))
    assert threads == {threading.get_ident()}


def test_sampling_parameters_arrive_if_the_function_names_them() -> None:
    def answer(prompt: str, max_tokens: int, *, temperature: float = 1.0) -> str:
        return f"{max_tokens} {temperature}"

    assert texts(answer, requests("a", max_tokens=7, temperature=0.5, n=2)) == ["7 0.5", "7 0.5"]


def test_a_text_ends_at_the_first_stop_string() -> None:
    (response,) = run(lambda prompt: "42\n\nQuestion: 3", requests("q", stop=("\n\n",))).values()
    assert isinstance(response.outcome, Completion)
    assert response.outcome.outputs[0].text == "42"
    assert response.outcome.outputs[0].finish is Finish.STOP


def test_an_exception_fails_the_sample_and_names_its_place() -> None:
    def answer(prompt: str) -> str:
        raise ValueError("no such key")

    failed = failure(answer)
    assert failed.kind == "raised"
    assert failed.message.startswith("ValueError: no such key (")
    assert "test_function.py line " in failed.message


def test_an_exception_of_one_prompt_does_not_stop_the_others() -> None:
    def answer(prompt: str) -> str:
        return str(1 // int(prompt))

    answered = run(answer, requests("1", "0", "1"))
    assert [type(one.outcome) for one in answered.values()] == [Completion, Failure, Completion]


def test_exits_in_a_function_are_failures_and_an_interrupt_is_not() -> None:
    def leave(prompt: str) -> str:
        raise SystemExit(3)

    assert failure(leave).message.startswith("SystemExit: 3")


@pytest.mark.parametrize(
    ("reply", "what", "fix"),
    [
        (None, "returned None", "add a return statement"),
        (42, "returned int 42", "return the text of the answer"),
        (["a"], r"returned list \['a'\]", "declare that it takes several prompts"),
    ],
)
def test_a_reply_that_is_no_text_fails_the_sample(reply: Any, what: str, fix: str) -> None:
    failed = failure(lambda prompt: reply)
    assert failed.kind == "wrong_type"

    assert re.search(rf"python:f must return a str, but {what}.*Fix: .*{fix}", failed.message)


def test_a_coroutine_of_a_plain_function_is_no_text() -> None:
    async def slow(prompt: str) -> str:
        return prompt

    assert "declare the function itself with async def" in failure(lambda prompt: slow(prompt)).message


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ("ab", "must return a list of str, but returned str 'ab'"),
        (["a", "b"], "returned 2 texts for 1 prompts"),
        ([3], "must return a list of str, but item 0 is int 3"),
    ],
)
def test_a_batch_needs_one_text_for_each_prompt(reply: Any, message: str) -> None:
    def answer(prompts: list[str]) -> Any:
        return reply

    assert message in failure(answer).message


def test_a_function_reports_no_probabilities() -> None:
    card = FunctionBackend("python:f", lambda prompt: "", {}).card
    assert card.kinds == {Kind.GENERATE}
    assert "not the probability" in card.cannot[Kind.SPAN]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda: "a", "takes no positional argument"),
        (lambda prompt, key: "a", "needs more than a prompt: 'key'"),
    ],
)
def test_functions_that_cannot_receive_a_prompt_are_errors(function: Any, message: str) -> None:
    with pytest.raises(BackendError, match=rf"PYTHON-003.*{message}"):
        FunctionBackend("python:f", function, {})


def test_bound_arguments_and_callable_objects() -> None:
    def answer(prompt: str, key: str) -> str:
        return key + prompt

    class Model:
        async def __call__(self, prompt: str) -> str:
            return prompt

    assert texts(functools.partial(answer, key="k"), requests("a")) == ["ka"]
    assert texts(Model(), requests("a")) == ["a"]


def test_arguments_are_checked() -> None:
    with pytest.raises(BackendError, match=r"MODEL-002.*a function has no argument 'dtype'"):
        FunctionBackend("python:f", lambda prompt: "", {"dtype": "float32"})


def test_a_version_identifies_a_function() -> None:
    named = FunctionBackend("python:f", lambda prompt: "", {"version": "2"})
    assert (named.identity().server, named.card.is_cacheable) == ("named", True)
    unnamed = FunctionBackend("python:f", lambda prompt: "", {})
    assert (unnamed.identity().server, unnamed.card.is_cacheable) == ("unknown", False)
    client = object()
    lost = [FunctionBackend("python:f", lambda prompt: f"{client}", {}) for _ in range(2)]
    assert lost[0].identity() != lost[1].identity()
    assert "its variable 'client' depends on a object" in lost[0].notes()[0]
