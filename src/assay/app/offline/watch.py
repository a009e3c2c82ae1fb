"""Keep a run offline: block connections and programs, and report each attempt.

Python raises an audit event before each connection, name lookup and program start. Anything that does not go
to a named endpoint raises an error immediately. Libraries may catch that error and continue, so attempts are
also recorded, and the next call of `look` ends the run.

Native code raises no audit events. Without a named endpoint, the kernel seals the thread. With one, only the
offline switches of libraries restrict native code, and other programs are not started.
"""

from __future__ import annotations

import os
import shutil
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
    # The hub's native downloader opens sockets without audit events.
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
"""Where imported libraries store their switches."""


@contextmanager
def offline_switches() -> Iterator[None]:
    """Set the offline switches of libraries."""
    before = {name: os.environ.get(name) for name in _ENVIRONMENT}
    switches = {
        place: getattr(sys.modules[place[0]], place[1]) for place in _IMPORTED_SWITCHES if _has_switch(*place)
    }
    os.environ.update(_ENVIRONMENT)
    _set(dict.fromkeys(switches, True))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        # A library imported in the meantime took over the switch: reset it.
        _set(
            {
                place: switches.get(place, before["HF_HUB_OFFLINE"] == "1")
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
"""Assay's own programs: the sandbox blocks the network itself, and a worker has its own watch."""
_QUIET_PROGRAMS = {"uname", "file", "ldconfig", "gcc", "cc", "ld", "objdump"}
"""Programs that Python's standard library starts to learn about the machine."""
_SYSTEM_FOLDERS = ("/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin")
_PROBES = {"_has_ipv6", "has_dualstack_ipv6"}
"""Functions that open a socket only to see whether they can."""
_MOST_BYTES = 65536
"""Size limit of the record, in case code tries forever."""


class Watch:
    """The interface for use cases. This base class, for runs that are not offline, does nothing."""

    def permit(self, model: str | None) -> None:
        """Allow connections to a model's server, if it has one."""

    def seal(self) -> None:
        """Close the network for this thread; call it once all endpoints are permitted.

        Without an endpoint this is permanent.
        """

    def look(self) -> None:
        """Raise the attempts that were blocked so far."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Return notes on how the run is kept offline."""
        return ()


class OfflineWatch(Watch):
    """The watch over an offline run."""

    def __init__(self) -> None:
        self._endpoints: list[Endpoint] = []
        self._note = ""
        self._programs: dict[str, Caller] = {}
        # A file, so that forked processes can record their attempts, too.
        self._attempts = tempfile.TemporaryFile("a+b", buffering=0)  # noqa: SIM115 - closed in close()

    def permit(self, model: str | None) -> None:
        """Allow connections to a model's server, if it has one."""
        endpoint = parse_endpoint(model) if model else None
        if endpoint is not None:
            self._endpoints.append(endpoint)

    def seal(self) -> None:
        """Close the network for this thread; call it once all endpoints are permitted.

        Without an endpoint this is permanent.
        """
        if self._endpoints:
            named = ", ".join(self.endpoint_names)
            self._note = f"offline: connections except to {named} are blocked, and so are other programs"
            return
        try:
            if _pending_served_models:
                raise SealError("another model of the same command has a server")
            seal_thread()
        except SealError as why:
            self._note = (
                "offline: connections of Python code are blocked, and so are other programs; native code is "
                f"restricted only by the offline switches of its libraries, because {why}"
            )
        else:
            self._note = (
                "offline: the kernel blocks internet sockets for this run and every process that it starts"
            )

    def look(self) -> None:
        """Raise the attempts that were blocked so far."""
        if problems := self.problems():
            raise OfflineError(problems)

    @property
    def notes(self) -> tuple[str, ...]:
        """Return notes on how the run is kept offline."""
        started = [
            f"offline: {name!r} ran without network access, so its connection attempts are unknown; "
            f"started by {who}"
            for name, who in self._programs.items()
        ]
        return (self._note, *started) if self._note else ()

    @property
    def endpoint_names(self) -> list[str]:
        """Return the endpoints as host and port."""
        return list(dict.fromkeys(map(str, self._endpoints)))

    def note_program(self, name: str, who: Caller) -> None:
        """Record a program that was started without a network, and its first caller."""
        self._programs.setdefault(name, who)

    def problems(self) -> list[Problem]:
        """Return the blocked attempts, each place once."""
        size = os.fstat(self._attempts.fileno()).st_size
        lines = os.pread(self._attempts.fileno(), size, 0).splitlines() if size else []
        return [msgspec.json.decode(line, type=Problem) for line in dict.fromkeys(lines)]

    def record(self, problem: Problem) -> None:
        """Record a blocked attempt."""
        if os.fstat(self._attempts.fileno()).st_size < _MOST_BYTES:
            self._attempts.write(msgspec.json.encode(problem) + b"\n")

    def is_named(self, host: str, port: object) -> bool:
        """Return whether a host is the name or an address of an endpoint."""
        if any(endpoint.is_host(host) for endpoint in self._endpoints):
            return True
        return isinstance(port, int) and self.is_endpoint(host, port)

    def is_endpoint(self, host: str, port: int) -> bool:
        """Return whether a server is a named endpoint."""
        return any(endpoint.is_at(host, port) for endpoint in self._endpoints)

    def learn(self, host: str, addresses: Sequence[Any]) -> None:
        """Record the addresses that a name lookup returned."""
        for endpoint in self._endpoints:
            if endpoint.is_host(host):
                endpoint.learn(addresses)

    def close(self) -> None:
        """Close the record of attempts."""
        self._attempts.close()


_active_watches: list[OfflineWatch] = []
"""Audit hooks cannot be removed: the installed one consults this list. Overlapping runs have several."""


_pending_served_models: list[str] = []
"""Models whose servers are queried later, by the thread that would be sealed."""


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
    """Keep the body offline if the settings say so; raise blocked attempts at its end."""
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
            # The blocked attempt is the cause, whatever error it was turned into on its way here.
            if not isinstance(error, OfflineError) and (problems := watch.problems()):
                raise OfflineError(problems) from error
            raise
        else:
            watch.look()
        finally:
            _active_watches.remove(watch)
            watch.close()


# --- audit events ---


@cache
def _install_audit_hook() -> None:
    """Install the audit hook, once per process."""
    sys.addaudithook(_handle_audit_event)
    # The event of a name lookup lacks its result, and connections go to the addresses.
    socket.getaddrinfo = _recording_getaddrinfo


_original_getaddrinfo = socket.getaddrinfo


def _recording_getaddrinfo(host: Any, *args: Any, **settings: Any) -> Any:
    """Look a name up, and record the addresses of endpoints."""
    addresses = _original_getaddrinfo(host, *args, **settings)
    for watch in _active_watches:
        watch.learn(_decode_host(host), addresses)
    return addresses


def _handle_audit_event(event: str, args: tuple[Any, ...]) -> None:
    if _active_watches and (check := _EVENT_CHECKS.get(event)) is not None:
        check(*args)


def _check_connect(connected: socket.socket, address: Any) -> None:
    """Check a connection, or a packet that is sent."""
    if connected.family not in _INTERNET or address is None:
        return
    host, port = address[:2]
    if not any(watch.is_endpoint(_decode_host(host), port) for watch in _active_watches):
        _reject_connection(f"a connection to {format_host_port(host, port)} was blocked")


def _check_socket(_: socket.socket, family: int, *__: Any) -> None:
    """Check a new socket; reject one that the kernel will reject, to name the caller."""
    if family in _INTERNET and is_sealed():
        is_probe = sys._getframe(3).f_code.co_name in _PROBES
        _reject_connection("an internet socket was blocked", is_recorded=not is_probe)


def _check_lookup(host: Any, port: Any = None, *_: Any) -> None:
    """Check a name lookup. An empty name means this machine and needs no server."""
    if host and not any(watch.is_named(_decode_host(host), port) for watch in _active_watches):
        _reject_connection(f"a name lookup of {format_host_port(host, port)} was blocked")


def _check_reverse_lookup(address: tuple[Any, ...]) -> None:
    """Check a reverse lookup."""
    _check_lookup(*address[:2])


def _check_program(program: Any, args: Any = (), *_: Any) -> None:
    """Check a program that is started: in a sealed thread, it has no network either."""
    words = [os.fsdecode(word) for word in args] if isinstance(args, list | tuple) else []
    path = os.fsdecode(program or words[0])
    name = os.path.basename(path)
    if _is_quiet_program(path) or not _OWN.isdisjoint(words):
        return
    who = find_caller()
    if is_sealed():
        for watch in _active_watches:
            watch.note_program(name, who)
        return
    what = f"the program {name!r} was not started, because Assay cannot keep it offline. Started by {who}"
    fix = "run the program before the evaluation, or run without --offline"
    _reject_attempt(Problem("OFFLINE-002", what, fix, who.origin))


def _is_quiet_program(path: str) -> bool:
    """Return whether a program is one of the system's quiet programs, not only one with the same name."""
    folder, name = os.path.split(path)
    return name in _QUIET_PROGRAMS and (folder in ("", *_SYSTEM_FOLDERS) or path == shutil.which(name))


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
"""The check of each audit event, which gets the event's arguments."""


def _reject_connection(what: str, *, is_recorded: bool = True) -> None:
    who = find_caller()
    named = [name for watch in _active_watches for name in watch.endpoint_names]
    why = f"--offline allows only {', '.join(named)}" if named else "--offline allows no connections"
    fix = "download the data or the model before the run, or run without --offline"
    _reject_attempt(
        Problem("OFFLINE-001", f"{what}: {why}. Attempted by {who}", fix, who.origin), is_recorded=is_recorded
    )


def _reject_attempt(problem: Problem, *, is_recorded: bool = True) -> None:
    if is_recorded:
        for watch in _active_watches:
            watch.record(problem)
    raise OfflineError(problem)


def _decode_host(host: Any) -> str:
    return host.decode("ascii", "replace") if isinstance(host, bytes) else str(host)
