"""Author programs: their results and messages."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

import assay
from assay.core.errors import PlanError
from assay.scoring.sandbox import Limits, ProgramResult, Protections, Sandbox, Status, warden_process

ASSAY_AND_PACKAGES = os.pathsep.join(
    [*(entry for entry in sys.path if entry.endswith("site-packages")), str(Path(assay.__file__).parents[1])]
)
"""A PYTHONPATH for other interpreters of the same version."""


def test_a_program_that_ends_is_ok(sandbox: Sandbox) -> None:
    ran = sandbox.run("import sys; print('out'); print('err', file=sys.stderr)")
    assert (ran.status, ran.detail, ran.stdout, ran.stderr) == (Status.OK, "", "out\n", "err\n")
    assert 0 < ran.seconds < sandbox.limits.seconds


def test_stdin(sandbox: Sandbox) -> None:
    assert sandbox.run("print(input()[::-1], end='')", stdin="äbc\n").stdout == "cbä"
    assert sandbox.run("input()").detail == "EOFError: EOF when reading a line"


def test_an_exception_is_shown_with_its_line(sandbox: Sandbox) -> None:
    ran = sandbox.run("x = 1\nassert x == 2, 'not two'")
    assert (ran.status, ran.detail) == (Status.ERROR, "AssertionError: not two")
    assert 'File "program.py", line 2' in ran.stderr
    assert "assert x == 2" in ran.stderr
    assert "sandbox" not in ran.stderr


def test_text_that_is_no_program(sandbox: Sandbox) -> None:
    assert sandbox.run("this is prose").status is Status.ERROR
    assert sandbox.run("x = '\0'").status is Status.ERROR
    assert sandbox.run("print('\ud800')").status is Status.ERROR


def test_an_exception_that_cannot_be_shown(sandbox: Sandbox) -> None:
    ran = sandbox.run("class E(Exception):\n    def __str__(self): raise KeyboardInterrupt\nraise E")
    assert ran.status is Status.ERROR


def test_main_or_not(sandbox: Sandbox) -> None:
    program = "if __name__ == '__main__': raise SystemExit(3)"
    assert sandbox.run(program).detail == "exit status 3 before the last line"
    assert sandbox.run(program, is_main=False).is_ok


def test_what_programs_use_works(sandbox: Sandbox) -> None:
    program = """
from __future__ import annotations
import dataclasses, multiprocessing, os, random, subprocess, sys, tempfile, threading, typing, zoneinfo
@dataclasses.dataclass
class Point:
    x: typing.ClassVar[int] = 1
