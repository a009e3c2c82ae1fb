"""Opens the model that a run asks: in this process, in workers beside it, or in workers on a cluster."""

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
from assay.backends.registry import SERVERS, open_backend, open_pinned
from assay.backends.workers.gpus import VISIBLE, assign_gpus, list_gpus
from assay.backends.workers.pool import WorkersBackend
from assay.backends.workers.resource_shares import Placement
from assay.backends.workers.worker_group import WorkerGroup
from assay.backends.workers.worker_process import ProcessWorkerGroup, python_path
from assay.core.errors import Problem, UsageError, suggest_name
from assay.core.ports import Backend

RAY = "ray"
WORKER_COMMAND = ("-m", "assay.app.worker")
"""What Python is told to run as a worker."""
_THREADS = "OMP_NUM_THREADS"


def open_model(values: RunSettings) -> Backend:
    """Return the model of a run, wherever it is to answer. Checks files and packages; loads nothing."""
    if values.workers is None and values.on is None:
        _reject_placement(values.model_args)
        return open_backend(values.model, values.model_args, concurrency=values.concurrency)
    name = values.model.partition(":")[0]
    if name in SERVERS:
        flag = "--workers" if values.on is None else "--on"
        what = f"{flag}: the model {values.model!r} is a server, which answers many calls by itself"
        fix = f"leave {flag} away; --concurrency N says how many calls are under way"
        raise UsageError(Problem("WORKER-001", what, fix))
    placement, args = _split_placement(values.model_args)
    model = open_backend(values.model, args, concurrency=values.concurrency)

    @cache
    def setup() -> bytes:
        # A worker may see another device than the run and choose another number type: the run's is told.
        identity = model.identity()
        told = {**args, "dtype": identity.dtype} if identity.dtype else args
        if values.on is None and isinstance(model, LocalModel):
            # Once, here, where progress is shown, and not by every worker at a time.
            model.fetch()
        return msgspec.msgpack.encode(WorkerSetup(values.model, told, values.offline, identity.commit))

    if values.on is None:
        crew: WorkerGroup = _build_process_workers(values, placement, args, setup)
    else:
        crew = _build_ray_workers(values, placement, args, setup)
    return WorkersBackend(model, crew, silence_s=values.worker_timeout)


def _reject_placement(args: Mapping[str, str]) -> None:
    """Raise where workers are told what they get, and there are none."""
    for name in Placement.__struct_fields__:
        if name in args:
            what = f"{name}={args[name]} says what each worker is given, and this run has no workers"
            raise UsageError(Problem("WORKER-002", what, "add --workers N or --on ray, or leave it away"))


def open_in_process(model: str, args: Mapping[str, str], *, commit: str | None = None) -> Backend:
    """Return a model in this process, whatever its arguments say of where workers with it are put.

    `commit`: of a hub repository, where a run has resolved it already.
    """
    return open_pinned(model, _split_placement(args)[1], commit)


def _split_placement(given: Mapping[str, str]) -> tuple[Placement, dict[str, str]]:
    """Part what says where workers are from the arguments of the model."""
    names = Placement.__struct_fields__
    placement = read_arguments("a worker", Placement, {k: v for k, v in given.items() if k in names})
    return placement, {k: v for k, v in given.items() if k not in names}


def _n_gpus(placement: Placement, args: Mapping[str, str]) -> float | None:
    """Return the GPUs of a worker: as many as were named, or as its engine is spread over; None: not said."""
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
        around = {"PYTHONPATH": python_path()}
        if placement.num_cpus is not None or _THREADS not in os.environ:
            # Workers that each took all processors would wait for one another.
            around[_THREADS] = str(n_threads)
        if gpus:
            around[VISIBLE] = ",".join(assign_gpus(gpus, place, n_each))
        return around

    return ProcessWorkerGroup([sys.executable, *WORKER_COMMAND], setup, n, surroundings)


def _count_gpus_per_worker(n_each: float | None, n_workers: int, n_here: int) -> int:
    """Return the GPUs of each worker on this machine. Workers share one, but not several."""
    if n_each is None:
        return min(1, n_here)
    if n_each != int(n_each):
        what = f"num_gpus={n_each:g}: on this machine workers have whole GPUs"
        raise UsageError(Problem("WORKER-002", what, "share one by more --workers than there are GPUs"))
    n_needed = n_each * n_workers if n_each > 1 else n_each
    if n_needed > n_here:
        what = f"{n_workers} x {n_each:g} GPUs are asked for, and this machine has {n_here}"
        fix = "ask for fewer: --workers, num_gpus, or tensor_parallel_size and pipeline_parallel_size"
        raise UsageError(Problem("WORKER-002", what, fix))
    return int(n_each)


# --- on a cluster ---


def _build_ray_workers(
    values: RunSettings, placement: Placement, args: dict[str, str], setup: Callable[[], bytes]
) -> WorkerGroup:
    kind, _, address = (values.on or "").partition(":")
    if kind != RAY:
        what = f"--on {values.on}: there is no such place{suggest_name(kind, [RAY])}"
        raise UsageError(Problem("WORKER-003", what, "write --on ray, or --on ray:ADDRESS"))
    if values.offline:
        what = "--offline and --on ray: workers on a cluster cannot be kept offline from here"
        fix = "use --workers N on this machine, or leave --offline away"
        raise UsageError(Problem("WORKER-003", what, fix))
    if "://" in address:
        what = f"--on {values.on}: the address is one of Ray's client, over which no workers are had"
        fix = "run on a node of the cluster, and write --on ray, or --on ray:HOST:PORT"
        raise UsageError(Problem("WORKER-003", what, fix))
    from assay.backends.workers.ray_workers import RayWorkerGroup

    is_threads_said = placement.num_cpus is None and _THREADS in os.environ
    return RayWorkerGroup(
        address or None,
        WORKER_COMMAND,
        setup,
        {_THREADS: os.environ[_THREADS]} if is_threads_said else {},
        n=values.workers,
        num_gpus=_n_gpus(placement, args),
        num_cpus=placement.num_cpus,
        uses_gpu=values.model.partition(":")[0] != "mock" and args.get("device", "auto") != "cpu",
    )
