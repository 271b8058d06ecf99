"""No template variable shadows another one of the same page."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.template import engines
from django.template.base import FilterExpression, Node, NodeList, Variable
from django.template.defaulttags import ForNode, WithNode
from django.template.loader_tags import ExtendsNode, IncludeNode
from django.template.smartif import TokenBase

TEMPLATES = Path(settings.BASE_DIR) / "templates"

CONSTANTS = {"True", "False", "None"}


class Page:
    """The variables of one page and of all templates that it includes."""

    def __init__(self, name: str = "", source: str = "") -> None:
        self._engine = engines["django"].engine
        self._bound: set[str] = set()  # by `for`, `with` and `include ... with`
        self._free: set[str] = set()  # given by the view
        self._nested: set[str] = set()  # bound inside a binding of the same name
        self._assigned: set[str] = set()  # by `as`
        template = self._engine.from_string(source) if source else self._engine.get_template(name)
        self._walk(template.nodelist, frozenset())

    @property
    def shadowed(self) -> set[str]:
        return self._nested | (self._bound & self._free - self._assigned)

    def _walk(self, nodes: NodeList, scope: frozenset[str]) -> None:
        for node in nodes:
            self._visit(node, scope)

    def _visit(self, node: Node, scope: frozenset[str]) -> None:
        self._assigned |= {
            getattr(node, "asvar", None) or "",
            getattr(node, "target_var", "") or "",
        }
        self._free |= {name for name in names(vars(node)) if name not in scope}
        new = set(bound_by(node))
        self._nested |= new & scope
        self._bound |= new - options(node)
        inner = scope | new
        if isinstance(node, IncludeNode) and isinstance(node.template.var, str):
            self._walk(self._engine.get_template(node.template.var).nodelist, inner)
        elif isinstance(node, ForNode):
            self._walk(node.nodelist_loop, inner)
            self._walk(node.nodelist_empty, scope)
        else:
            for nodes in node_lists(node):
                self._walk(nodes, inner)


def bound_by(node: Node) -> list[str]:
    if isinstance(node, ForNode):
        return node.loopvars
    if isinstance(node, WithNode | IncludeNode):
        # `with name=name` hands a variable on and changes nothing.
        return [name for name, value in node.extra_context.items() if value.token != name]
    return []


def options(node: Node) -> set[str]:
    """Return the variables that an `include` sets to a constant. Otherwise they are unset."""
    if not isinstance(node, IncludeNode):
        return set()
    return {name for name, value in node.extra_context.items() if not list(names(value))}


def node_lists(node: Node) -> Iterator[NodeList]:
    if isinstance(node, ExtendsNode):
        yield node.nodelist
        return
    for value in vars(node).values():
        if isinstance(value, NodeList):
            yield value
    for _condition, nodes in getattr(node, "conditions_nodelists", ()):
        yield nodes


def names(value: object) -> Iterator[str]:
    """Yield the variables of a node's expressions, without those of the nodes inside it."""
    if isinstance(value, Variable):
        yield from {*(value.lookups or ())[:1]} - CONSTANTS
    for part in parts(value):
        yield from names(part)


def parts(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    if isinstance(value, FilterExpression):
        return value.var, value.filters
    if isinstance(value, TokenBase):  # the condition of an `if`
        return vars(value).values()
    if isinstance(value, list | tuple) and not isinstance(value, NodeList):
        return value
    return ()


def pages() -> list[str]:
    paths = (path.relative_to(TEMPLATES) for path in TEMPLATES.rglob("*.html"))
    whole = (path for path in paths if not path.name.startswith("_"))
    return sorted(str(path) for path in whole)


def test_no_template_variable_shadows_another() -> None:
    found = {name: shadowed for name in pages() if (shadowed := Page(name).shadowed)}
    assert pages()
    assert found == {}


@pytest.mark.parametrize(
    ("source", "shadowed"),
    [
        ("{{ site }}{% for site in sites %}{{ site }}{% endfor %}", {"site"}),
        ("{% if site.name %}{% with site=other %}{{ site }}{% endwith %}{% endif %}", {"site"}),
        ("{% for a in b %}{% for a in c %}{{ a }}{% endfor %}{% endfor %}", {"a"}),
        ("{% for a in b %}{{ a }}{% endfor %}{% for a in c %}{{ a }}{% endfor %}", set()),
    ],
)
def test_a_shadowed_variable_is_found(source: str, shadowed: set[str]) -> None:
    assert Page(source=source).shadowed == shadowed
