"""All URLs of the resolver with their names, and paths to existing objects."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from django.urls import URLPattern, URLResolver, get_resolver

_PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")


@dataclass(frozen=True, slots=True)
class Address:
    name: str  # with its namespace; of what has none, its pattern
    pattern: str
    view: Callable[..., object]


def addresses() -> list[Address]:
    return list(_below(get_resolver(), "", ""))


def _below(resolver: URLResolver, before: str, space: str) -> Iterator[Address]:
    for each in resolver.url_patterns:
        pattern = f"{before}{each.pattern}"
        if isinstance(each, URLPattern):
            yield Address(f"{space}{each.name or pattern}", pattern, each.callback)
        else:
            inner = f"{each.namespace}:" if each.namespace else ""
            yield from _below(each, pattern, space + inner)


def path_to(address: Address, known: Mapping[str, object]) -> str:
    """Return a path. `known` has values by `name.parameter` or by the parameter alone.

    For a regular expression it has the complete path, by its name.
    """
    if address.name in known:
        return str(known[address.name])

    def value(found: re.Match[str]) -> str:
        own = f"{address.name}.{found[1]}"
        return str(known[own] if own in known else known[found[1]])

    return "/" + _PARAMETER.sub(value, address.pattern)
