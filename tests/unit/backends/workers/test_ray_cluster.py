"""Finding and joining a cluster, and the errors if that fails. No cluster is started here."""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from assay.backends.workers.ray_cluster import RayCluster, require_ray
from assay.core.errors import BackendError

ray = pytest.importorskip("ray", reason="the ray extra is not installed")


@pytest.fixture
def joined(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Return how Ray was asked to join; it joins nothing."""
    calls: list[dict[str, Any]] = []

    def init(**asked: Any) -> None:
        # As Ray does.
        signal.signal(signal.SIGTERM, lambda number, frame: None)
        calls.append(asked)

    monkeypatch.setattr(ray, "init", init)
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "shutdown", lambda: calls.append({}))
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    return calls


@pytest.fixture
def listening() -> Iterator[str]:
    # On all its addresses: Ray takes that of this machine for a loopback.
    with socket.create_server(("", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def silent_address() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"127.0.0.1:{server.getsockname()[1]}"


def test_a_cluster_that_is_named_is_joined(joined: list[dict[str, Any]], listening: str) -> None:
    before = signal.getsignal(signal.SIGTERM)
    cluster = RayCluster(listening)
    (asked,) = joined
    assert asked["address"].endswith(listening.rpartition(":")[2])
    assert (asked["log_to_driver"], asked["include_dashboard"]) == (False, False)
    assert asked["runtime_env"]["py_modules"][0].endswith("assay")
    assert not cluster.is_own
    assert signal.getsignal(signal.SIGTERM) is before
    cluster.leave()
    assert joined[1:] == [{}]


def test_the_environment_names_one_too(
    joined: list[dict[str, Any]], listening: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", listening)
    assert not RayCluster(None).is_own
    monkeypatch.setenv("RAY_ADDRESS", "local")
    own = RayCluster(None)
    assert own.is_own
    assert not own.may_grow()
    assert joined[1]["address"] == "local"


def test_nobody_at_a_named_address_is_an_error(
    joined: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    address = silent_address()
    with pytest.raises(BackendError, match=f"WORKER-005.*{address}.*refused"):
        require_ray(address)
    with pytest.raises(BackendError, match=r"WORKER-005.*at nowhere: an address has the form HOST:PORT"):
        require_ray("nowhere")
    monkeypatch.setenv("RAY_ADDRESS", address)
    with pytest.raises(BackendError, match=f"WORKER-005.*{address}"):
        require_ray(None)
    require_ray("local")
    assert joined == []


def test_a_cluster_that_ran_here_once_is_no_cluster(
    joined: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    left = silent_address()
    monkeypatch.setattr(ray._private.services, "find_gcs_addresses", set)
    monkeypatch.setattr(ray._private.services, "find_bootstrap_address", lambda folder: left)
    assert RayCluster(None).is_own
    assert joined[0]["address"] == "local"


def test_other_versions_are_reported(
    joined: list[dict[str, Any]], listening: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def init(**asked: Any) -> None:
        raise RuntimeError(
            "Version mismatch: The cluster was started with:\n    Ray: 2.9.0\n    Python: 3.9.1"
        )

    monkeypatch.setattr(ray, "init", init)
    with pytest.raises(BackendError, match=r"WORKER-006.*Ray: 2\.9\.0 / Python: 3\.9\.1"):
        RayCluster(listening)


@pytest.mark.parametrize("named", [None, "auto"])
def test_a_cluster_that_is_found_here_is_joined_as_such(
    joined: list[dict[str, Any]], listening: str, named: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ray then shows it the token of this machine; to an address that was named it would show none."""
    monkeypatch.setattr(ray._private.services, "find_bootstrap_address", lambda folder: listening)
    assert not RayCluster(named).is_own
    assert joined[0]["address"] == "auto"


@pytest.mark.parametrize("is_told_below", [True, False])
def test_a_cluster_that_wants_a_token_is_reported(
    joined: list[dict[str, Any]], listening: str, is_told_below: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def init(**asked: Any) -> None:
        if not is_told_below:
            raise ray.exceptions.AuthenticationError("no token was found")
        try:
            raise RuntimeError("Last connection error:\nray.exceptions.AuthenticationError: InvalidAuthToken")
        except RuntimeError as error:
            raise ConnectionError("Failed to connect to Ray cluster") from error

    monkeypatch.setattr(ray, "init", init)
    with pytest.raises(BackendError, match=r"WORKER-005.*requires a token.*RAY_AUTH_MODE=token"):
        RayCluster(listening)


def test_a_ray_that_does_not_start_says_why(
    joined: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def init(**asked: Any) -> None:
        raise RuntimeError("the raylet did not come up")

    monkeypatch.setattr(ray, "init", init)
    with pytest.raises(BackendError, match=r"WORKER-005.*the raylet did not come up"):
        RayCluster("local")


def test_who_has_joined_before_stays(joined: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray, "is_initialized", lambda: True)
    cluster = RayCluster(None)
    cluster.leave()
    assert joined == []
    assert not cluster.is_own


def test_nodes_are_those_that_live(joined: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    def node_info(number: int, *, alive: bool, **resources: float) -> dict[str, Any]:
        place = {"NodeManagerHostname": f"host{number}", "NodeManagerAddress": f"10.0.0.{number}"}
        return {"NodeID": f"id{number}", "Alive": alive, "Resources": resources, **place}

    nodes = [
        node_info(1, alive=True, CPU=4.0),
        node_info(2, alive=False),
        node_info(3, alive=True, CPU=2.0, GPU=8.0),
    ]
    monkeypatch.setattr(ray, "nodes", lambda: nodes)
    found = RayCluster("local").nodes()
    assert found == [
        ("id1", "host1 (10.0.0.1)", 4.0, 0.0),
        ("id3", "host3 (10.0.0.3)", 2.0, 8.0),
    ]


def test_without_ray_there_is_a_way_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.backends.problems.find_spec", lambda name: None)
    with pytest.raises(BackendError, match=r"MODEL-004.*--on ray needs ray.*assay-eval\[ray\]"):
        require_ray(None)
