"""Tests of programs, with their comparisons made safe: an object that says it equals everything is no answer.

Knows the text of programs, and runs none.
"""

from __future__ import annotations

import ast

_NAME = "_assay_is_same"

_DEFINITION = f"""
def {_NAME}(got, wanted):
    if type(got) is not type(wanted):
        numbers = (bool, int, float, complex)
        return NUMBERS_MIX and type(got) in numbers and type(wanted) in numbers and got == wanted
    if isinstance(got, (list, tuple)):
        return len(got) == len(wanted) and all(map({_NAME}, got, wanted))
    if isinstance(got, dict):
        got, wanted = list(got.items()), list(wanted.items())
    elif not isinstance(got, (set, frozenset)):
        return (got == wanted) is True
    return len(got) == len(wanted) and all(any({_NAME}(one, other) for other in wanted) for one in got)
"""


def guard_assertions(tests: str, *, mixes_numbers: bool) -> str:
    """Return tests in which `assert X == Y` compares types too, and all parts of X and Y.

    With `mixes_numbers`, 3 and 3.0 are the same, as in Python. Tests that are no program are left as they
    are.
    """
    try:
        tree = ast.parse(tests)
    except SyntaxError:
        return tests
    changed = ast.unparse(ast.fix_missing_locations(_AssertGuard().visit(tree)))
    return f"{_DEFINITION.replace('NUMBERS_MIX', str(mixes_numbers))}\n{changed}"


class _AssertGuard(ast.NodeTransformer):
    def visit_Assert(self, node: ast.Assert) -> ast.Assert:
        compared = node.test
        if (
            isinstance(compared, ast.Compare)
            and len(compared.ops) == 1
            and isinstance(compared.ops[0], ast.Eq)
        ):
            sides = [compared.left, compared.comparators[0]]
            node.test = ast.Call(func=ast.Name(id=_NAME, ctx=ast.Load()), args=sides, keywords=[])
        return node
