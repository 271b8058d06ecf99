"""Find the tests that are marked with a requirement by reading their source code.

So the matrix can be made where neither pytest nor a database for it is installed.
"""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

MARK = "requirement"


def requirements_of_tests(tests: Path) -> dict[str, frozenset[str]]:
    """Return the requirements that each test names, by the test's node id.

    Tests that name none are left out.

    `tests` is the folder beside the code. Empty where it was not installed.
    """
    found: dict[str, frozenset[str]] = {}
    for path in sorted(tests.rglob("test_*.py")):
        file = path.relative_to(tests.parent).as_posix()
        found |= {f"{file}::{name}": rows for name, rows in _in(path) if rows}
    return found


def _in(path: Path) -> Iterator[tuple[str, frozenset[str]]]:
    module = ast.parse(path.read_text(encoding="utf-8"))
    of_all = frozenset(row for node in module.body for row in _of_the_module(node))
    yield from _tests(module.body, of_all)


def _tests(
    nodes: list[ast.stmt], rows: frozenset[str], within: str = ""
) -> Iterator[tuple[str, frozenset[str]]]:
    for node in nodes:
        if isinstance(node, ast.ClassDef):
            own = rows.union(*map(_named, node.decorator_list))
            yield from _tests(node.body, own, f"{within}{node.name}::")
        elif _is_test(node):
            yield f"{within}{node.name}", rows.union(*map(_named, node.decorator_list))


def _is_test(node: ast.stmt) -> TypeGuard[ast.FunctionDef | ast.AsyncFunctionDef]:
    kinds = ast.FunctionDef | ast.AsyncFunctionDef
    return isinstance(node, kinds) and node.name.startswith("test")


def _of_the_module(node: ast.stmt) -> frozenset[str]:
    """Return the requirements of `pytestmark = ...`, if the statement is one."""
    if isinstance(node, ast.Assign) and any(
        isinstance(target, ast.Name) and target.id == "pytestmark" for target in node.targets
    ):
        return _named(node.value)
    return frozenset()


def _named(node: ast.expr) -> frozenset[str]:
    """Return the requirements of all marks in an expression: a decorator or a list of marks."""
    return frozenset(
        str(argument.value)
        for call in ast.walk(node)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == MARK
        for argument in call.args
        if isinstance(argument, ast.Constant)
    )
