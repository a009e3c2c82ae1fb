"""A Ray cluster, as far as workers need one: found or started, its nodes, and keepers on them.

The only file that speaks with Ray.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from assay.backends.problems import require_packages
from assay.backends.workers.messages import WorkerDied
from assay.backends.workers.node_proxy import NodeProxy, ProxyReport
from assay.backends.workers.resource_shares import Node, Share
from assay.core.errors import BackendError, Problem

RAY_EXTRA = "pip install 'assay-eval[ray]'"
_HEAR, _SAY, _END = "hear", "say", "end"
"""Calls of one group come in their order, and wait for none of another."""
_BOOTSTRAP = "~/ray_bootstrap_config.yaml"
"""What Ray's own launcher leaves on the head of a cluster that grows by itself."""
_FOUND_BY_RAY = ("auto", "local")
_PACKAGE = Path(__file__).resolve().parents[2]
"""The folder of Assay's own code."""
_ANSWERS_S = 10.0
_MOST_WORDS = 300
_COLOR = re.compile(r"\x1b\[[0-9;]*m")


class RayCluster:
    """A cluster that this process has joined."""

    def __init__(self, address: str | None) -> None:
        """Join the cluster at an address; None: the one that runs here, else one of its own for this run."""
        import ray

        self._ray = ray
        self._is_guest = ray.is_initialized()
        """Whether the program that asks had joined a cluster by itself: it stays there."""
        self.is_own = not self._is_guest and _join(ray, address)
        """Whether it was started for this run, and ends with it."""
        groups = {_HEAR: 1, _SAY: 1, _END: 1}
        self._keeper = ray.remote(concurrency_groups=groups, max_restarts=0, max_task_retries=0)(_ActorProxy)

    def nodes(self) -> list[Node]:
        """Return the nodes that are alive."""
        return [_node(one) for one in self._ray.nodes() if one["Alive"]]

    def may_grow(self) -> bool:
        """Whether somebody may bring nodes that are not there yet."""
        if self.is_own:
            return False
        if Path(_BOOTSTRAP).expanduser().is_file():
            return True
        told = getattr(self._ray._private.state.state, "get_max_resources_from_cluster_config", None)
        return bool(told is not None and told())

    def start_proxy(
        self, share: Share, command: Sequence[str], setup: bytes, around: dict[str, str]
    ) -> RayNodeProxy:
        """Begin to start a keeper with its worker wherever there is room."""
        placed = self._keeper.options(
            num_cpus=share.num_cpus, num_gpus=share.num_gpus, scheduling_strategy="SPREAD"
        )
        return RayNodeProxy(self._ray, placed.remote(tuple(command), setup, around, os.getcwd()))

    def leave(self) -> None:
        """Leave the cluster; one that was started for this run ends."""
        if not self._is_guest:
            self._ray.shutdown()


class RayNodeProxy:
    """A keeper somewhere on the cluster."""

    def __init__(self, ray: Any, actor: Any) -> None:
        self._ray = ray
        self._actor = actor
        self._send = actor.send.options(concurrency_group=_SAY)
        self._take = actor.take.options(concurrency_group=_HEAR)

    def send(self, wire: bytes) -> None:
        """Pass a batch on. What becomes of it is heard by `take`."""
        self._send.remote(wire)

    def take(self, then: Callable[[ProxyReport | Exception], None]) -> None:
        """Have what the worker says brought to `then`, on another thread, or why nothing more will come."""

        def brought(future: Any) -> None:
            error = future.exception()
            then(error if error is not None else future.result())

        self._take.remote().future().add_done_callback(brought)

    def ends(self) -> Any:
        """Begin to end the worker with all that it started; return what is there when it has ended."""
        return self._actor.end.options(concurrency_group=_END).remote()

    def dismiss(self) -> None:
        """End the keeper itself, whatever it does."""
        self._ray.kill(self._actor, no_restart=True)


class _ActorProxy(NodeProxy):
    """A keeper that asks its cluster where it is."""

    def __init__(self, *told: Any) -> None:
        import ray

        super().__init__(ray.get_runtime_context().get_node_id(), *told)


def require_ray(address: str | None) -> None:
    """Raise MODEL-004 unless Ray is installed, WORKER-005 if nobody answers at an address that was named.

    Imports nothing.
    """
    require_packages("ray", needed_by="--on ray", fix=RAY_EXTRA)
    named = _read_address(address)
    if named is not None and named not in _FOUND_BY_RAY:
        try:
            _check_answers(named)
        except (OSError, ValueError) as error:
            raise _make_join_error(named, error) from error


def wait_for(ends: Sequence[Any], timeout_s: float) -> None:
    """Wait until workers have ended, but no longer than this."""
    import ray

    if ends:
        ray.wait(list(ends), num_returns=len(ends), timeout=timeout_s)


