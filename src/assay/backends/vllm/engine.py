"""vLLM's engine in this process. The only file that imports vllm.

Prompts are passed as tokens, never as texts. The engine computes in this process: so it needs no sockets,
ends with the run, and its errors are exceptions here. `VLLM_ENABLE_V1_MULTIPROCESSING=1` gives it a process
of its own, as does distribution over several GPUs.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from assay.backends.hf.batching import is_out_of_memory
from assay.backends.local.adapter_files import Adapter
from assay.backends.problems import load_error, out_of_memory_error
from assay.backends.vllm.log_file import EngineLog, open_engine_log
from assay.backends.vllm.token_engine import (
    AskRejected,
    EngineAnswer,
    EngineAsk,
    ReadAnswer,
    ReadAsk,
    WriteAnswer,
    WriteAsk,
)
from assay.core.errors import BackendError


def convert_read_output(output: Any, ask: ReadAsk) -> ReadAnswer:
    """Return the log-probabilities in a finished RequestOutput with flat logprobs.

    Older runners return a row for every token of the prompt and leave the rows of cached tokens
    uninitialised. Newer ones return only the computed rows. So rows are counted from the end, and are valid
    only if scoring began after the cached tokens.
    """
    written = output.outputs[0]
    flat = written.logprobs
    n_cached = int(output.num_cached_tokens or 0)
    # The sampled token comes first, and again if it was requested.
    by_id = dict(zip(flat.token_ids, flat.logprobs, strict=True))
    next_logprobs = {id_: by_id[id_] for id_ in ask.next_ids}
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


_ENVIRONMENT = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_NO_USAGE_STATS": "1",
    # One token more than the model's context: it is sampled and never read. So a window may fill the context.
    "VLLM_ALLOW_LONG_MAX_MODEL_LEN": "1",
}
CPU_BLOCK = 32
"""Tokens in a block on a CPU: the minimum that its attention computes well. vLLM's own default, 128, would
share too little."""
CPU_KV_GIB = 4.0
_LORA_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""Maximum ranks that vLLM supports."""


