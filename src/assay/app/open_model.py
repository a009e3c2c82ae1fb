"""Open the model of a run: in this process, in local workers, or in workers on a cluster."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from functools import cache

import msgspec

from assay.app.settings import RunSettings
from assay.app.worker import WorkerSetup
from assay.backends.arguments import read_arguments
from assay.backends.local.local_model import LocalModel
from assay.backends.problems import argument_error, thinking_error
from assay.backends.registry import LOCAL, SERVERS, THINKING, open_backend, open_pinned
from assay.backends.workers.gpus import VISIBLE, assign_gpus, list_gpus
from assay.backends.workers.messages import WorkerGroup
from assay.backends.workers.pool import WorkersBackend
from assay.backends.workers.resource_shares import Placement
from assay.backends.workers.worker_process import ProcessWorkerGroup, python_path
from assay.core.errors import Problem, UsageError, listing, suggest_name
from assay.core.ports import Backend
from assay.core.python_objects import is_python_name
from assay.core.run import Setting

RAY = "ray"
WORKER_COMMAND = ("-m", "assay.app.worker")
"""Python arguments that start a worker."""
_THREADS = "OMP_NUM_THREADS"


def open_model(values: RunSettings) -> Backend:
    """Return the model of a run, wherever it runs. Checks files and packages; loads nothing."""
    values = _set_batch(_set_thinking(values))
    if values.workers is None and values.on is None:
        _reject_placement(values.model_args)
        return open_backend(values.model, values.model_args, concurrency=values.concurrency)
    name = values.model.partition(":")[0]
    if name in SERVERS:
        flag = "--workers" if values.on is None else "--on"
        what = f"{flag}: the model {values.model!r} is a server, which handles concurrent requests itself"
        fix = f"remove {flag}; --concurrency N sets the maximum number of concurrent requests"
        raise UsageError(Problem("WORKER-001", what, fix))
    if is_python_name(values.model):
        flag = "workers" if values.on is None else "on"
        what = f"{flag}: the model {values.model!r} is an object of this process, which workers cannot use"
        fix = f"remove {flag}; concurrency=N calls a function on several threads"
        raise UsageError(Problem("WORKER-001", what, fix))
    placement, args = _split_placement(values.model_args)
    model = open_backend(values.model, args, concurrency=values.concurrency)

    @cache
    def setup() -> bytes:
        # A worker may see another device and choose another dtype: pass the run's.
        identity = model.identity()
        worker_args = {**args, "dtype": identity.dtype} if identity.dtype else args
        if values.on is None and isinstance(model, LocalModel):
            # Download once, here, with progress, not in every worker.
            model.fetch()
        return msgspec.msgpack.encode(WorkerSetup(values.model, worker_args, values.offline, identity.commit))

    if values.on is None:
        workers: WorkerGroup = _build_process_workers(values, placement, args, setup)
    else:
        workers = _build_ray_workers(values, placement, args, setup)
    return WorkersBackend(model, workers, silence_s=values.worker_timeout)


def _set_thinking(values: RunSettings) -> RunSettings:
    """Return the settings with the model arguments that `--thinking` and `--fidelity` set."""
    name = values.model.partition(":")[0]
    args = values.model_args
    if values.thinking is not None:
        if name not in THINKING:
            what = (
                f"--thinking {values.thinking}: {name} has no chat template, so it cannot be asked to think"
            )
            known = [one for one in THINKING if one != "python"]
            raise thinking_error(what, f"remove --thinking, or choose one of: {listing(known)}")
        if args.get("thinking", values.thinking) != values.thinking:
            what = f"--thinking {values.thinking} and the model argument thinking={args['thinking']} differ"
            raise argument_error(what, "use only one of them")
        args = {**args, "thinking": values.thinking}
    elif values.fidelity == "faithful" and name in (*LOCAL, "openai") and "thinking" not in args:
        # The originals score whatever a model writes, including its thoughts.
        args = {"thoughts": "inline", **args}
    return msgspec.structs.replace(values, model_args=args)


def _set_batch(values: RunSettings) -> RunSettings:
    """Return the settings with the model argument that `--batch` sets."""
    if not values.batch:
        return values
    name = values.model.partition(":")[0]
    if name not in SERVERS:
        what = f"--batch: {name} is not a provider with a batch endpoint"
        raise argument_error(what, "remove --batch, or use openai:MODEL@URL or anthropic:MODEL")
    # A fresh run must not use the batches of an earlier one.
    args = {"batch": "new" if values.fresh else "resume", **values.model_args}
    return msgspec.structs.replace(values, model_args=args)


def _reject_placement(args: Mapping[str, str]) -> None:
    """Raise if arguments set the resources of workers but there are none."""
    for name in Placement.__struct_fields__:
        if name in args:
            what = f"{name}={args[name]} sets the resources of each worker, but this run has no workers"
            raise UsageError(Problem("WORKER-002", what, f"add --workers N or --on ray, or remove {name}"))


def open_recorded_model(settings: Mapping[str, Setting], commit: str | None) -> Backend:
    """Return the model of a stored run in this process, so that it reads prompts as in the run."""
    model, args = settings["model"].value, settings["model_args"].value
    if (thinking := settings.get("thinking")) is not None and thinking.value is not None:
        args = {**args, "thinking": thinking.value}
    return open_in_process(model, args, commit=commit)


def open_in_process(model: str, args: Mapping[str, str], *, commit: str | None = None) -> Backend:
    """Return a model in this process, ignoring arguments about the placement of workers.

    `commit`: the commit of a hub repository, if a run has already resolved it.
    """
    return open_pinned(model, _split_placement(args)[1], commit)


def _split_placement(given: Mapping[str, str]) -> tuple[Placement, dict[str, str]]:
    """Separate the placement of workers from the arguments of the model."""
    names = Placement.__struct_fields__
    placement = read_arguments("a worker", Placement, {k: v for k, v in given.items() if k in names})
    return placement, {k: v for k, v in given.items() if k not in names}


def _n_gpus(placement: Placement, args: Mapping[str, str]) -> float | None:
    """Return the GPUs of a worker: the given number, or the engine's parallel size; None: not given."""
    if placement.num_gpus is not None:
        return placement.num_gpus
    n = 1
    for name in ("tensor_parallel_size", "pipeline_parallel_size"):
        n *= int(args.get(name, "1"))
    return float(n) if n > 1 else None


