"""Parses what a person typed, and builds the expressions that match it.

An expression is a tree of `Phrase`, `AllOf` and `AnyOf`. `to_tsquery` and `to_fts5` write it in the
language of a database. Tokens consist of letters, digits and marks only, so nothing that a person
typed can act as an operator of these languages.

A page matches if it has all terms of a query. Matches of three kinds are distinguished, the best
first: the exact words, words that begin with them, and similar words.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from ingestion.search.tokens import is_unspaced, list_vocabulary, tokenise_text

MAX_QUERY_CHARACTERS = 200
MAX_TERMS = 12
MIN_PREFIX_CHARACTERS = 3  # of a word whose longer forms are found, too
MIN_UNSPACED_PAIRS = 3  # of a term in which one character may be misread
_PARTS = re.compile(r"[\"\u201c\u201d\u201e\u00ab\u00bb]")


class Match(IntEnum):
    """The kinds of matches, the best first."""

    EXACT = 0  #: The page has the words as they were typed.
    PREFIX = 1  #: The page has words that begin with those that were typed.
    SIMILAR = 2  #: The page has similar words, which may be misread or misspelt.


@dataclass(frozen=True, slots=True)
class Phrase:
    """Tokens that follow each other. With `is_prefix`, the last one may be longer."""

    tokens: tuple[str, ...]
    is_prefix: bool = False


@dataclass(frozen=True, slots=True)
class AllOf:
    """All of these expressions match. There is at least one."""

    parts: "tuple[Expression, ...]"


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least one of these expressions matches. There is at least one."""

    parts: "tuple[Expression, ...]"


Expression = Phrase | AllOf | AnyOf


class QueryRefused(Exception):
    """A query cannot be searched. `reason` is one of EMPTY, TOO_LONG and TOO_MANY_TERMS."""

    EMPTY, TOO_LONG, TOO_MANY_TERMS = "empty", "too-long", "too-many-terms"

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Term:
    """A word or a phrase of a query. Only exact matches are found if it was in quotation marks."""

    tokens: tuple[str, ...]
    is_quoted: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """The terms that a person searches for."""

    terms: tuple[Term, ...]

    @property
    def vocabulary(self) -> set[str]:
        """Return the words for which similar ones can be found."""
        return list_vocabulary(
            token for term in self.terms if not term.is_quoted for token in term.tokens
        )

    def build(self, match: Match, similar: Mapping[str, Sequence[str]]) -> Expression:
        """Return the expression for one kind of match.

        `similar` has the similar words of each word of `vocabulary`, which only SIMILAR uses. Each
        kind includes the better ones.
        """
        return AllOf(tuple(_match_term(term, match, similar) for term in self.terms))


def parse_query(text: str) -> Query:
    """Return the query of a text. Raises QueryRefused.

    Words in quotation marks are a phrase. All other punctuation only separates tokens: what is
    written without a blank, such as "CT-1234", is a phrase, too.
    """
    if len(text) > MAX_QUERY_CHARACTERS:
        raise QueryRefused(QueryRefused.TOO_LONG)
    terms: dict[Term, None] = {}  # without repetitions, in their order
    for number, part in enumerate(_PARTS.split(text)):
        is_quoted = number % 2 == 1
        for chunk in [part] if is_quoted else part.split():
            if tokens := tokenise_text(chunk):
                terms[Term(_drop_last_character(tokens), is_quoted)] = None
    if not terms:
        raise QueryRefused(QueryRefused.EMPTY)
    if len(terms) > MAX_TERMS:
        raise QueryRefused(QueryRefused.TOO_MANY_TERMS)
    return Query(tuple(terms))


def _drop_last_character(tokens: Sequence[str]) -> tuple[str, ...]:
    """Return tokens without single characters after a pair, which stands before the next pair."""
    kept = [
        token
        for before, token in zip(["", *tokens], tokens, strict=False)
        if not (len(token) == 1 and is_unspaced(token) and len(before) > 1 and before[-1] == token)
    ]
    return tuple(kept)


def _match_term(term: Term, match: Match, similar: Mapping[str, Sequence[str]]) -> Expression:
    is_prefix = match is not Match.EXACT and not term.is_quoted and _may_be_prefix(term.tokens[-1])
    # A single character of an unspaced script is indexed as the beginning of a pair.
    is_prefix = is_prefix or (len(term.tokens[-1]) == 1 and is_unspaced(term.tokens[-1]))
    phrase = Phrase(term.tokens, is_prefix)
    if match is not Match.SIMILAR or term.is_quoted:
        return phrase
    if all(is_unspaced(token) for token in term.tokens):
        return _forgive_one_character(phrase)
    parts: list[Expression] = []
    for token in term.tokens:
        words = [Phrase((word,)) for word in similar.get(token, ()) if word != token]
        own = Phrase((token,), _may_be_prefix(token))
        parts.append(AnyOf((own, *words)) if words else own)
    return AnyOf((phrase, AllOf(tuple(parts)))) if len(parts) > 1 else parts[0]


def _may_be_prefix(token: str) -> bool:
    return len(token) >= MIN_PREFIX_CHARACTERS and not is_unspaced(token) and not token.isdigit()


def _forgive_one_character(phrase: Phrase) -> Expression:
    """Return an expression that also matches if one character of an unspaced script was misread.

    A misread character changes the two pairs that contain it. At least half of the pairs have to
    remain, so short terms are not forgiven.
    """
    pairs = phrase.tokens
    if len(pairs) < MIN_UNSPACED_PAIRS:
        return phrase
    others: list[Expression] = [phrase]
    for misread in range(len(pairs) + 1):
        before, after = pairs[: max(0, misread - 1)], pairs[misread + 1 :]
        rest = tuple(Phrase(part) for part in (before, after) if part)
        if 2 * (len(before) + len(after)) >= len(pairs) - 1:
            others.append(AllOf(rest))
    return AnyOf(tuple(others))


def iter_phrases(expression: Expression) -> Iterator[Phrase]:
    """Yield the phrases of an expression."""
    if isinstance(expression, Phrase):
        yield expression
    else:
        for part in expression.parts:
            yield from iter_phrases(part)


def to_tsquery(expression: Expression) -> str:
    """Return the expression as a `tsquery` of PostgreSQL."""
    if isinstance(expression, Phrase):
        tokens = [f"'{token}'" for token in expression.tokens]
        tokens[-1] += ":*" if expression.is_prefix else ""
        return f"({' <-> '.join(tokens)})"
    operator = " & " if isinstance(expression, AllOf) else " | "
    return f"({operator.join(map(to_tsquery, expression.parts))})"


def to_fts5(expression: Expression) -> str:
    """Return the expression in the language of SQLite's FTS5."""
    if isinstance(expression, Phrase):
        return f'"{" ".join(expression.tokens)}"' + (" *" if expression.is_prefix else "")
    operator = " AND " if isinstance(expression, AllOf) else " OR "
    return f"({operator.join(map(to_fts5, expression.parts))})"