class VllmEngine:
    """An engine with a loaded model."""

    def __init__(self, engine: Any, log: EngineLog, lora: Any = None, *, reads_own: bool = True) -> None:
        self._engine = engine
        self._log = log
        self._lora = lora
        self.reads_own = reads_own
        self._asks: dict[str, EngineAsk] = {}
        self.max_sequences = int(engine.vllm_config.scheduler_config.max_num_seqs)
        self.shares = bool(engine.vllm_config.cache_config.enable_prefix_caching)

    @property
    def end_ids(self) -> list[int]:
        """Return the tokens that end a text, from the model's configuration."""
        model = self._engine.vllm_config.model_config
        values = [getattr(model.hf_config, "eos_token_id", None)]
        with suppress(OSError, ValueError):
            values.append((model.try_get_generation_config() or {}).get("eos_token_id"))
        lists = [ids if isinstance(ids, list) else [ids] for ids in values]
        return [id_ for ids in lists for id_ in ids if id_ is not None]

    def add(self, number: int, ask: EngineAsk) -> None:
        """Accept a request under a number; raise AskRejected if it is invalid."""
        from vllm.inputs.engine import tokens_input

        salt = ask.salt or None if isinstance(ask, ReadAsk) else None
        prompt = tokens_input(list(ask.prompt), cache_salt=salt)
        try:
            self._engine.add_request(str(number), prompt, _parameters(ask), lora_request=self._lora)
        except ValueError as trouble:  # All of vLLM's checks raise subclasses of it.
            raise AskRejected(_first_line(trouble)) from trouble
        self._asks[str(number)] = ask

    def step(self) -> Sequence[tuple[int, EngineAnswer]]:
        """Compute one step for all requests; return the answers that are finished."""
        with self._translating_errors():
            outputs = [output for output in self._engine.step() if output.finished]
        answers: list[tuple[int, EngineAnswer]] = []
        for output in outputs:
            ask = self._asks.pop(output.request_id, None)
            if ask is None:  # Cancelled.
                continue
            answer: EngineAnswer = (
                convert_read_output(output, ask)
                if isinstance(ask, ReadAsk)
                else convert_write_output(output, ask)
            )
            answers.append((int(output.request_id), answer))
        return answers

    def drop(self, numbers: Sequence[int]) -> None:
        """Cancel unanswered requests."""
        names = [str(number) for number in numbers]
        for name in names:
            self._asks.pop(name, None)
        if self._engine is not None:
            self._engine.abort_request(names)

    def close(self) -> None:
        """Release the model and its processes."""
        with suppress(Exception):  # It may be gone already.
            self._engine.engine_core.shutdown()
        self._engine = None

    @contextmanager
    def _translating_errors(self) -> Iterator[None]:
        """Turn errors of the engine during computation into MODEL-005 or MODEL-006."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield
        except Exception as trouble:  # Kernels and other processes may raise anything.
            self._log.keep(trouble)
            raise _problem("vLLM's engine stopped", trouble, self._log) from trouble


def open_engine(
    source: Path,
    *,
    dtype: str,
    context_length: int | None,
    settings: Mapping[str, Any],
    adapter: Adapter | None,
) -> VllmEngine:
    """Return an engine with the model in a folder. `settings` are arguments of vLLM's engine."""
    log = open_engine_log()
    try:
        with log.capturing_output(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _build_engine(source, dtype, context_length, settings, adapter, log)
    except BackendError:
        raise
    except Exception as trouble:  # Loaders and a checkpoint's own code may raise anything.
        log.keep(trouble)
        raise _problem(f"{source} does not load", trouble, log) from trouble


def _build_engine(
    source: Path,
    dtype: str,
    context_length: int | None,
    settings: Mapping[str, Any],
    adapter: Adapter | None,
    log: EngineLog,
) -> VllmEngine:
    log.name()
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    # Without it, vLLM uses one thread on a CPU.
    os.environ.setdefault("OMP_NUM_THREADS", str(len(os.sched_getaffinity(0))))
    from vllm import EngineArgs, LLMEngine
    from vllm.lora.request import LoRARequest
    from vllm.platforms import current_platform

    more: dict[str, Any] = {}
    if current_platform.is_cpu():
        more = {"block_size": CPU_BLOCK, "enforce_eager": True}
        if "gpu_memory_utilization" not in settings and "VLLM_CPU_KVCACHE_SPACE" not in os.environ:
            more["kv_cache_memory_bytes"] = int(CPU_KV_GIB * 2**30)
    if adapter is not None:
        # With explicit layers vLLM leaves the head unchanged: with an adapter on the head, it cannot score a
        # prompt's own tokens.
        more |= {
            "enable_lora": True,
            "max_lora_rank": next((room for room in _LORA_RANKS if room >= adapter.rank), adapter.rank),
            "lora_target_modules": adapter.modules,
        }
    if context_length is not None:
        more["max_model_len"] = context_length + 1
    args = EngineArgs(
        model=str(source), dtype=dtype, disable_log_stats=True, use_tqdm_on_load=False, **{**more, **settings}
    )
    with _without_sockets(args):
        engine = LLMEngine.from_engine_args(args)
    if current_platform.is_cpu():
        _sum_exactly(engine)
        if args.enforce_eager:
            _compile_nothing()
    if adapter is None:
        return VllmEngine(engine, log)
    changes_head = adapter.modules is None or "lm_head" in adapter.modules
    request = LoRARequest("adapter", 1, str(adapter.folder))
    return VllmEngine(engine, log, request, reads_own=not changes_head)


@contextmanager
def _without_sockets(args: Any) -> Iterator[None]:
    """Keep torch's process groups from opening sockets if the run is offline.

    A group of one process communicates with nobody, but opens a socket.
    """
    is_alone = args.tensor_parallel_size * args.pipeline_parallel_size == 1
    if os.environ.get("HF_HUB_OFFLINE") != "1" or not is_alone:
        yield
        return
    import torch.distributed as groups
    from torch.testing._internal.distributed import fake_pg

    assert fake_pg  # Its import registers the backend "fake".
    originals = {name: getattr(groups, name) for name in ("init_process_group", "new_group")}

    def silent(name: str) -> Any:
        return lambda *given, **named: originals[name](*given, **{**named, "backend": "fake"})

    for name in originals:
        setattr(groups, name, silent(name))
    try:
        yield
    finally:
        for name, function in originals.items():
            setattr(groups, name, function)


def _sum_exactly(engine: Any) -> None:
    """Give the sampler of an engine on a CPU a log-softmax that is exact to the last digits of fp32.

    torch's own adds up the vocabulary one by one there, which shifts each token's log-probability by about
    1e-5 in the same direction. An engine in other processes cannot be changed, and keeps it.
    """
    worker = getattr(getattr(engine, "model_executor", None), "driver_worker", None)
    sampler = getattr(getattr(worker, "model_runner", None), "sampler", None)
    if sampler is not None:
        sampler.compute_logprobs = _log_softmax


def _compile_nothing() -> None:
    """Prevent torch from compiling the parts of vLLM's sampler that are compiled even in eager mode.

    On a CPU this needs a compiler and half a minute, and saves less.
    """
    import torch._dynamo

    torch._dynamo.config.disable = True


def _log_softmax(logits: Any) -> Any:
    logits = logits.float()
    return logits - logits.logsumexp(dim=-1, keepdim=True)


def _parameters(ask: EngineAsk) -> Any:
    from vllm import SamplingParams
    from vllm.sampling_params import RequestOutputKind

    if isinstance(ask, ReadAsk):
        # Use the cache: vLLM would skip it, because cached tokens have no rows. These rows are not needed.
        return SamplingParams(
            max_tokens=1,
            temperature=0.0,
            logprob_token_ids=list(ask.next_ids),
            prompt_logprobs=None if ask.first is None else 0,
            flat_logprobs=True,
            skip_reading_prefix_cache=False,
            detokenize=False,
            output_kind=RequestOutputKind.FINAL_ONLY,
            skip_clone=True,
        )
    return SamplingParams(
        max_tokens=ask.max_tokens,
        temperature=ask.temperature,
        top_p=ask.top_p,
        seed=ask.seed,
        stop=list(ask.stop),
        stop_token_ids=sorted(ask.end_ids),
        # Text is needed only if a string may stop it; otherwise it is decoded from the tokens.
        detokenize=bool(ask.stop),
        output_kind=RequestOutputKind.FINAL_ONLY,
        skip_clone=True,
    )


def _problem(what: str, trouble: Exception, log: EngineLog) -> BackendError:
    message = f"{what}: {type(trouble).__name__}: {_first_line(trouble)}; vLLM's log is {log.path}"
    words = str(trouble).lower()
    if is_out_of_memory(trouble) or "memory" in words:
        return out_of_memory_error(
            message,
            "set context_length=N for shorter texts, kv_cache_gib or gpu_memory_utilization for another "
            "amount of memory, or tensor_parallel_size for more GPUs",
        )
    if "trust_remote_code" in words:
        return load_error(
            message,
            "the model needs its own code; if you trust it, add --model-arg trust_remote_code=true",
        )
    return load_error(message, "check that the installed vLLM supports this model and its arguments")


def _first_line(trouble: Exception) -> str:
    return (str(trouble).strip() or type(trouble).__name__).splitlines()[0]
