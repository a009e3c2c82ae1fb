"""A dataset class whose code tries to reach a server while its rows are loaded, in one way or another."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_CLASS = """
from ..metric import Em
from .generation_dataset import GenerationDataset

URL = "{url}"
ADDRESS = ("127.0.0.1", {port})

def attempt():
{attempt}

class Trying(GenerationDataset):
    instruction = "{{q}}"
    metrics = [Em()]
    evaluation_set = "test"
    load_args = ()

    def load_raw_dataset(self, dataset_path, subset_name, evaluation_set, example_set):
        {call}
        self.evaluation_data = [dict(q="1+1=", a="2")]
        self.example_data = []

    def format_instance(self, instance):
        return dict(q=instance["q"], target=instance["a"])

    @property
    def references(self):
        return [row["a"] for row in self.evaluation_data]
"""
LINE = _CLASS[: _CLASS.index("{attempt}")].count("\n") + 1
"""The place of the first line of an attempt."""

IN_ONE_LINE = {
    "socket": "import socket; socket.socket().connect(ADDRESS)",
    "datagram": "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ADDRESS)",
    "urllib": "import urllib.request; urllib.request.urlopen(URL)",
    "requests": "import requests; requests.get(URL)",
    "look-up": "import socket; socket.gethostbyname('assay.invalid')",
    "reverse look-up": "import socket; socket.gethostbyaddr('192.0.2.1')",
    "asyncio": "import asyncio; asyncio.run(asyncio.open_connection('assay.invalid', 80))",
    "thread": "import threading, requests; "
    "a = threading.Thread(target=requests.get, args=(URL,)); a.start(); a.join()",
    "fork": "import multiprocessing as m, requests; "
    "p = m.get_context('fork').Process(target=requests.get, args=(URL,)); p.start(); p.join()",
}
PYTHON = (
    "import subprocess, sys; "
    "subprocess.run([sys.executable, '-c', 'import socket; socket.create_connection({address})'])"
)


def trying(path: Path, attempt: str, port: int, *, is_caught: bool = False) -> Path:
    """Write a class whose rows are loaded after an attempt, of which it may hide the error."""
    lines = [attempt.replace("{address}", f'(\\"127.0.0.1\\", {port})')]
    call = "attempt()"
    if is_caught:
        call = "try: attempt()\n        except Exception: pass"
    body = "\n".join(f"    {line}" for line in lines)
    url = f"http://127.0.0.1:{port}/"
    path.write_text(_CLASS.format(url=url, port=port, attempt=body, call=call), encoding="utf-8")
    return path


class Door:
    """A port that somebody listens at, and how often it was knocked at."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.n_knocks = 0


@contextmanager
def door() -> Iterator[Door]:
    """Listen on the loopback until the block ends; everybody is sent away at once."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        found = Door(server.getsockname()[1])

        def open_() -> None:
            while True:
                try:
                    caller, _ = server.accept()
                except OSError:
                    return
                found.n_knocks += 1
                caller.close()

        thread = threading.Thread(target=open_)
        thread.start()
        try:
            yield found
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()
