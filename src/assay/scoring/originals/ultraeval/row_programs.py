"""Builds test programs from a row of HumanEval or MBPP and a model's completion. Runs nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_MBPP_FIELDS = frozenset({"text", "code", "task_id", "test_setup_code", "test_list", "challenge_test_list"})
_HUMANEVAL_FIELDS = ("prompt", "test", "entry_point")


def checking_program(fields: Mapping[str, Any], completion: str, *, is_faithful: bool = False) -> str:
    """Return a program that runs to its last line if the completion is right.

    A row with all of MBPP's fields is MBPP's, any other is HumanEval's. For MBPP, the original prepends the
    task's text as a string, which breaks if the text contains quotes, and omits `test_setup_code`; here the
    text is omitted and the setup code is included.
    """
    if fields.keys() >= _MBPP_FIELDS:
        tests = "\n".join(fields["test_list"])
        if is_faithful:
            return f'"""{fields["text"]}\n{tests}"""\n{completion}\n{tests}'
        return "\n".join(part for part in (completion, fields["test_setup_code"], tests) if part)
    missing = [name for name in _HUMANEVAL_FIELDS if name not in fields]
    if missing:
        raise ValueError(
            f"function_execution: the row has no {', '.join(missing)}; expected HumanEval's prompt, test and "
            f"entry_point, or MBPP's {', '.join(sorted(_MBPP_FIELDS))}"
        )
    return f"{fields['prompt']}{completion}\n{fields['test']}\ncheck({fields['entry_point']})"


_DISABLED = {
    "builtins": "exit quit help",
    "os": "kill system putenv remove removedirs rmdir fchdir setuid fork forkpty killpg rename renames "
    "truncate replace unlink fchmod fchown chmod chown chroot lchflags lchmod lchown getcwd chdir",
    "shutil": "rmtree move chown",
    "subprocess": "Popen",
}
"""Functions that the original disables in the programs it runs, by module: each is None there."""
_ABSENT = "ipdb joblib resource psutil tkinter"
"""Modules that cannot be imported there."""
_GUARD = f"""
def _disable():
    import builtins, importlib, io, sys

    class Unreadable(io.StringIO):
        def read(self, *_):
            raise OSError

        readline = readlines = read

        def readable(self):
            return False

    disabled = {_DISABLED!r}
    modules = {{name: importlib.import_module(name) for name in disabled}}
    for name, functions in disabled.items():
        for function in functions.split():
            setattr(modules[name], function, None)
    for name in {_ABSENT!r}.split():
        sys.modules[name] = None
    sys.stdin = sys.stdout = sys.stderr = Unreadable()

_disable()
"""


def disable_functions(program: str) -> str:
    """Return a program that runs another as the original does: without potentially harmful functions.

    The sandbox makes them harmless. The original has no sandbox and disables them, so a right program that
    calls one does not pass there.
    """
    return f"{_GUARD}exec({program!r}, {{}})\n"
