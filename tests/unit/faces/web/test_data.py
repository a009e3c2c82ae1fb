"""Data routes of the pages, and files that they do not serve."""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.app.viewed_runs import ViewedRuns
from assay.core.run import RunStatus
from assay.faces.web import media, open_runs
from assay.faces.web.error_responses import HttpError
from assay.faces.web.open_runs import RunCache
from assay.results import run_list
from fakes.asgi_client import AsgiClient
from fakes.run_folders import append_samples, write_run

PICTURE = b"\x89PNG\r\n\x1a\n" + b"\0" * 100


@pytest.fixture(autouse=True)
def always_fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have every look be a look at the disk."""
    monkeypatch.setattr(run_list, "_FRESH_S", -1.0)


def test_a_run_its_table_and_a_sample(client: AsgiClient) -> None:
    assert {run["name"] for run in client.get("/data/runs").json()["runs"]} == {"one", "둘"}
    page = client.get(f"/data/runs/{quote('둘')}").json()
    assert (page["name"], page["n_samples"], page["rows"][0]["shown"]) == ("둘", 1, "100.0")
    table = client.get("/data/runs/one/samples?first=1").json()
    assert (table["first"], table["ids"], table["tracks"][0]["answers"]) == (1, ["s1"], ["no"])
    sample = client.get("/data/runs/one/samples/0").json()
    assert sample["record"]["sample"]["id"] == "s0"
    assert sample["scores"][0]["answer"] == "yes"
    assert sample["responses"][0]["outcome"]["outputs"][0]["text"] == "yes"


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/data/runs/none", 404, "WEB-017"),
        ("/data/runs/one/samples/2", 404, "WEB-017"),
        ("/data/runs/one/samples/-1", 404, "WEB-017"),
        ("/data/runs/one/samples/x", 404, "WEB-016"),
        ("/data/runs/one/samples?first=-1", 400, "WEB-018"),
        ("/data/runs/one/samples?first=x", 400, "WEB-018"),
        ("/data/runs/none/events", 404, "WEB-017"),
        ("/data/runs/one/manifest.json", 404, "WEB-016"),
        ("/schema", 404, "WEB-016"),
        ("/docs", 404, "WEB-016"),
    ],
)
def test_what_is_not_there(client: AsgiClient, path: str, status: int, code: str) -> None:
    answer = client.get(path)
    assert (answer.status, answer.json()["code"]) == (status, code)


def test_a_place_beyond_the_end_is_an_empty_table(client: AsgiClient) -> None:
    assert client.get("/data/runs/one/samples?first=99").json()["n"] == 0


segments = st.one_of(
    st.sampled_from(
        ["..", ".", "", "one", "secret", "manifest.json", "media", "%2e%2e", "..%2f", "~", "\x00"]
    ),
    st.text(max_size=8),
)


@given(
    parts=st.lists(segments, max_size=6), start=st.sampled_from(["/data/runs/", "/runs/", "/assets/", "/"])
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
def test_no_path_leads_out_of_the_runs(client: AsgiClient, runs: Path, parts: list[str], start: str) -> None:
    if not (runs.parent / "secret").exists():
        write_run(runs.parent / "secret", ["TOP SECRET"])
    for sep in ("/", "%2f", "\\"):
        answer = client.get(start + sep.join(quote(part, errors="surrogatepass") for part in parts))
        assert b"TOP SECRET" not in answer.body
        assert str(runs).encode() not in answer.body
        assert answer.status in (200, 400, 404, 405)


def test_faults_tell_nothing(
    client: AsgiClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("/home/someone/secret-key")

    monkeypatch.setattr(RunCache, "page", fail)
    answer = client.get("/data/runs/one")
    assert (answer.status, answer.json()["code"]) == (500, "WEB-020")
    assert "secret" not in answer.text
    assert "Traceback" not in answer.text
    assert "secret-key" in caplog.text


def test_a_damaged_run_is_reported_without_its_place(client: AsgiClient, runs: Path) -> None:
    (runs / "one" / "manifest.json").write_text("{}")
    answer = client.get("/data/runs/one")
    assert answer.json()["code"] == "STORE-004"
    assert str(runs) not in answer.text


def test_what_has_not_changed_is_not_sent_again(client: AsgiClient, runs: Path) -> None:
    paths = (
        "/data/runs",
        "/data/runs/one",
        "/data/runs/one/samples",
        "/data/runs/one/samples/0",
        "/",
        "/assets/app.js",
    )
    for path in paths:
        first = client.get(path)
        assert first.headers["cache-control"] in ("private, no-cache", "no-cache")
        again = client.get(path, {"if-none-match": first.headers["etag"]})
        assert (again.status, again.body) == (304, b"")
    tag = client.get("/data/runs/one").headers["etag"]
    write_run(runs / "one", ["other"], started="2026-05-05T00:00:00+00:00")
    changed = client.get("/data/runs/one", {"if-none-match": tag})
    assert changed.status == 200
    assert changed.json()["n_samples"] == 1


def test_the_script_may_be_kept_for_ever_under_an_address_that_names_it(client: AsgiClient) -> None:
    page = client.get("/").text
    address = page.split('<script src="')[1].split('"')[0]
    assert client.get(address).headers["cache-control"] == "public, max-age=31536000, immutable"
    assert client.get("/assets/app.js?v=other").headers["cache-control"] == "no-cache"


def test_large_answers_are_compressed_for_other_machines(runs: Path, client: AsgiClient) -> None:
    write_run(runs / "large", [f"answer {nth}" for nth in range(2000)])
    headers = {"accept-encoding": "br, gzip"}
    near = client.get("/data/runs/large/samples", headers)
    assert "content-encoding" not in near.headers
    far = AsgiClient(client._app, "127.0.0.1:8421", client="192.168.1.9")
    with far:
        answer = far.get("/data/runs/large/samples", headers)
        assert answer.headers["content-encoding"] == "gzip"
        assert gzip.decompress(answer.body) == near.body
        assert len(answer.body) < len(near.body) / 4
        assert far.get("/data/runs/large/samples").body == near.body
        assert "content-encoding" not in far.get("/data/runs", headers).headers, "short ones are not"


def test_a_run_that_grows_begins_again_and_is_deleted(client: AsgiClient, runs: Path) -> None:
    folder = write_run(runs / "live", ["a"], status=RunStatus.RUNNING, n_planned=3)
    first = client.get("/data/runs/live").json()
    assert (first["n_samples"], first["n_planned"]) == (1, 3)
    append_samples(folder, ["b", "c"], first=1)
    grown = client.get("/data/runs/live").json()
    assert (grown["n_samples"], grown["revision"]) == (3, first["revision"])
    assert client.get("/data/runs/live/samples?first=1").json()["ids"] == ["s1", "s2"]
    write_run(folder, ["x"], status=RunStatus.RUNNING, n_planned=3, started="2026-06-01T00:00:00+00:00")
    again = client.get("/data/runs/live").json()
    assert again["n_samples"] == 1
    assert again["revision"] != first["revision"]
    shutil.rmtree(folder)
    assert client.get("/data/runs/live").json()["code"] == "WEB-017"
    assert client.get("/data/runs/live/samples/0").json()["code"] == "WEB-017"


def test_runs_that_were_looked_at_long_ago_are_put_away(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_runs, "_MOST_RUNS", 3)
    monkeypatch.setattr(open_runs, "_MOST_ROWS", 10)
    for nth in range(6):
        write_run(runs / f"r{nth}", ["a"])
    write_run(runs / "big", ["a"] * 50)
    shelf = RunCache(ViewedRuns([runs]))
    for nth in range(6):
        shelf.page(f"r{nth}")
        assert len(shelf._open_runs) <= 3
    shelf.page("big")
    shelf.page("r0")
    assert [folder.name for folder in shelf._open_runs] == ["r0"]
    with pytest.raises(HttpError):
        shelf.page("r9")


def test_what_one_look_knew_means_nothing_to_another(runs: Path) -> None:
    """A run that is removed and opened again, or a restarted server, counts from 0."""
    shelves = [RunCache(ViewedRuns([runs])) for _ in range(2)]
    known = [msgspec.json.decode(shelf.table("one", 0).content) for shelf in shelves]
    had = (known[0]["revision"], known[0]["changes"])
    new = [msgspec.json.decode(shelf.table("one", 2, had).content) for shelf in shelves]
    assert [(one["first"], one["n"]) for one in new] == [(2, 0), (0, 2)]


class TestMedia:
    @pytest.fixture
    def sha256(self, runs: Path) -> str:
        name = hashlib.sha256(PICTURE).hexdigest()
        (runs / "one" / "media").mkdir()
        (runs / "one" / "media" / f"{name}.png").write_bytes(PICTURE)
        return name

    def test_a_picture_by_its_hash(self, client: AsgiClient, sha256: str) -> None:
        answer = client.get(f"/data/runs/one/media/{sha256}")
        assert (answer.body, answer.headers["content-type"]) == (PICTURE, "image/png")
        assert answer.headers["content-disposition"] == "attachment"
        assert client.get(f"/data/runs/{quote('둘')}/media/{sha256}").status == 404

    def test_a_piece_of_it(self, client: AsgiClient, sha256: str) -> None:
        answer = client.get(f"/data/runs/one/media/{sha256}", {"range": "bytes=1-3"})
        assert (answer.status, answer.body) == (206, b"PNG")
        assert answer.headers["content-range"] == f"bytes 1-3/{len(PICTURE)}"
        assert client.get(f"/data/runs/one/media/{sha256}", {"range": "bytes=4-"}).body == PICTURE[4:]
        assert client.get(f"/data/runs/one/media/{sha256}", {"range": "bytes=999-"}).status == 416
        assert client.get(f"/data/runs/one/media/{sha256}", {"range": "bytes=9-1"}).status == 416
        beyond = client.get(f"/data/runs/one/media/{sha256}", {"range": "bytes=100-9999"})
        assert beyond.headers["content-range"] == f"bytes 100-{len(PICTURE) - 1}/{len(PICTURE)}"

    def test_a_film_comes_in_pieces(
        self, client: AsgiClient, sha256: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(media, "_MOST_AT_ONCE", 4)
        answer = client.get(f"/data/runs/one/media/{sha256}", {"range": "bytes=1-"})
        assert (answer.body, answer.headers["content-range"]) == (PICTURE[1:5], f"bytes 1-4/{len(PICTURE)}")

    def test_a_large_one_is_never_whole_in_memory(
        self, client: AsgiClient, sha256: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(media, "_PIECE", 16)
        for headers, expected in (({}, PICTURE), ({"range": "bytes=3-"}, PICTURE[3:])):
            answer = client.get(f"/data/runs/one/media/{sha256}", headers)
            assert answer.body == expected
            assert answer.headers["content-length"] == str(len(expected))
            assert max(answer.pieces) == 16 < len(expected)

    def test_nothing_but_kept_media(self, client: AsgiClient, sha256: str, runs: Path) -> None:
        folder = runs / "one" / "media"
        page = "0" * 64
        (folder / f"{page}.html").write_text("<script>alert(1)</script>")
        (folder / f"{page}.svg").write_text("<svg onload='alert(1)'/>")
        linked = "1" * 64
        (folder / f"{linked}.png").symlink_to("/etc/passwd")
        pipe = "2" * 64
        os.mkfifo(folder / f"{pipe}.png")
        for name in (
            page,
            linked,
            pipe,
            sha256.upper(),
            "..",
            "..%2fmanifest.json",
            f"{sha256}.png",
            "3" * 64,
        ):
            assert client.get(f"/data/runs/one/media/{name}").status == 404

    def test_a_folder_of_media_that_leads_out(self, client: AsgiClient, sha256: str, runs: Path) -> None:
        media = runs / "one" / "media"
        media.rename(runs.parent / "elsewhere")
        media.symlink_to(runs.parent / "elsewhere")
        assert client.get(f"/data/runs/one/media/{sha256}").status == 404


def test_a_viewer_of_one_run_shows_that_run_alone(runs: Path, viewer: Callable[..., AsgiClient]) -> None:
    shelf = RunCache(ViewedRuns([runs / "one"]))
    assert b'"name":"one"' in shelf.list_runs().content
    with pytest.raises(HttpError):
        shelf.page("둘")
