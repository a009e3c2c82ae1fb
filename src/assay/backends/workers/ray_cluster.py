"""A Ray cluster as workers need it: found or started, its nodes, and worker proxies on them.

The only file that uses Ray.
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
_RECEIVE, _SEND, _END = "hear", "say", "end"
"""Concurrency groups: calls of one group run in order, and do not wait for those of another."""
_BOOTSTRAP = "~/ray_bootstrap_config.yaml"
"""The file that Ray's launcher creates on the head of an autoscaling cluster."""
_FOUND_BY_RAY = ("auto", "local")
_PACKAGE = Path(__file__).resolve().parents[2]
"""The folder of Assay's own code."""
_ANSWERS_S = 10.0
_MOST_WORDS = 300
_COLOR = re.compile(r"\x1b\[[0-9;]*m")


class RayCluster:
    """A cluster that this process has joined."""

    def __init__(self, address: str | None) -> None:
        """Join the cluster at an address; None: the one on this machine, else a new one for this run."""
        import ray

        self._ray = ray
        self._is_guest = ray.is_initialized()
        """Whether the calling program had already joined a cluster: it stays joined."""
        self.is_own = not self._is_guest and _join(ray, address)
        """Whether it was started for this run, and ends with it."""
        groups = {_RECEIVE: 1, _SEND: 1, _END: 1}
        self._proxy_class = ray.remote(concurrency_groups=groups, max_restarts=0, max_task_retries=0)(
            _ActorProxy
        )

    def nodes(self) -> list[Node]:
        """Return the nodes that are alive."""
        return [_node(node) for node in self._ray.nodes() if node["Alive"]]

    def may_grow(self) -> bool:
        """Return whether the cluster may add nodes."""
        if self.is_own:
            return False
        if Path(_BOOTSTRAP).expanduser().is_file():
            return True
        read_maximum = getattr(self._ray._private.state.state, "get_max_resources_from_cluster_config", None)
        return bool(read_maximum is not None and read_maximum())

    def start_proxy(
        self, share: Share, command: Sequence[str], setup: bytes, environment: dict[str, str]
    ) -> RayNodeProxy:
        """Start a proxy with its worker on any node with enough resources; does not wait."""
        placed = self._proxy_class.options(
            num_cpus=share.num_cpus, num_gpus=share.num_gpus, scheduling_strategy="SPREAD"
        )
        return RayNodeProxy(self._ray, placed.remote(tuple(command), setup, environment, os.getcwd()))

    def leave(self) -> None:
        """Leave the cluster; a cluster started for this run ends."""
        if not self._is_guest:
            self._ray.shutdown()


class RayNodeProxy:
    """A proxy on a node of the cluster."""

    def __init__(self, ray: Any, actor: Any) -> None:
        self._ray = ray
        self._actor = actor
        self._send = actor.send.options(concurrency_group=_SEND)
        self._take = actor.take.options(concurrency_group=_RECEIVE)

    def send(self, wire: bytes) -> None:
        """Pass a batch on. `take` receives the result."""
        self._send.remote(wire)

    def take(self, then: Callable[[ProxyReport | Exception], None]) -> None:
        """Call `then` on another thread with the worker's messages, or with the error that ended it."""

        def forward(future: Any) -> None:
            error = future.exception()
            then(error if error is not None else future.result())

        self._take.remote().future().add_done_callback(forward)

    def ends(self) -> Any:
        """Begin to end the worker and all its processes; return a handle to wait for."""
        return self._actor.end.options(concurrency_group=_END).remote()

    def dismiss(self) -> None:
        """Kill the proxy itself."""
        self._ray.kill(self._actor, no_restart=True)


class _ActorProxy(NodeProxy):
    """A proxy that finds out its node's id from the cluster."""

    def __init__(self, *args: Any) -> None:
        import ray

        super().__init__(ray.get_runtime_context().get_node_id(), *args)


