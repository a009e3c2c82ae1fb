"""Programs that try to get out, to stay, to use up the machine, or to pass without passing. None succeeds."""

from __future__ import annotations

import errno
import json
import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.scoring.sandbox import Limits, Sandbox, Status, isolation, seccomp

FAIL = "\nassert False, 'the tests of this program fail'\n"

FORK_BOMB = """
import os
while True:
    try:
        os.fork()
    except OSError:
        pass
"""
ENDLESS_OUTPUT = "while True: print('x' * 10000)"
ENDLESS_ERRORS = "import os\nwhile True: os.write(2, b'x' * 10000)"
HUGE_ALLOCATION = "x = bytearray(10**10)"
ENDLESS_LOOP = "while True: pass"
DEAF_TO_SIGNALS = """
import signal, time
for number in signal.valid_signals():
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
while True: time.sleep(1)
"""
DEAF_CHILD = f"""
import os
if os.fork() == 0:
    {DEAF_TO_SIGNALS.strip().replace(chr(10), chr(10) + "    ")}
os.wait()
"""
STOPPED_SUPERVISOR = "import os, time; os.kill(os.getppid(), 19); time.sleep(1000)"
CLOSED_DESCRIPTORS = "import os; os.closerange(0, 100)"
DEEP_RECURSION = "def f(): return f()\nf()"
CRASH = "import ctypes; ctypes.string_at(0)"

PROGRAMS = {
    "fork bomb": (FORK_BOMB, {Status.TIMEOUT}),
    "endless output": (ENDLESS_OUTPUT, {Status.OUTPUT}),
    "endless errors": (ENDLESS_ERRORS, {Status.OUTPUT}),
    "huge allocation": (HUGE_ALLOCATION, {Status.MEMORY}),
    "endless loop": (ENDLESS_LOOP, {Status.TIMEOUT}),
    "deaf to signals": (DEAF_TO_SIGNALS, {Status.TIMEOUT}),
    "deaf child": (DEAF_CHILD, {Status.TIMEOUT}),
    "stopped supervisor": (STOPPED_SUPERVISOR, {Status.TIMEOUT, Status.ERROR, Status.KILLED}),
    "closed descriptors": (CLOSED_DESCRIPTORS, {Status.EXITED}),
    "deep recursion": (DEEP_RECURSION, {Status.ERROR}),
    "crash": (CRASH, {Status.KILLED}),
    "exit": ("import sys; sys.exit(0)" + FAIL, {Status.EXITED}),
    "hard exit": ("import os; os._exit(0)" + FAIL, {Status.EXITED}),
    "quit": ("quit()" + FAIL, {Status.EXITED}),
    "exit at exit": ("import atexit, os; atexit.register(os._exit, 0)" + FAIL, {Status.ERROR}),
    "suicide": ("import os; os.kill(os.getpid(), 9)" + FAIL, {Status.KILLED}),
    "kill everything": ("import os; os.kill(-1, 9); os._exit(0)" + FAIL, {Status.ERROR, Status.EXITED}),
}


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    """Whatever a test runs: afterwards this process has no other descendants than before, and wardens."""
    yield
    stray = [pid for pid, parent in below(os.getpid()) if parent != os.getpid()]
    assert stray == []


def below(root: int) -> Iterator[tuple[int, int]]:
    """Yield each descendant of a process with its parent."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(entry.parent.name)] = int(entry.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    found = {root}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    yield from ((pid, parents[pid]) for pid in found - {root})


def needs(sandbox: Sandbox, protection: str) -> None:
    found = sandbox.protections()
    if not getattr(found, protection):
        pytest.skip(f"{protection} not protected here: {found}")


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_wicked_program_does_not_pass(sandbox: Sandbox, name: str) -> None:
    program, expected = PROGRAMS[name]
    if name == "kill everything":
        needs(sandbox, "files")  # with namespaces only: elsewhere it would reach other processes of its user
    ran = sandbox.run(program)
    assert ran.status in expected, ran
    assert len(ran.stdout) <= 4096
    assert len(ran.stderr) <= 4096
    assert sandbox.run("print('still here')").stdout == "still here\n"


def test_the_others_finish() -> None:
    """The wicked ones run beside good ones, in the same sandbox, two at a time."""
    good = "print(sum(range(10)))"
    wicked = [program for name, (program, _) in PROGRAMS.items() if name != "kill everything"]
    programs = [text for bad in wicked for text in (bad, good)]
    with Sandbox(Limits(seconds=3.0, memory_mib=256, processes=16, output_mib=2)) as sandbox:
        outcomes = list(sandbox.run_many(programs, workers=2))
    assert not any(ran.is_ok for ran in outcomes[::2])
    assert [(ran.status, ran.stdout) for ran in outcomes[1::2]] == [(Status.OK, "45\n")] * len(wicked)


def test_the_environment_of_the_parent_is_not_there(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_TEST_SECRET", "hunter2")
    program = f"""
