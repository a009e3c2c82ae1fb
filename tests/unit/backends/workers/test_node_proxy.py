"""A keeper forwards its worker's events and reports how it ended."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from assay.backends.workers import node_proxy as module
from assay.backends.workers.node_proxy import NodeProxy, ProxyReport

ECHO = """
import os, sys
from multiprocessing.connection import Connection
connection = Connection(int(sys.argv[1]))
try:
    while (wire := connection.recv_bytes()) != b"die":
        connection.send_bytes(f"{wire.decode()} {os.environ['COLOR']} {os.getcwd()}".encode())
except EOFError:
    sys.exit()
print("I had a good life")
sys.exit(7)
"""


def kept(folder: Path) -> NodeProxy:
    return NodeProxy("node1", ("-c", ECHO), b"setup", {"COLOR": "red"}, str(folder))


def taken(keeper: NodeProxy, n: int) -> list[bytes]:
    wires: list[bytes] = []
    while len(wires) < n:
        passed = keeper.take()
        assert (passed.node, passed.why_dead) == ("node1", None)
        wires += passed.wires
    return wires


def test_what_is_said_is_passed_on_in_order(tmp_path: Path) -> None:
    keeper = kept(tmp_path)
    try:
        for number in range(3):
            keeper.send(str(number).encode())
        message = [f"{word} red {tmp_path}".encode() for word in ("setup", "0", "1", "2")]
        assert taken(keeper, 4) == message
    finally:
        keeper.end()


def test_a_folder_that_the_node_does_not_have_is_not_needed(tmp_path: Path) -> None:
    keeper = kept(tmp_path / "nowhere")
    try:
        assert taken(keeper, 1) == [f"setup red {os.getcwd()}".encode()]
    finally:
        keeper.end()


def test_a_dead_worker_is_reported_with_its_last_words(tmp_path: Path) -> None:
    keeper = kept(tmp_path)
    try:
        keeper.send(b"die")
        passed = keeper.take()
        while passed.why_dead is None:
            passed = keeper.take()
        assert passed.why_dead == "it ended with status 7; it last printed: I had a good life"
    finally:
        keeper.end()


def test_a_silent_worker_holds_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LONGEST_S", 0.01)
    keeper = kept(tmp_path)
    try:
        until = time.monotonic() + 20
        while keeper.take().wires == []:
            assert time.monotonic() < until
        assert keeper.take() == ProxyReport("node1", [], None)
    finally:
        keeper.end()