def require_ray(address: str | None) -> None:
    """Raise MODEL-004 unless Ray is installed, WORKER-005 if no server responds at a given address.

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
    """Wait until workers have ended, at most `timeout_s` seconds."""
    import ray

    if ends:
        ray.wait(list(ends), num_returns=len(ends), timeout=timeout_s)


def describe_death(error: Exception, node: str | None, alive: Sequence[Node]) -> WorkerDied:
    """Return how a proxy was lost. If its node was lost too, its requests are not suspect.

    If its node is alive, the cluster removed the proxy, usually because the node's memory was full, which its
    requests may have caused.
    """
    from ray.exceptions import ActorUnavailableError

    if node is not None and node not in {other.id for other in alive}:
        return WorkerDied("its node was lost", is_blameless=True)
    if isinstance(error, ActorUnavailableError):
        return WorkerDied("its node is not reachable any more", is_blameless=True)
    # The message begins with indented lines of actor data and ends with the usual causes.
    cause = " ".join(line for line in str(error).splitlines() if line and not line.startswith("\t"))
    return WorkerDied(f"Ray removed it: {cause[:_MOST_WORDS]}")


def find_start_error(error: Exception) -> BackendError | None:
    """Return the error of a proxy that its node could not start; None for other errors."""
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
    # Ray would send usage statistics to its developers from a cluster that is started here.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    named = _read_address(address)
    code = {"py_modules": [str(_PACKAGE)], "excludes": ["__pycache__"]}
    with _keeping_signals():
        try:
            found = _find_cluster(ray, named)
            ray.init(
                address=_choose_address(named, found),
                # All nodes use the code of this run, whatever is installed there.
                runtime_env=code,
                include_dashboard=False,
                log_to_driver=False,
                logging_level=logging.CRITICAL,
            )
        except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
            raise _make_join_error(named, error) from error
    return found is None


def _choose_address(named: str | None, addresses: str | None) -> str:
    """Return the address to join. Ray sends its token to a cluster that it finds by itself, and to a given
    address only if RAY_AUTH_MODE says so: a token is not for any server that listens at an address.
    """
    if addresses is None:
        return "local"
    return "auto" if named in (None, "auto") else addresses


def _read_address(address: str | None) -> str | None:
    return address or os.environ.get("RAY_ADDRESS") or None


def _find_cluster(ray: Any, named: str | None) -> str | None:
    """Return the address of a running cluster; None if there is none and no address was given."""
    found: str | None = ray._private.services.canonicalize_bootstrap_address(named)
    if found is None or named is not None:
        return found
    try:
        _check_answers(found)
    except OSError:
        return None  # It was started here once, and has ended.
    return found


def _check_answers(address: str) -> None:
    """Raise OSError if no server answers, ValueError for an invalid address. Ray would retry for minutes."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise ValueError("an address has the form HOST:PORT")
    socket.create_connection((host.strip("[]"), int(port)), timeout=_ANSWERS_S).close()


def _make_join_error(named: str | None, error: Exception) -> BackendError:
    words = _format_error(error)
    if "ersion mismatch" in words:
        fix = "use the cluster's versions of Ray and Python, for example by running on one of its nodes"
        what = f"this version of Ray does not match the cluster's: {words}"
        return BackendError(Problem("WORKER-006", what, fix))
    if _wants_token(error):
        what = f"the Ray cluster at {named or 'this machine'} requires a token, which is missing or wrong"
        fix = (
            "set RAY_AUTH_MODE=token, with the cluster's token in ~/.ray/auth_token or in RAY_AUTH_TOKEN; "
            "`ray get-auth-token` on the head shows it"
        )
        return BackendError(Problem("WORKER-005", what, fix))
    if named is None:
        what = f"--on ray: Ray could not be started on this machine: {words}"
        fix = "check that `ray start --head` works, or give the address of a cluster: --on ray:HOST:PORT"
    else:
        what = f"cannot join a Ray cluster at {named}: {words}"
        fix = (
            "run on a node of the cluster, with the address that `ray start --head` printed: "
            "--on ray:HOST:PORT; or use --on ray without an address, with RAY_ADDRESS unset"
        )
    return BackendError(Problem("WORKER-005", what, fix))


def _wants_token(error: BaseException | None) -> bool:
    """Return whether a missing or wrong token caused an error, wherever Ray reports it."""
    while error is not None:
        if "AuthenticationError" in f"{type(error).__name__} {error}":
            return True
        error = error.__cause__ or error.__context__
    return False


@contextlib.contextmanager
def _keeping_signals() -> Iterator[None]:
    """Keep this process's SIGTERM handler: Ray replaces it."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGTERM) is not before:
            signal.signal(signal.SIGTERM, before)


def _node(info: dict[str, Any]) -> Node:
    resources = info["Resources"]
    host, address = info["NodeManagerHostname"], info["NodeManagerAddress"]
    name = host if host == address else f"{host} ({address})"
    return Node(info["NodeID"], name, resources.get("CPU", 0.0), resources.get("GPU", 0.0))


def _format_error(error: Exception) -> str:
    """Return Ray's message on one line of limited length; of a traceback, the end."""
    lines = [line.strip(" \t^") for line in _COLOR.sub("", str(error)).splitlines()]
    return " / ".join(line for line in lines if line)[-_MOST_WORDS:]
