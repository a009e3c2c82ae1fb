"""Conversations with several turns, sent turn by turn.

The user's turns are known in advance, but the model's answers between them are not. So a request with turns
is sent as its first prompt, and again with the answer and the next turn appended, until all turns are
answered. Only then is there a response. Memory: the conversations in progress.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable, Iterator

import msgspec

from assay.core.billing import Bill
from assay.core.ports import Backend
from assay.core.prompt import Prompt, append_turn
from assay.core.request import Generate, Request
from assay.core.response import Completion, Failure, Finish, Outcome, Output, Response


class _Conversation(msgspec.Struct):
    """A conversation in progress."""

    request: Request
    ask: Generate
    prompt: Prompt
    """The conversation so far."""
    answers: list[Output]
    n_prompt_tokens: int = 0
    seconds: float = 0.0
    latency_s: float = 0.0
    first_s: float = 0.0
    bill: Bill | None = None

    def build_response(self, outcome: Outcome) -> Response:
        """Return the response to the whole conversation."""
        id_, key = self.request.id, self.request.key
        return Response(
            id_,
            key,
            outcome,
            self.seconds,
            latency_s=self.latency_s,
            first_s=self.first_s,
            bill=self.bill,
        )

    def join_answers(self) -> Completion:
        """Return all answers as one completion."""
        is_cut = any(answer.finish is Finish.LENGTH for answer in self.answers)
        output = msgspec.structs.replace(
            self.answers[-1],
            n_tokens=sum(answer.n_tokens for answer in self.answers),
            finish=Finish.LENGTH if is_cut else self.answers[-1].finish,
            turns=tuple(answer.text for answer in self.answers),
        )
        return Completion((output,), self.n_prompt_tokens)


class MultiTurnRunner:
    """Answers requests like the backend, including those with several turns."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._talks: dict[str, _Conversation] = {}
        self._unsent: deque[Request] = deque()
        """Turns that can be sent now."""

    @property
    def has_more_at_hand(self) -> bool:
        """Whether `run` can yield its next response without waiting; the answer to a turn may not be one."""
        return self._backend.has_more_at_hand and not self._talks

    def run(self, requests: Iterable[Request]) -> Generator[Response, None, None]:
        """Answer requests in any order."""
        for response in self._backend.run(self._feed(requests)):
            if self._talks:
                yield from self._settle_turn(response)
            else:
                yield response
        # The last answers arrived after the backend had stopped pulling requests.
        while self._unsent:
            for response in self._backend.run(list(self._pop_turns())):
                yield from self._settle_turn(response)

    def _feed(self, requests: Iterable[Request]) -> Iterator[Request]:
        for request in requests:
            if self._unsent:
                yield from self._pop_turns()
            if isinstance(request.ask, Generate) and request.ask.turns:
                yield self._build_turn(_Conversation(request, request.ask, request.ask.prompt, []))
            else:
                yield request
        yield from self._pop_turns()

    def _pop_turns(self) -> Iterator[Request]:
        while self._unsent:
            yield self._unsent.popleft()

    def _build_turn(self, talk: _Conversation) -> Request:
        """Return the request for the next answer of a conversation."""
        id_ = f"{talk.request.id}#{len(talk.answers)}"
        turn = msgspec.structs.replace(
            talk.request,
            id=id_,
            ask=Generate(talk.prompt, talk.ask.sampling, stop_ids=talk.ask.stop_ids),
            key="",
        )
        self._talks[id_] = talk
        return turn

    def _settle_turn(self, response: Response) -> Iterator[Response]:
        talk = self._talks.pop(response.request_id, None)
        if talk is None:
            yield response
            return
        talk.seconds += response.seconds
        talk.latency_s += response.latency_s
        talk.first_s = talk.first_s or response.first_s
        if response.bill is not None:
            talk.bill = response.bill if talk.bill is None else talk.bill.plus(response.bill)
        outcome = response.outcome
        if not isinstance(outcome, Completion):
            yield talk.build_response(_name_failed_turn(outcome, len(talk.answers) + 1))
            return
        talk.answers.append(outcome.outputs[0])
        talk.n_prompt_tokens += outcome.n_prompt_tokens
        if len(talk.answers) > len(talk.ask.turns):
            yield talk.build_response(talk.join_answers())
            return
        turn = talk.ask.turns[len(talk.answers) - 1]
        talk.prompt = append_turn(talk.prompt, outcome.outputs[0].text, turn)
        self._unsent.append(self._build_turn(talk))


def _name_failed_turn(outcome: Outcome, turn: int) -> Failure:
    if not isinstance(outcome, Failure):
        return Failure("no_text", f"turn {turn}: expected a text, got {type(outcome).__name__}")
    return msgspec.structs.replace(outcome, message=f"turn {turn}: {outcome.message}")
