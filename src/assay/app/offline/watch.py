"""The watch over a run that is kept offline: what it refuses, and what becomes of what it refused.

Python tells of every connection, look-up and program that its code begins, before it happens (audit events).
What leads elsewhere than to a named endpoint raises there and then. Libraries catch errors and go on, so what
was refused is also written down, and ends the run when it is next looked at.

Native code raises no such events. Where no endpoint is named, the thread is sealed by the kernel; where one
is, the switches of libraries are all that holds native code, and other programs are not started.
"""

from __future__ import annotations

import os
import socket
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import msgspec

from assay.app.offline.callers import Caller, find_caller
from assay.app.offline.endpoints import Endpoint, format_host_port, parse_endpoint
from assay.app.offline.seal import SealError, is_sealed, seal_thread
from assay.app.settings import RunSettings
from assay.core.errors import OfflineError, Problem

_ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "HF_EVALUATE_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    # The hub's native downloader opens sockets that Python does not hear of.
    "HF_HUB_DISABLE_XET": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "WANDB_MODE": "offline",
}
_IMPORTED_SWITCHES = (
    ("huggingface_hub.constants", "HF_HUB_OFFLINE"),
    ("datasets.config", "HF_HUB_OFFLINE"),
    ("datasets.config", "HF_DATASETS_OFFLINE"),
)
"""Where libraries keep a switch once they are imported."""


@contextmanager
def offline_switches() -> Iterator[None]:
    """Keep libraries from asking servers."""
    before = {name: os.environ.get(name) for name in _ENVIRONMENT}
    kept = {
        place: getattr(sys.modules[place[0]], place[1]) for place in _IMPORTED_SWITCHES if _has_switch(*place)
    }
    os.environ.update(_ENVIRONMENT)
    _set(dict.fromkeys(kept, True))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        # One that was imported meanwhile took the switch for the person's own wish.
        _set(
            {
                place: kept.get(place, before["HF_HUB_OFFLINE"] == "1")
                for place in _IMPORTED_SWITCHES
                if _has_switch(*place)
            }
        )


def _has_switch(module: str, name: str) -> bool:
    return hasattr(sys.modules.get(module), name)


def _set(values: dict[tuple[str, str], object]) -> None:
    for (module, name), value in values.items():
        setattr(sys.modules[module], name, value)


_INTERNET = (socket.AF_INET, socket.AF_INET6)
_OWN = {"assay.scoring.sandbox.warden", "assay.app.worker"}
"""Programs of Assay's own: the sandbox gives what runs in it no network, a worker has a watch of its own."""
_QUIET_PROGRAMS = {"uname", "file", "ldconfig", "gcc", "cc", "ld", "objdump"}
"""What Python's own library starts to learn about the machine."""
_PROBES = {"_has_ipv6", "has_dualstack_ipv6"}
"""Functions that open a socket to see whether they can, and connect it to nothing."""
_MOST_BYTES = 65536
"""Of what is written down: who tries for ever is told often enough."""


class Watch:
    """What a use case says to the watch. Over a run that is not kept offline there is none."""

    def permit(self, model: str | None) -> None:
        """Let a model's server be reached, if it has one."""

    def seal(self) -> None:
        """Close the network for this thread, now that all endpoints are named; for good, where none is."""

    def look(self) -> None:
        """Raise what was refused until now."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Return how the run is held, in words."""
        return ()