def describe_death(error: Exception, node: str | None, alive: Sequence[Node]) -> WorkerDied:
    """Return how a keeper was lost. With its node, nothing that it worked on is to blame.

    A keeper whose node lives was taken away by the cluster, most often since the node's memory was full,
    which what it worked on may well have done.
    """
    from ray.exceptions import ActorUnavailableError

    if node is not None and node not in {one.id for one in alive}:
        return WorkerDied("its node was lost", is_blameless=True)
    if isinstance(error, ActorUnavailableError):
        return WorkerDied("its node could not be reached any more", is_blameless=True)
    # First the numbers of the actor, each in a line set in; last what usually causes such a thing.
    cause = " ".join(line for line in str(error).splitlines() if line and not line.startswith("\t"))
    return WorkerDied(f"Ray took it away: {cause[:_MOST_WORDS]}")


def find_start_error(error: Exception) -> BackendError | None:
    """Return the error of a keeper that its node could not even start; None where it is none."""
    from ray.exceptions import ActorDiedError, RuntimeEnvSetupError

    if isinstance(error, ActorDiedError) and not error.actor_init_failed:
        return None
    if isinstance(error, ActorDiedError | RuntimeEnvSetupError | RuntimeError):
        what = f"a node of the cluster could not start a worker: {_format_error(error)}"
        fix = "install the same assay-eval, with the extras of the model, on every node of the cluster"
        return BackendError(Problem("WORKER-008", what, fix))
    return None


def _join(ray: Any, address: str | None) -> bool:
    """Join a cluster; return whether it had to be started."""
    # Ray would send its statistics to its makers from a cluster that is started here.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    named = _read_address(address)
    code = {"py_modules": [str(_PACKAGE)], "excludes": ["__pycache__"]}
    with _keeping_signals():
        try:
            found = _find_cluster(ray, named)
            ray.init(
                address=_choose_address(named, found),
                # All nodes have the code of this very run, whatever else is installed there.
                runtime_env=code,
                include_dashboard=False,
                log_to_driver=False,
                logging_level=logging.CRITICAL,
            )
        except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
            raise _make_join_error(named, error) from error
    return found is None


def _choose_address(named: str | None, found: str | None) -> str:
    """Return the address to join. Ray shows its token to a cluster that it finds here by itself, and to one
    that is named only where RAY_AUTH_MODE says so: a token is not for whoever listens at an address.
    """
    if found is None:
        return "local"
    return "auto" if named in (None, "auto") else found


def _read_address(address: str | None) -> str | None:
    return address or os.environ.get("RAY_ADDRESS") or None


def _find_cluster(ray: Any, named: str | None) -> str | None:
    """Return where a cluster answers; None: nowhere, and none was named."""
    found: str | None = ray._private.services.canonicalize_bootstrap_address(named)
    if found is None or named is not None:
        return found
    try:
        _check_answers(found)
    except OSError:
        return None  # It was started here once, and has ended since.
    return found


def _check_answers(address: str) -> None:
    """Raise OSError if nobody does, ValueError if it is no address. Ray itself would try for minutes."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise ValueError("an address is HOST:PORT")
    socket.create_connection((host.strip("[]"), int(port)), timeout=_ANSWERS_S).close()


def _make_join_error(named: str | None, error: Exception) -> BackendError:
    words = _format_error(error)
    if "ersion mismatch" in words:
        fix = "run with the cluster's versions of Ray and Python: most simply on one of its nodes"
        return BackendError(Problem("WORKER-006", f"this Ray does not fit that of the cluster: {words}", fix))
    if _wants_token(error):
        what = f"the Ray cluster at {named or 'this machine'} wants a token, and was shown none or another"
        fix = (
            "set RAY_AUTH_MODE=token, with the cluster's token in ~/.ray/auth_token or in RAY_AUTH_TOKEN; "
            "`ray get-auth-token` tells it on the head"
        )
        return BackendError(Problem("WORKER-005", what, fix))
    if named is None:
        what = f"--on ray: no Ray could be started here: {words}"
        fix = "see that Ray starts: `ray start --head`; or name a cluster: --on ray:HOST:PORT"
    else:
        what = f"no Ray cluster could be joined at {named}: {words}"
        fix = (
            "run on a node of the cluster, and name the address that `ray start --head` told: "
            "--on ray:HOST:PORT; or leave the address away, with RAY_ADDRESS unset"
        )
    return BackendError(Problem("WORKER-005", what, fix))


def _wants_token(error: BaseException | None) -> bool:
    """Whether an error comes of a token that is missing or wrong, wherever Ray tells it."""
    while error is not None:
        if "AuthenticationError" in f"{type(error).__name__} {error}":
            return True
        error = error.__cause__ or error.__context__
    return False


@contextlib.contextmanager
def _keeping_signals() -> Iterator[None]:
    """Keep how this process is ended: Ray puts a way of its own in its place."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGTERM) is not before:
            signal.signal(signal.SIGTERM, before)


def _node(told: dict[str, Any]) -> Node:
    resources = told["Resources"]
    host, address = told["NodeManagerHostname"], told["NodeManagerAddress"]
    name = host if host == address else f"{host} ({address})"
    return Node(told["NodeID"], name, resources.get("CPU", 0.0), resources.get("GPU", 0.0))


def _format_error(error: Exception) -> str:
    """Return what Ray says, in one line that is not too long; of a traceback the end."""
    lines = [line.strip(" \t^") for line in _COLOR.sub("", str(error)).splitlines()]
    return " / ".join(line for line in lines if line)[-_MOST_WORDS:]
