"""The page on the server is followed: its files are written, and its requests sent to a real server."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from fakes.team_server import TeamServer

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "team-server.md"
_FILE = re.compile(r"^([\w./-]+\.\w+):\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_REQUESTS = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_requests_of_the_page_are_answered(tmp_path: Path) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    text = PAGE.read_text(encoding="utf-8")
    for name, content in _FILE.findall(text):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    blocks = _REQUESTS.findall(text)
    assert len(blocks) == 5
    with TeamServer(tmp_path) as server:
        host, port = server.place
        variables = {**os.environ, "URL": f"http://{host}:{port}/api/v1", "TOKEN": server.token}
        for block in blocks:
            done = subprocess.run(
                ["sh", "-e", "-c", block],
                cwd=tmp_path,
                env=variables,
                capture_output=True,
                text=True,
                timeout=600,
            )
            assert done.returncode == 0, (block, done.stdout, done.stderr)