class OfflineWatch(Watch):
    """The watch over a run that is kept offline."""

    def __init__(self) -> None:
        self._endpoints: list[Endpoint] = []
        self._how = ""
        self._programs: dict[str, Caller] = {}
        # A file, so that processes forked from this one write down what they tried, too.
        self._refused = tempfile.TemporaryFile("a+b", buffering=0)  # noqa: SIM115 - closed in close()

    def permit(self, model: str | None) -> None:
        """Let a model's server be reached, if it has one."""
        endpoint = parse_endpoint(model) if model else None
        if endpoint is not None:
            self._endpoints.append(endpoint)

    def seal(self) -> None:
        """Close the network for this thread, now that all endpoints are named; for good, where none is."""
        if self._endpoints:
            self._how = (
                f"offline: connections but to {', '.join(self.named)} are refused, and so are other programs"
            )
            return
        try:
            if _pending_served_models:
                raise SealError("another model of the same command has a server")
            seal_thread()
        except SealError as why:
            self._how = (
                "offline: connections of Python code are refused, and so are other programs; native code is "
                f"held by the switches of its libraries alone, since {why}"
            )
        else:
            self._how = "offline: the kernel gives this run, and all that it starts, no internet sockets"

    def look(self) -> None:
        """Raise what was refused until now."""
        if problems := self.problems():
            raise OfflineError(problems)

    @property
    def notes(self) -> tuple[str, ...]:
        """Return how the run is held, in words."""
        started = [
            f"offline: {name!r} ran without a network, and what it tried there is not known; started by {who}"
            for name, who in self._programs.items()
        ]
        return (self._how, *started) if self._how else ()

    @property
    def named(self) -> list[str]:
        """Return the endpoints, as they are written in addresses."""
        return list(dict.fromkeys(map(str, self._endpoints)))

    def note_program(self, name: str, who: Caller) -> None:
        """Keep which program was started without a network, and who did so first."""
        self._programs.setdefault(name, who)

    def problems(self) -> list[Problem]:
        """Return what was refused, each attempt of one place once."""
        size = os.fstat(self._refused.fileno()).st_size
        lines = os.pread(self._refused.fileno(), size, 0).splitlines() if size else []
        return [msgspec.json.decode(line, type=Problem) for line in dict.fromkeys(lines)]

    def write_down(self, problem: Problem) -> None:
        """Keep what was refused."""
        if os.fstat(self._refused.fileno()).st_size < _MOST_BYTES:
            self._refused.write(msgspec.json.encode(problem) + b"\n")

    def is_named(self, host: str, port: object) -> bool:
        """Return whether a name that is looked up is that of an endpoint, or an address of it."""
        if any(one.is_host(host) for one in self._endpoints):
            return True
        return isinstance(port, int) and self.is_endpoint(host, port)

    def is_endpoint(self, host: str, port: int) -> bool:
        """Return whether a server is named."""
        return any(one.is_at(host, port) for one in self._endpoints)

    def learn(self, host: str, found: Sequence[Any]) -> None:
        """Take the addresses of a name that was looked up."""
        for one in self._endpoints:
            if one.is_host(host):
                one.learn(found)

    def close(self) -> None:
        """Let go of what was written down."""
        self._refused.close()


_active_watches: list[OfflineWatch] = []
"""Hooks cannot be taken back: the one there is asks those who are here. More than one where runs overlap."""


_pending_served_models: list[str] = []
"""Models whose servers are asked later, by the thread that would be sealed."""


@contextmanager
def deferring_seal(models: Iterable[str]) -> Iterator[None]:
    """Leave this thread unsealed while it works on several models of which one has a server."""
    served = [model for model in models if parse_endpoint(model) is not None]
    _pending_served_models.extend(served)
    try:
        yield
    finally:
        for model in served:
            _pending_served_models.remove(model)


@contextmanager
def offline_watch(values: RunSettings) -> Iterator[Watch]:
    """Watch over what is done inside, if the settings ask for it; end with what was refused."""
    if not values.offline:
        yield Watch()
        return
    watch = OfflineWatch()
    watch.permit(values.model if values.stage != "score" else None)
    watch.permit(values.judge)
    _install_audit_hook()
    with offline_switches():
        _active_watches.append(watch)
        try:
            yield watch
        except Exception as error:
            # What was refused is the cause, whatever others made of it on its way here.
            if not isinstance(error, OfflineError) and (problems := watch.problems()):
                raise OfflineError(problems) from error
            raise
        else:
            watch.look()
        finally:
            _active_watches.remove(watch)
            watch.close()


# --- what Python tells ---


@cache
def _install_audit_hook() -> None:
    """Begin to hear what Python tells, once in the life of a process."""
    sys.addaudithook(_handle_audit_event)
    # The event of a look-up does not say what was found, and connections are made to what was.
    socket.getaddrinfo = _recording_getaddrinfo


