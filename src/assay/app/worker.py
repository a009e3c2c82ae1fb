"""The worker process that `--workers` starts: it opens the model and answers the run's requests.

python -m assay.app.worker SOCKET
"""

from __future__ import annotations

import os
import sys
from multiprocessing.connection import Connection

import msgspec

from assay.app.offline.watch import offline_watch
from assay.app.settings import RunSettings
from assay.backends.registry import open_pinned
from assay.backends.workers.worker_loop import serve
from assay.core.ports import Backend


class WorkerSetup(msgspec.Struct, frozen=True):
    """The message that a worker receives at its start."""

    model: str
    args: dict[str, str]
    is_offline: bool = False
    commit: str | None = None
    """The commit of a hub repository that the run resolved."""

    def open(self) -> Backend:
        """Return the model; its weights are read with the first request."""
        return open_pinned(self.model, self.args, self.commit)


def main() -> None:
    """Answer requests until the run closes the connection."""
    socket = int(sys.argv[1])
    # Processes that the model starts must not inherit the socket.
    os.set_inheritable(socket, False)
    connection = Connection(socket)
    setup = msgspec.msgpack.decode(connection.recv_bytes(), type=WorkerSetup)
    # Offline like its run. A worker has no endpoint, so the kernel can block its network.
    with offline_watch(RunSettings(model=setup.model, offline=setup.is_offline)) as watch:
        watch.seal()
        serve(connection, setup.open, after_batch=watch.look)


if __name__ == "__main__":
    main()
