"""Find the tests that are marked with a requirement by reading their source code.

The matrix can therefore be made without pytest, and without a database for the tests.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

MARK = "requirement"


def read_requirements_of_tests(tests: Path) -> dict[str, frozenset[str]]:
    """Return the requirements that each test names, by the test's node id.

    `tests` is the folder beside the code. Tests without a requirement are left out. The result is
    empty if the tests are not installed.
    """
    found: dict[str, frozenset[str]] = {}
    for path in sorted(tests.rglob("test_*.py")):
        file = path.relative_to(tests.parent).as_posix()
        module = ast.parse(path.read_text(encoding="utf-8"))
        of_module: frozenset[str] = frozenset()
        for node in module.body:  # `pytestmark = ...`
            if isinstance(node, ast.Assign) and any(
                isinstance(target, ast.Name) and target.id == "pytestmark"
                for target in node.targets
            ):
                of_module |= _marked(node.value)
        for name, ids in _find_tests(module.body, of_module):
            if ids:
                found[f"{file}::{name}"] = ids
    return found


def _find_tests(
    nodes: list[ast.stmt], inherited: frozenset[str], prefix: str = ""
) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the tests of a module or class with their own and their inherited requirements."""
    for node in nodes:
        if isinstance(node, ast.ClassDef):
            own = inherited.union(*map(_marked, node.decorator_list))
            yield from _find_tests(node.body, own, f"{prefix}{node.name}::")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (
            node.name.startswith("test")
        ):
            yield f"{prefix}{node.name}", inherited.union(*map(_marked, node.decorator_list))


def _marked(node: ast.expr) -> frozenset[str]:
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