import os
print(sorted(os.environ))
for pid in ("self", {os.getpid()}, os.getppid(), *filter(str.isdigit, os.listdir("/proc"))):
    try:
        print(open(f"/proc/{{pid}}/environ", "rb").read())
    except OSError as error:
        print(type(error).__name__)
"""
    needs(sandbox, "processes")
    with Sandbox(sandbox.limits) as fresh:  # its wardens start while the secret is there
        ran = fresh.run(program)
    assert ran.is_ok, ran
    assert "hunter2" not in ran.stdout
    assert "'HOME', 'LANG', 'OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'PATH', 'TMPDIR'" in ran.stdout


@pytest.fixture(params=["home", "tmp", "working folder"])
def secret(request: pytest.FixtureRequest) -> Iterator[Path]:
    """A file that every user of the machine may read."""
    place = {"home": Path.home(), "tmp": Path(tempfile.gettempdir()), "working folder": Path.cwd()}[
        request.param
    ]
    if not os.access(place, os.W_OK):
        pytest.skip(f"this user may not write to {place}")
    descriptor, name = tempfile.mkstemp(prefix="assay-secret-", dir=place)
    with open(descriptor, "w") as file:
        file.write("hunter2")
    os.chmod(name, 0o644)
    yield Path(name)
    Path(name).unlink(missing_ok=True)


def test_a_secret_file_cannot_be_read(sandbox: Sandbox, secret: Path) -> None:
    needs(sandbox, "files")
    ran = sandbox.run(f"print(open({str(secret)!r}).read())")
    assert ran.status is Status.ERROR
    assert ran.detail.startswith(("FileNotFoundError", "PermissionError"))
    search = f"""
import os
found = [name for folder, _, names in os.walk("/") for name in names if name == {secret.name!r}]
assert not found, found
"""
    with Sandbox(Limits(seconds=60.0)) as patient:
        assert patient.run(search).is_ok


def test_nothing_is_written_outside(sandbox: Sandbox, secret: Path) -> None:
    needs(sandbox, "files")
    outside = [secret, secret.with_name("assay-new-file"), Path(os.__file__).with_name("assay_new.py")]
    outside += [
        Path("/usr/assay-new"),
        Path("/assay-new"),
        Path("/etc/assay-new"),
        Path("/proc/sys/kernel/hostname"),
    ]
    program = f"""
import os
refused = 0
for path in {[str(path) for path in outside]!r}:
    try:
        open(path, "w").write("written")
    except OSError:
        refused += 1
secret = {str(secret)!r}
for change in (lambda: os.remove(secret), lambda: os.rename("/usr", "/us"), lambda: os.chmod("/usr", 0)):
    try:
        change()
    except OSError:
        refused += 1
print(refused)
open("inside", "w").write("written")
assert os.path.getsize("inside") == 7
"""
    before = {path: path.exists() for path in outside}
    ran = sandbox.run(program)
    assert ran.is_ok, ran
    assert secret.read_text() == "hunter2"
    assert {path: path.exists() for path in outside} == before
    in_tmp = secret.parent == Path(tempfile.gettempdir()) == Path("/tmp")
    # /tmp of the sandbox is its own throw-away folder: what is written there is not written outside.
    assert int(ran.stdout) >= len(outside) + (0 if in_tmp else 3)


def test_all_but_the_throw_away_folder_is_mounted_read_only(sandbox: Sandbox) -> None:
    """Also what the user who runs Assay could write to, such as the packages of a virtual environment."""
    needs(sandbox, "files")
    program = """
for line in open("/proc/self/mountinfo"):
    point, options = line.split()[4:6]
    if "ro" not in options.split(",") and point not in ("/tmp", "/dev/shm"):
        print(point)
