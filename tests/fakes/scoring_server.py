"""A server that scores by the real logits of a tiny model, in every protocol that servers have for it.

Configurable, so that it simulates vLLM, servers that repeat a prompt, and servers that return
the likeliest tokens alone.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

from fakes.loopback import on_loopback
from fakes.openai_server import Body, error

HALF = "\ufffd"


@dataclass(frozen=True)
class Powers:
    """What a server can do."""

    prompt_logprobs: bool = False
    least_echoed: int | None = None
    """The least max_tokens that it takes with echo; None: it does not repeat prompts."""
    max_logprobs: int = 20
    by_ids: bool = False
    is_refusing: bool = True
    """Whether it says no to fields that it does not have, or acts as if they were not there."""
    shows_halves: bool = False
    """Whether a part of a character is returned as such, or as nothing until the character is complete."""
    drops_spaces: bool = False
    """Whether the space in front of a word is lost, as where SentencePiece decodes tokens one by one."""
    content_form: bool = False
    """Whether completions have their logprobs in the form of chats, as llama.cpp's."""


VLLM = Powers(prompt_logprobs=True, least_echoed=0, by_ids=True)
ECHOING = Powers(least_echoed=1, max_logprobs=5)
LISTING = Powers(max_logprobs=1000, is_refusing=False, content_form=True)


