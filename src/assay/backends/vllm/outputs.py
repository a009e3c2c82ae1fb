"""What vLLM's outputs say, in the words of `token_engine`. Imports nothing of vLLM."""

from __future__ import annotations

from typing import Any

from assay.backends.vllm.token_engine import ReadAnswer, ReadAsk, WriteAnswer, WriteAsk


def convert_read_output(output: Any, ask: ReadAsk) -> ReadAnswer:
    """Return the log-probabilities in a finished RequestOutput, whose logprobs are flat ones.

    Older runners list a row for every token of the prompt and leave those that were cached unwritten, with
    whatever the memory held; newer ones list the computed rows alone. So rows are counted from the end, and
    hold only where reading began behind what was cached.
    """
    written = output.outputs[0]
    flat = written.logprobs
    n_cached = int(output.num_cached_tokens or 0)
    # The sampled token stands first, and again where it was asked for.
    found = dict(zip(flat.token_ids, flat.logprobs, strict=True))
    next_logprobs = {id_: found[id_] for id_ in ask.next_ids}
    first_choice = int(written.token_ids[0])
    if ask.first is None:
        return ReadAnswer(next_logprobs, first_choice, (), (), n_cached)
    rows = output.prompt_logprobs
    n = ask.n_own
    is_whole = n_cached <= ask.first and tuple(rows.token_ids[-n:]) == ask.prompt[-n:]
    if not is_whole:
        return ReadAnswer(next_logprobs, first_choice, None, (), n_cached)
    is_top = [rank == 1 for rank in rows.ranks[-n:]]
    return ReadAnswer(next_logprobs, first_choice, rows.logprobs[-n:], is_top, n_cached)


def convert_write_output(output: Any, ask: WriteAsk) -> WriteAnswer:
    """Return the text in a finished RequestOutput."""
    written = output.outputs[0]
    is_stopped = written.finish_reason == "stop" and isinstance(written.stop_reason, str)
    return WriteAnswer(
        tuple(written.token_ids), written.text or "", is_stopped, int(output.num_cached_tokens or 0)
    )