"""
    ran = sandbox.run(program)
    assert ran.is_ok, ran
    assert set(ran.stdout.split()) == {
        f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom")
    }


def test_each_program_has_a_fresh_folder(sandbox: Sandbox) -> None:
    assert sandbox.run("open('left', 'w').write('x')").is_ok
    assert sandbox.run("import os; assert os.listdir() == [], os.listdir()").is_ok


def test_the_size_of_files_is_bounded(sandbox: Sandbox) -> None:
    ran = sandbox.run("with open('big', 'wb') as f:\n    while True: f.write(bytes(2**16))")
    assert ran.status is Status.ERROR
    assert "File too large" in ran.detail


def test_the_folder_is_bounded(sandbox: Sandbox) -> None:
    needs(sandbox, "files")
    many = "i = 0\nwhile True:\n    i += 1\n    with open(f'{i}', 'wb') as f: f.write(bytes(2**19))"
    assert "No space left" in sandbox.run(many).detail
    empty = "i = 0\nwhile True:\n    i += 1\n    open(f'{i}', 'wb').close()"
    assert "No space left" in sandbox.run(empty).detail


@pytest.mark.parametrize("family", ["AF_INET", "AF_UNIX"])
def test_no_connection_can_be_opened(sandbox: Sandbox, family: str) -> None:
    needs(sandbox, "network")
    kind = getattr(socket, family)
    with socket.socket(kind) as server:
        server.bind(("127.0.0.1", 0) if family == "AF_INET" else f"\0assay-test-{os.getpid()}")
        server.listen()
        server.settimeout(0.0)
        program = f"import socket\nsocket.socket(socket.{family}).connect({server.getsockname()!r})"
        ran = sandbox.run(program)
        assert ran.status is Status.ERROR
        assert ran.detail.startswith(("PermissionError", "OSError", "ConnectionRefusedError"))
        with pytest.raises(BlockingIOError):
            server.accept()
        # The server itself works: this process reaches it.
        with socket.socket(kind) as client:
            client.connect(server.getsockname())


def test_parents_cannot_be_killed(sandbox: Sandbox) -> None:
    needs(sandbox, "processes")
    program = f"""
import os, signal
for pid in (os.getppid(), {os.getpid()}, 1):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGSTOP, signal.SIGKILL):
        try:
            os.kill(pid, number)
        except OSError:
            pass
print("done")
"""
    ran = sandbox.run(program)
    assert (ran.status, ran.stdout) == (Status.OK, "done\n")


def test_the_supervisor_cannot_be_traced_or_read(sandbox: Sandbox) -> None:
    program = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
assert libc.ptrace(16, os.getppid(), 0, 0) == -1  # PTRACE_ATTACH
try:
    open(f"/proc/{os.getppid()}/mem", "rb")
except OSError:
    pass
else:
    raise AssertionError("the memory can be read")
"""
    ran = sandbox.run(program)
    assert ran.is_ok, ran


def test_no_rights_can_be_gained(sandbox: Sandbox) -> None:
    needs(sandbox, "files")
    program = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
for flags in (0x10000000, 0x10020000, 0x00020000, 0x40000000):
    assert libc.unshare(flags) == -1, hex(flags)
assert libc.mount(b"none", b"/tmp", b"tmpfs", 0, b"") == -1
for call in (os.setuid, os.setgid):
    try:
        call(0)
    except OSError:
        continue
    raise AssertionError(call)
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
    assert int(status[name], 16) == 0, status
assert int(status["NoNewPrivs"]) == 1
"""
    ran = sandbox.run(program)
    assert ran.is_ok, ran


def test_a_child_that_left_its_session_is_killed(sandbox: Sandbox) -> None:
    needs(sandbox, "leftovers")
    mark = f"{os.getpid()}.125"
    program = f"""
import os, subprocess, time
ready, done = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.setsid()
        child = subprocess.Popen(["sleep", "9{mark}"])
        os.write(done, str(child.pid).encode())
        time.sleep(1000)
    os._exit(0)
child = int(os.read(ready, 20))
os.kill(child, 0)
print("alive")
"""
    ran = sandbox.run(program)
    assert (ran.status, ran.stdout) == (Status.OK, "alive\n"), ran
    lines = [entry.read_bytes() for entry in Path("/proc").glob("[0-9]*/cmdline") if entry.exists()]
    assert not [line for line in lines if mark.encode() in line]


def test_the_number_of_processes_is_bounded(sandbox: Sandbox) -> None:
    program = """
import os, time
count = 0
try:
    while count < 200:
        if os.fork() == 0:
            time.sleep(1000)
        count += 1
except BlockingIOError:
    print(count)
"""
    ran = sandbox.run(program)
    # Without namespaces other processes of the same user may end meanwhile, and leave room.
    room = 0 if sandbox.protections().files else 20
    assert 1 <= int(ran.stdout) < sandbox.limits.processes + room


def test_memory_is_counted_over_all_processes(sandbox: Sandbox) -> None:
    if not sandbox.protections().files:
        pytest.skip("without a /proc of its own the supervisor cannot count")
    program = """
import os, time
for _ in range(8):
    if os.fork() == 0:
        kept = bytearray(os.urandom(2**20)) * 100
        time.sleep(100)
time.sleep(100)
"""
    ran = sandbox.run(program)
    assert ran.status is Status.MEMORY, ran


LOOK_FOR_THE_TOKEN = (
    """