@dataclass
class ScoringServer:
    """A model in a folder, and what it was asked."""

    folder: Path
    powers: Powers
    adds_bos: bool = False
    url: str = ""
    bodies: list[Body] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        from transformers import AutoModelForCausalLM, AutoTokenizer

        self._tokenizer: Any = AutoTokenizer.from_pretrained(self.folder)
        self._model: Any = AutoModelForCausalLM.from_pretrained(self.folder).eval()
        self._lock = threading.Lock()

    @property
    def model(self) -> str:
        return f"openai:tiny@{self.url}"

    # --- texts and numbers ---

    def ids_of(self, body: Body) -> list[int]:
        encode = self._tokenizer.backend_tokenizer.encode
        if "messages" in body:
            goes_on = body.get("continue_final_message", False)
            text = self._tokenizer.apply_chat_template(
                body["messages"],
                tokenize=False,
                add_generation_prompt=body.get("add_generation_prompt", True),
                continue_final_message=goes_on,
            )
            return list(encode(text, add_special_tokens=False).ids)
        lead = [self._tokenizer.bos_token_id] if self.adds_bos else []
        return [*lead, *encode(body["prompt"], add_special_tokens=False).ids]

    def logprobs(self, ids: list[int]) -> list[list[float]]:
        """For each token, how likely every token is behind it."""
        import torch

        with self._lock, torch.no_grad():
            logits = self._model(torch.tensor([ids])).logits[0]
            return list(torch.log_softmax(logits.double(), -1).tolist())

    def texts(self, ids: list[int]) -> list[str]:
        """The texts of a prompt's tokens."""
        if self.powers.shows_halves:
            return [self.text(id_) for id_ in ids]
        texts: list[str] = []
        before = ""
        for end in range(1, len(ids) + 1):
            text = self._tokenizer.decode(ids[:end])
            is_half = text.endswith(HALF)
            texts.append("" if is_half else text[len(before) :])
            before = before if is_half else text
        return [self._shown(text) for text in texts]

    def text(self, id_: int) -> str:
        return self._shown(self._tokenizer.decode([id_]))

    def _shown(self, text: str) -> str:
        return text.removeprefix(" ") if self.powers.drops_spaces and len(text) > 1 else text

    # --- replies ---

    async def answer(self, asked: web.Request) -> web.StreamResponse:
        body = json.loads(await asked.read())
        self.bodies.append(body)
        self.paths.append(asked.path)
        message = await asyncio.to_thread(self._said, asked.path, body)
        if isinstance(message, web.StreamResponse):
            return message
        return web.Response(body=json.dumps(message).encode(), content_type="application/json")

    def _said(self, path: str, body: Body) -> Any:
        if path == "/tokenize":
            return {"tokens": self.ids_of(body)} if self.powers.by_ids else error(404, "Not Found")
        if (why := self._refusal(body)) is not None:
            return error(400, why)
        ids = self.ids_of(body)
        numbers = self.logprobs(ids)
        written = max(range(len(numbers[-1])), key=numbers[-1].__getitem__)
        is_chat = "messages" in body
        reply: Body = {"usage": {"prompt_tokens": len(ids), "completion_tokens": 1}}
        choice: Body = {"index": 0, "finish_reason": "length"}
        choice |= {"message": {"content": self.text(written)}} if is_chat else {"text": self.text(written)}
        if self.powers.prompt_logprobs and body.get("prompt_logprobs") is not None:
            (reply if is_chat else choice)["prompt_logprobs"] = self._of_prompt(ids, numbers)
        n = body.get("top_logprobs") if is_chat else body.get("logprobs")
        if n is not None:
            top = self._top(numbers[-1], body, n, is_content=is_chat or self.powers.content_form)
            if is_chat or self.powers.content_form:
                choice["logprobs"] = {"content": [{"token": self.text(written), "top_logprobs": top}]}
            elif body.get("echo") and self.powers.least_echoed is not None:
                choice["logprobs"] = self._echoed(ids, numbers, written, body["max_tokens"])
            else:
                choice["logprobs"] = {
                    "tokens": [self.text(written)],
                    "token_logprobs": [numbers[-1][written]],
                    "top_logprobs": [top],
                }
        return {**reply, "choices": [choice]}

    def _refusal(self, body: Body) -> str | None:
        n = max(int(body.get("top_logprobs") or 0), int(body.get("logprobs") or 0))
        if n > self.powers.max_logprobs:
            return f"Requested sample logprobs of {n}, which is greater than max allowed"
        least = self.powers.least_echoed
        if body.get("echo") and least is not None and body["max_tokens"] < least:
            return "max_tokens must be at least 1"
        if not self.powers.is_refusing:
            return None
        if body.get("echo") and least is None:
            return "echo is not supported"
        if "prompt_logprobs" in body and not self.powers.prompt_logprobs:
            return "Unrecognized request argument supplied: prompt_logprobs"
        if "logprob_token_ids" in body and not self.powers.by_ids:
            return "Unrecognized request argument supplied: logprob_token_ids"
        return None

    def _of_prompt(self, ids: list[int], numbers: list[list[float]]) -> list[Any]:
        texts = self.texts(ids)
        reported: list[Any] = [None]
        for at, id_ in enumerate(ids[1:], 1):
            row = numbers[at - 1]
            rank = 1 + sum(other > row[id_] for other in row)
            reported.append({str(id_): {"logprob": row[id_], "rank": rank, "decoded_token": texts[at]}})
        return reported

    def _echoed(self, ids: list[int], numbers: list[list[float]], written: int, n_written: int) -> Body:
        every = [*ids, *([written] if n_written else [])]
        texts = [*self.texts(ids), *([self.text(written)] if n_written else [])]
        rows = [None, *numbers][: len(every)]
        tops: list[Any] = []
        for id_, text, row in zip(every, texts, rows, strict=True):
            if row is None:
                tops.append(None)
                continue
            best = max(range(len(row)), key=row.__getitem__)
            # Texts are no names of tokens that are a part of a character: the token's own comes last.
            tops.append({self.text(best) if best != id_ else text: row[best], text: row[id_]})
        return {
            "tokens": texts,
            "token_logprobs": [
                None if row is None else row[id_] for id_, row in zip(every, rows, strict=True)
            ],
            "top_logprobs": tops,
            "text_offset": [len("".join(texts[:at])) for at in range(len(texts))],
        }

    def _top(self, row: list[float], body: Body, n: int, *, is_content: bool) -> Any:
        by_ids = self.powers.by_ids and body.get("logprob_token_ids")
        ids = body["logprob_token_ids"] if by_ids else sorted(range(len(row)), key=lambda id_: -row[id_])[:n]
        name = (lambda id_: f"token_id:{id_}") if by_ids else self.text
        if not is_content:
            return {name(id_): row[id_] for id_ in reversed(ids)}
        return [{"token": name(id_), "logprob": row[id_], "bytes": list(name(id_).encode())} for id_ in ids]


@contextmanager
def scoring(folder: Path, powers: Powers = VLLM, *, adds_bos: bool = False) -> Iterator[ScoringServer]:
    """Serve a model at a free port until the block ends."""
    server = ScoringServer(folder, powers, adds_bos)
    app = web.Application(client_max_size=2**28)
    for path in ("/v1/chat/completions", "/v1/completions", "/tokenize"):
        app.router.add_post(path, server.answer)
    with on_loopback(app) as address:
        server.url = f"{address}/v1"
        yield server