# --- on this machine ---


def _build_process_workers(
    values: RunSettings, placement: Placement, args: dict[str, str], setup: Callable[[], bytes]
) -> WorkerGroup:
    n = values.workers or 1
    gpus = list_gpus()
    n_each = _count_gpus_per_worker(_n_gpus(placement, args), n, len(gpus))
    n_threads = int(placement.num_cpus or max(1, len(os.sched_getaffinity(0)) // n))

    def surroundings(place: int) -> dict[str, str]:
        environment = {"PYTHONPATH": python_path()}
        if placement.num_cpus is not None or _THREADS not in os.environ:
            # Workers that each used all processors would slow each other down.
            environment[_THREADS] = str(n_threads)
        if gpus:
            environment[VISIBLE] = ",".join(assign_gpus(gpus, place, n_each))
        return environment

    return ProcessWorkerGroup([sys.executable, *WORKER_COMMAND], setup, n, surroundings)


def _count_gpus_per_worker(n_each: float | None, n_workers: int, n_here: int) -> int:
    """Return the GPUs of each worker on this machine. Workers can share one GPU, but not several."""
    if n_each is None:
        return min(1, n_here)
    if n_each != int(n_each):
        what = f"num_gpus={n_each:g}: workers on this machine need whole GPUs"
        raise UsageError(
            Problem("WORKER-002", what, "to share a GPU, set more --workers than there are GPUs")
        )
    n_needed = n_each * n_workers if n_each > 1 else n_each
    if n_needed > n_here:
        what = f"{n_workers} x {n_each:g} GPUs are needed, but this machine has {n_here}"
        fix = "reduce --workers, num_gpus, or tensor_parallel_size and pipeline_parallel_size"
        raise UsageError(Problem("WORKER-002", what, fix))
    return int(n_each)


# --- on a cluster ---


def _build_ray_workers(
    values: RunSettings, placement: Placement, args: dict[str, str], setup: Callable[[], bytes]
) -> WorkerGroup:
    kind, _, address = (values.on or "").partition(":")
    if kind != RAY:
        what = f"--on {values.on} is not supported{suggest_name(kind, [RAY])}"
        raise UsageError(Problem("WORKER-003", what, "write --on ray, or --on ray:ADDRESS"))
    if values.offline:
        what = "--offline cannot be combined with --on ray: Assay cannot block the network of a cluster"
        fix = "use --workers N on this machine, or remove --offline"
        raise UsageError(Problem("WORKER-003", what, fix))
    if "://" in address:
        what = f"--on {values.on}: Ray client addresses are not supported"
        fix = "run on a node of the cluster with --on ray or --on ray:HOST:PORT"
        raise UsageError(Problem("WORKER-003", what, fix))
    from assay.backends.workers.ray_workers import RayWorkerGroup

    has_thread_setting = placement.num_cpus is None and _THREADS in os.environ
    return RayWorkerGroup(
        address or None,
        WORKER_COMMAND,
        setup,
        {_THREADS: os.environ[_THREADS]} if has_thread_setting else {},
        n=values.workers,
        num_gpus=_n_gpus(placement, args),
        num_cpus=placement.num_cpus,
        uses_gpu=values.model.partition(":")[0] != "mock" and args.get("device", "auto") != "cpu",
    )