import gc, sys
seen = []
frame = sys._getframe()
while frame:
    seen += [v for v in frame.f_locals.values() if isinstance(v, (bytes, str, bytearray))]
    seen += [c for c in frame.f_code.co_consts if isinstance(c, (bytes, str))]
    frame = frame.f_back
seen += [o for o in gc.get_objects() if isinstance(o, (bytes, bytearray))]
"""
    "candidates = {bytes(s, 'utf-8', 'replace') if isinstance(s, str) else bytes(s) for s in seen}\n"
    """
import os
for candidate in candidates:
    if len(candidate) == 16:
        os.write(3, candidate)
os._exit(0)
"""
)
WRITE_EVERYWHERE = """
import os
for number in range(64):
    try:
        os.write(number, bytes(16))
    except OSError:
        pass
os._exit(0)
"""
FORGERIES = {
    "frames": LOOK_FOR_THE_TOKEN,
    "the word": "import os; os.write(3, b'ok\\n'); os._exit(0)",
    "the start": "import os; os.write(3, b'ready'); os._exit(0)",
    "all descriptors": WRITE_EVERYWHERE,
    "output": "print('ok'); print('passed'); import os; os._exit(0)",
}


@pytest.mark.parametrize("name", FORGERIES)
def test_success_cannot_be_forged(sandbox: Sandbox, name: str) -> None:
    ran = sandbox.run(FORGERIES[name] + FAIL)
    assert not ran.is_ok
    assert ran.status in {Status.EXITED, Status.ERROR}


REFUSED_CALLS = """
import ctypes, errno, json, platform

from assay.scoring.sandbox.seccomp import _MACHINES

libc = ctypes.CDLL(None, use_errno=True)
refused = {}
for name in NAMES:
    number = _MACHINES[platform.machine()].calls[name]
    # Arguments that no call takes: what is not refused fails in another way, or does nothing.
    first = 0x10000000 if name == "clone" else -1
    result = libc.syscall(number, first, -1, -1, -1, -1, -1)
    refused[name] = result == -1 and ctypes.get_errno()
print(json.dumps(refused))
"""


def test_system_calls_that_lead_out_are_rejected(sandbox: Sandbox) -> None:
    if not sandbox.protections().calls:
        pytest.skip("this system filters no calls")
    # Two of them are not on every machine; a call that ends or stops the program cannot be tried from it.
    names = [name for name in isolation.BLOCKED_CALLS if name in seccomp._MACHINES["aarch64"].calls]
    ran = sandbox.run(REFUSED_CALLS.replace("NAMES", repr(names)))
    assert ran.is_ok, ran
    found = json.loads(ran.stdout)
    assert {name for name, number in found.items() if number not in (errno.EPERM, errno.ENOSYS)} == set()
    assert found["io_uring_setup"] == errno.ENOSYS
    assert found["ptrace"] == errno.EPERM


SOCKETS = """
import json, socket

opened = []
for family in range(0, 46):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW):
        try:
            socket.socket(family, kind).close()
        except OSError:
            continue
        opened.append(family)
left, right = socket.socketpair()
left.sendall(b"x")
assert right.recv(1) == b"x"
print(json.dumps(sorted(set(opened))))
"""


def test_sockets_reach_the_program_itself_alone(sandbox: Sandbox) -> None:
    if not sandbox.protections().calls:
        pytest.skip("this system filters no calls")
    ran = sandbox.run(SOCKETS)
    assert ran.is_ok, ran
    assert json.loads(ran.stdout) == [socket.AF_UNIX]


def test_a_child_cannot_shake_off_the_filter(sandbox: Sandbox) -> None:
    if not sandbox.protections().calls:
        pytest.skip("this system filters no calls")
    program = (
        "import subprocess, sys\n"
        "code = 'import socket; socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)'\n"
        "done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True)\n"
        "print(done.stderr.strip().splitlines()[-1])\n"
    )
    ran = sandbox.run(program)
    assert "PermissionError" in ran.stdout, ran


def test_programs_and_threads_start_under_the_filter(sandbox: Sandbox) -> None:
    program = (
        "import asyncio, concurrent.futures, multiprocessing, subprocess, sys, threading\n"
        "with concurrent.futures.ThreadPoolExecutor(2) as pool:\n"
        "    assert list(pool.map(abs, [-1, -2])) == [1, 2]\n"
        "assert subprocess.run([sys.executable, '-c', 'print(3)'], capture_output=True).stdout == b'3\\n'\n"
        "asyncio.run(asyncio.sleep(0))\n"
    )
    assert sandbox.run(program).is_ok