def work(queue): queue.put(1)
thread = threading.Thread(target=print)
thread.start(); thread.join()
with tempfile.TemporaryDirectory() as folder: open(folder + "/x", "w").close()
subprocess.run(["true"], check=True)
queue = multiprocessing.get_context("fork").Queue()
process = multiprocessing.get_context("fork").Process(target=work, args=(queue,))
process.start()
assert queue.get() == 1
process.join()
assert open("/dev/null").read() == ""
assert os.path.expanduser("~") == os.getcwd()
assert sys.argv == ["program.py"]
"""
    ran = sandbox.run(program)
    assert ran.is_ok, ran


def test_chance_differs_between_programs(sandbox: Sandbox) -> None:
    program = "import os, random; print(random.random(), os.urandom(8))"
    assert len({sandbox.run(program).stdout for _ in range(3)}) == 3


def test_order_of_sets_is_the_same_each_time() -> None:
    program = "print({'a', 'b', 'c', 'd', 'e', 'f'})"
    seen = set()
    for _ in range(3):
        with Sandbox() as sandbox:
            seen.add(sandbox.run(program).stdout)
    assert len(seen) == 1


def test_many_come_back_in_order() -> None:
    with Sandbox() as sandbox:
        outcomes = sandbox.run_many([f"print({number})" for number in range(40)], workers=3)
        assert [int(ran.stdout) for ran in outcomes] == list(range(40))


def test_preloaded_modules_are_there_at_once() -> None:
    program = "import sys; assert 'colorsys' in sys.modules"
    with Sandbox() as plain, Sandbox(preload=["colorsys"]) as loaded:
        assert plain.run(program).status is Status.ERROR
        assert loaded.run(program).is_ok


def test_processor_time_is_bounded_for_each_process(sandbox: Sandbox) -> None:
    program = "import resource; print(resource.getrlimit(resource.RLIMIT_CPU)[1])"
    assert int(sandbox.run(program).stdout) == 3


def test_a_warden_that_is_gone_is_replaced() -> None:
    with Sandbox() as sandbox:
        assert sandbox.run("pass").is_ok
        (warden,) = sandbox._idle
        warden._process.kill()
        warden._process.wait()
        assert sandbox.run("print(1)").stdout == "1\n"


def test_a_sandbox_that_does_not_start() -> None:
    with Sandbox(preload=["no_such_module"]) as sandbox, pytest.raises(PlanError) as caught:
        sandbox.run("pass")
    assert caught.value.problems[0].code == "CODE-001"
    assert "no_such_module" in str(caught.value)


def test_a_program_that_cannot_be_started_is_no_result() -> None:
    with Sandbox() as sandbox:
        assert sandbox.run("pass", stdin="x").is_ok
        (warden,) = sandbox._idle
        resource.prlimit(warden._process.pid, resource.RLIMIT_FSIZE, (0, 0))  # as when the disk is full
        with pytest.raises(PlanError) as caught:
            sandbox.run("pass", stdin="x")
    assert caught.value.problems[0].code == "CODE-002"
    assert "File too large" in str(caught.value)


def test_temporary_files_that_are_swept_away() -> None:
    with Sandbox() as sandbox:
        assert sandbox.run("pass").is_ok
        (warden,) = sandbox._idle
        warden._folder.cleanup()
        assert sandbox.run("print(1)").stdout == "1\n"


def test_visible_are_files_of_the_interpreter_only() -> None:
    files = warden_process._interpreter_files()
    own = ("/bin", "/lib", "/lib64", "/pyvenv.cfg", "/site-packages", "/dist-packages")
    assert all(path.endswith(own) for path in files)
    assert not {sys.prefix, sys.base_prefix, os.getcwd(), os.path.expanduser("~")} & set(files)


def test_namespaces_give_every_protection(sandbox: Sandbox) -> None:
    found = sandbox.protections()
    assert found.leftovers
    if found.why_not:
        assert found.why_not == "namespaces were turned off"
        return
    assert (found.network, found.files, found.processes) == (True, True, True)
    assert found.user == ("nobody" if os.getuid() == 0 else "the same user")


def test_protections_in_words() -> None:
    whole = Protections(network=True, files=True, processes=True, leftovers=True, user="nobody", calls=True)
    assert str(whole) == (
        "sandbox: no network, own files only, other processes out of reach, leftovers killed, "
        "system calls filtered, runs as nobody, limits of time, memory, processes and files"
    )
    bare = Protections(
        network=False, files=False, processes=False, leftovers=False, user="the same user", why_not="no"
    )
    assert (
        "NETWORK OPEN, FILES READABLE, OTHER PROCESSES IN REACH, LEFTOVERS MAY STAY, SYSTEM CALLS UNFILTERED"
        in str(bare)
    )
    assert str(bare).endswith("(no)")


def test_limits_are_checked() -> None:
    for wrong in ('{"seconds": 0}', '{"memory_mib": 0}', '{"processes": -1}'):
        with pytest.raises(msgspec.ValidationError):
            msgspec.json.decode(wrong, type=Limits)


def as_nobody(python: str, program: str) -> subprocess.CompletedProcess[str]:
    """Run a program of the test's as the user nobody, who finds Assay and its packages."""
    environment = {"PYTHONPATH": ASSAY_AND_PACKAGES, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [python, "-c", program]
    return subprocess.run(
        command,
        env=environment,
        capture_output=True,
        text=True,
        cwd="/",
        user=65534,
        group=65534,
        extra_groups=(),
    )


def interpreter_for_nobody() -> str:
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for python in (sys.executable, f"/usr/bin/{version}"):
        try:
            if as_nobody(python, "import assay.scoring.sandbox").returncode == 0:
                return python
        except OSError:
            continue
    pytest.skip("the user nobody may read no Python here that has Assay's packages")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_a_user_without_rights_has_the_same_protections() -> None:
    python = interpreter_for_nobody()
    with Sandbox() as ours:
        if ours.protections().why_not:
            pytest.skip(str(ours.protections()))
    program = """
import msgspec, os
from assay.scoring.sandbox import Sandbox
assert os.getuid() == 65534
with Sandbox() as sandbox:
    ran = sandbox.run("import os; print(os.getuid(), os.listdir('/proc/1/task'))")
    print(msgspec.json.encode([ran, sandbox.protections()]).decode())
"""
    done = as_nobody(python, program)
    assert done.returncode == 0, done.stderr
    ran, found = msgspec.json.decode(done.stdout, type=tuple[ProgramResult, Protections])
    assert (ran.status, ran.stdout) == (Status.OK, "65534 ['1']\n")
    assert found == Protections(
        network=True, files=True, processes=True, leftovers=True, user="the same user", calls=True
    )


def protections_after(preparation: str) -> Protections:
    """Return what holds on a machine that a shell command has made poorer, in namespaces of its own."""
    program = """
import msgspec
from assay.scoring.sandbox import Sandbox
with Sandbox() as sandbox:
    assert sandbox.run("print(1)").stdout == "1\\n"
    print(msgspec.json.encode(sandbox.protections()).decode())
"""
    shell = f'mount -t proc proc /proc && {preparation} && exec "$0" -c "$1"'
    command = ["unshare", "-Urmpf", "sh", "-c", shell, sys.executable, program]
    environment = {**os.environ, "PYTHONPATH": ASSAY_AND_PACKAGES}
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("there is no command unshare")
    if done.stderr.startswith(("unshare:", "mount:", "sh:")):
        pytest.skip(f"such a machine cannot be made here: {done.stderr}")
    assert done.returncode == 0, done.stderr
    return msgspec.json.decode(done.stdout, type=Protections)


def test_a_machine_without_user_namespaces_says_so() -> None:
    found = protections_after("echo 0 > /proc/sys/user/max_user_namespaces")
    # The filter of system calls needs no namespace, and takes the network.
    assert (found.network, found.files, found.processes, found.leftovers) == (True, False, False, True)
    assert found.calls
    assert found.why_not.startswith("no namespaces: ")
    assert "unshare" in found.why_not


def test_a_container_that_masks_parts_of_proc() -> None:
    """The kernel then refuses a new /proc; everything else holds."""
    found = protections_after("mount -t tmpfs none /proc/tty")
    assert (found.network, found.files, found.processes, found.leftovers) == (True, True, True, True)
