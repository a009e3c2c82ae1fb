"""nginx with one worker that answers every chat with the same words, and writes down when it was asked.

It is the fastest server at hand, so what is measured against it is the client. It listens on a free port of
this machine, keeps all its files in a folder of the caller's, and ends with the `with` block.
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
from pathlib import Path
from types import TracebackType

ANSWER = "ANSWER: A"
"""All clients find the letter in it by their own rules."""
READY_S = 10.0
_TEMP = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
_CONFIG = """
worker_processes 1;
pid nginx.pid;
events { worker_connections 8192; }
http {
  log_format moment "$msec $request_method";
  access_log access.log moment buffer=256k;
  %(temp)s
  keepalive_requests 1000000000;
  client_body_buffer_size 64k;
  server {
    listen 127.0.0.1:%(port)d backlog=4096;
    default_type application/json;
    location = /v1/models { return 200 '%(models)s'; }
    location = /v1/chat/completions { return 200 '%(reply)s'; }
  }
}
"""


class FixedReply:
    """The server; `n_asked` and `first_asked` are known once it has ended."""

    def __init__(self, folder: Path) -> None:
        """Take an empty folder."""
        nginx = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
        if nginx is None:
            raise SystemExit("nginx is not here. Fix: apt-get install nginx-light")
        self._nginx = nginx
        self._folder = folder
        self._port = free_port()
        self.url = f"http://127.0.0.1:{self._port}/v1"

    def __enter__(self) -> FixedReply:
        self._folder.mkdir(parents=True)
        usage = {"prompt_tokens": 50, "completion_tokens": 4, "total_tokens": 54}
        message = {"role": "assistant", "content": ANSWER}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
        about = {"id": "fixed", "object": "chat.completion", "created": 1, "model": "m"}
        config = _CONFIG % {
            "temp": " ".join(f"{name}_temp_path {name};" for name in _TEMP),
            "port": self._port,
            "models": json.dumps({"object": "list", "data": [{"id": "m", "object": "model"}]}),
            "reply": json.dumps({**about, "choices": [choice], "usage": usage}),
        }
        (self._folder / "nginx.conf").write_text(config, encoding="utf-8")
        command = [self._nginx, "-p", str(self._folder), "-c", "nginx.conf", "-e", "error.log"]
        self._process = subprocess.Popen([*command, "-g", "daemon off;"], stderr=subprocess.PIPE, text=True)
        self._wait_until_ready()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()  # Its worker ends with it, and writes the rest of the log.
        self._process.communicate()

    @property
    def moments(self) -> list[float]:
        """Return when each chat was answered, in seconds since the epoch, to the millisecond."""
        lines = (self._folder / "access.log").read_text(encoding="ascii").splitlines()
        return [float(line.split()[0]) for line in lines if line.endswith(" POST")]

    def _wait_until_ready(self) -> None:
        until = time.monotonic() + READY_S
        while time.monotonic() < until and self._process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self._port), 1).close()
            except OSError:
                time.sleep(0.01)
            else:
                return
        self._process.terminate()
        raise SystemExit(f"nginx does not serve:\n{self._process.communicate()[1]}")


def free_port() -> int:
    """Return a port of this machine that nobody listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        port: int = door.getsockname()[1]
        return port