_original_getaddrinfo = socket.getaddrinfo


def _recording_getaddrinfo(host: Any, *args: Any, **settings: Any) -> Any:
    """Look a name up, and remember the addresses of endpoints."""
    found = _original_getaddrinfo(host, *args, **settings)
    for watch in _active_watches:
        watch.learn(_decode_host(host), found)
    return found


def _handle_audit_event(event: str, args: tuple[Any, ...]) -> None:
    if _active_watches and (judge := _EVENT_CHECKS.get(event)) is not None:
        judge(*args)


def _check_connect(connected: socket.socket, address: Any) -> None:
    """Hear of a socket that is connected, or of a packet that is sent."""
    if connected.family not in _INTERNET or address is None:
        return
    host, port = address[:2]
    if not any(watch.is_endpoint(_decode_host(host), port) for watch in _active_watches):
        _reject_connection(f"a connection to {format_host_port(host, port)} was refused")


def _check_socket(_: socket.socket, family: int, *__: Any) -> None:
    """Hear of a new socket; one that the kernel will refuse is refused by name."""
    if family in _INTERNET and is_sealed():
        is_probe = sys._getframe(3).f_code.co_name in _PROBES
        _reject_connection("an internet socket was refused", is_told=not is_probe)


def _check_lookup(host: Any, port: Any = None, *_: Any) -> None:
    """Hear of a name that is looked up. No name at all stands for this machine, and is asked of nobody."""
    if host and not any(watch.is_named(_decode_host(host), port) for watch in _active_watches):
        _reject_connection(f"a look-up of {format_host_port(host, port)} was refused")


def _check_reverse_lookup(address: tuple[Any, ...]) -> None:
    """Hear of an address whose name is looked up."""
    _check_lookup(*address[:2])


def _check_program(program: Any, args: Any = (), *_: Any) -> None:
    """Hear of a program that is started: where this thread is sealed, it is too."""
    words = [os.fsdecode(word) for word in args] if isinstance(args, list | tuple) else []
    name = os.path.basename(os.fsdecode(program or words[0]).split()[0])
    if name in _QUIET_PROGRAMS or not _OWN.isdisjoint(words):
        return
    who = find_caller()
    if is_sealed():
        for watch in _active_watches:
            watch.note_program(name, who)
        return
    what = f"the program {name!r} was not started, as nothing could keep it offline. It was started by {who}"
    fix = "do what it does before the run, or run without --offline"
    _reject_attempt(Problem("OFFLINE-002", what, fix, who.origin))


def _check_shell_command(command: Any) -> None:
    _check_program("sh", [command])


_EVENT_CHECKS: dict[str, Callable[..., None]] = {
    "socket.__new__": _check_socket,
    "socket.connect": _check_connect,
    "socket.sendto": _check_connect,
    "socket.sendmsg": _check_connect,
    "socket.getaddrinfo": _check_lookup,
    "socket.gethostbyname": _check_lookup,
    "socket.gethostbyaddr": _check_lookup,
    "socket.getnameinfo": _check_reverse_lookup,
    "subprocess.Popen": _check_program,
    "os.exec": _check_program,
    "os.posix_spawn": _check_program,
    "os.system": _check_shell_command,
}
"""Event -> who decides about it, by the event's own arguments."""


def _reject_connection(what: str, *, is_told: bool = True) -> None:
    who = find_caller()
    named = [name for watch in _active_watches for name in watch.named]
    but = f"nothing but {', '.join(named)} is connected to" if named else "no endpoint is named"
    fix = "have the data or the model here before the run, or run without --offline"
    _reject_attempt(
        Problem("OFFLINE-001", f"{what}: {but}. It was tried by {who}", fix, who.origin), is_told=is_told
    )


def _reject_attempt(problem: Problem, *, is_told: bool = True) -> None:
    if is_told:
        for watch in _active_watches:
            watch.write_down(problem)
    raise OfflineError(problem)


def _decode_host(host: Any) -> str:
    return host.decode("ascii", "replace") if isinstance(host, bytes) else str(host)
