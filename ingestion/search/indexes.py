"""Implements the full-text indexes of both databases, beside the tables of `models.search`.

PostgreSQL has a column `tokens` (tsvector) with a GIN index, and a GIN index of trigrams of words.
The values are written by this product and not by `to_tsvector`, so that tokens are the same on
every database. Without the extension pg_trgm, only words that differ by one letter are similar.

SQLite has two virtual tables of FTS5: one with the tokens of pages, and one with the trigrams of
words.

The tokens of a page have a scope beside them, which names the site. So the index itself leaves out
the pages of other sites, and a search takes no longer because they have the same word.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import DatabaseError

from ingestion.search.query import AllOf, Expression, to_fts5, to_tsquery

PAGES_TABLE, WORDS_TABLE = "ingestion_indexedpage", "ingestion_indexedword"
FTS_PAGES, FTS_WORDS = "ingestion_pagetokens", "ingestion_wordtrigrams"  # of SQLite
TRIGRAM_INDEX = "indexed_words_by_trigram"  # of PostgreSQL
MIN_SIMILARITY = 0.35  # of trigrams, from 0 to 1: words that are compared letter by letter
MAX_CANDIDATES = 400  # words that are compared letter by letter
MAX_ROWS_PER_STATEMENT = 200
MAX_TOKENS = 2**14 - 2  # of a page, whose order PostgreSQL can store

_TOKENIZER = "tokenize=\"unicode61 remove_diacritics 0 categories 'L* N* M* Co'\""
_TRIGRAMS = "tokenize='trigram case_sensitive 1'"
_DELETE_PAGE = f"BEGIN DELETE FROM {FTS_PAGES} WHERE rowid = old.id; END"  # noqa: S608
_DELETE_WORD = f"""BEGIN DELETE FROM {FTS_WORDS} WHERE rowid IN (SELECT rowid FROM {FTS_WORDS}
    WHERE {FTS_WORDS} MATCH '"' || old.word || '"' AND word = old.word); END"""  # noqa: S608
# The triggers keep the virtual tables complete when rows are deleted. A migration that alters a
# table has to call `create_indexes` again, because Django then makes a new table.
_CREATE_SQLITE = (
    f"CREATE VIRTUAL TABLE IF NOT EXISTS {FTS_PAGES} USING fts5(tokens, scope, {_TOKENIZER})",
    f"CREATE VIRTUAL TABLE IF NOT EXISTS {FTS_WORDS} USING fts5(word, {_TRIGRAMS})",
    f"CREATE TRIGGER IF NOT EXISTS {FTS_PAGES}_delete AFTER DELETE ON {PAGES_TABLE} {_DELETE_PAGE}",
    f"CREATE TRIGGER IF NOT EXISTS {FTS_WORDS}_delete AFTER DELETE ON {WORDS_TABLE} {_DELETE_WORD}",
)
_CREATE_POSTGRESQL = (
    f"ALTER TABLE {PAGES_TABLE} ADD COLUMN IF NOT EXISTS tokens tsvector NOT NULL DEFAULT ''",
    # Tokens are stored in the row, as reading many rows in their order would be slow otherwise.
    f"ALTER TABLE {PAGES_TABLE} ALTER COLUMN tokens SET STORAGE MAIN",
    f"CREATE INDEX IF NOT EXISTS indexed_pages_by_token ON {PAGES_TABLE} USING gin (tokens)",
)


def create_indexes(database: BaseDatabaseWrapper) -> None:
    """Create what is missing of the indexes. Call it as the owner of the tables."""
    statements = _CREATE_SQLITE if database.vendor == "sqlite" else _CREATE_POSTGRESQL
    with database.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
    if database.vendor == "postgresql":
        create_trigram_index(database)


def drop_indexes(database: BaseDatabaseWrapper) -> None:
    """Drop the virtual tables of SQLite with their triggers.

    The indexes of PostgreSQL are dropped with the tables.
    """
    if database.vendor == "sqlite":
        with database.cursor() as cursor:
            for table in (FTS_PAGES, FTS_WORDS):
                cursor.execute(f"DROP TRIGGER IF EXISTS {table}_delete")
                cursor.execute(f"DROP TABLE IF EXISTS {table}")


def create_trigram_index(database: BaseDatabaseWrapper) -> bool:
    """Create the extension pg_trgm and its index, and return whether they exist.

    The extension is trusted: a role that may create objects in the database may create it, if the
    files of PostgreSQL's contrib package are installed.
    """
    try:
        with transaction.atomic(using=database.alias), database.cursor() as cursor:
            cursor.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
            cursor.execute(
                f"CREATE INDEX IF NOT EXISTS {TRIGRAM_INDEX} ON {WORDS_TABLE} "
                "USING gin (word gin_trgm_ops)"
            )
    except DatabaseError:
        return False
    return True


_with_trigrams: set[str] = set()  # databases that have the index of trigrams


def has_trigrams() -> bool:
    """Return whether words can be found by their trigrams. Once they can, it is not asked again."""
    if connection.vendor == "sqlite" or connection.alias in _with_trigrams:
        return True
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass(%s) IS NOT NULL", [TRIGRAM_INDEX])
        if cursor.fetchone()[0]:
            _with_trigrams.add(connection.alias)
    return connection.alias in _with_trigrams


def make_scope(site: int) -> str:
    """Return the token that names a site. No token of a page or of a query begins like it."""
    return f"={site}"


@dataclass(frozen=True, slots=True)
class PageRow:
    """A row of the index. `words` are packed as in `reading.provenance.pack_page_words`."""

    document: int
    site: int
    page: int
    words: bytes
    tokens: Sequence[str]


def insert_pages(rows: Sequence[PageRow]) -> None:
    """Insert rows with their tokens. The document of a row must not have the page yet."""
    columns = "document_id, site_id, page, words"
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            for row in rows:
                cursor.execute(
                    f"INSERT INTO {PAGES_TABLE} ({columns}) VALUES (%s, %s, %s, %s)",  # noqa: S608
                    [row.document, row.site, row.page, row.words],
                )
                cursor.execute(
                    f"INSERT INTO {FTS_PAGES} (rowid, tokens, scope) VALUES (%s, %s, %s)",  # noqa: S608
                    [cursor.lastrowid, " ".join(row.tokens), make_scope(row.site)],
                )
            return
        for at in range(0, len(rows), MAX_ROWS_PER_STATEMENT):
            some = rows[at : at + MAX_ROWS_PER_STATEMENT]
            listed = ", ".join(["(%s, %s, %s, %s, %s::tsvector)"] * len(some))
            values: list[Any] = []
            for row in some:
                vector = make_tsvector(row.site, row.tokens)
                values += [row.document, row.site, row.page, row.words, vector]
            cursor.execute(
                f"INSERT INTO {PAGES_TABLE} ({columns}, tokens) VALUES {listed}",  # noqa: S608
                values,
            )


def make_tsvector(site: int, tokens: Sequence[str]) -> str:
    """Return the text of a tsvector with the position of each token.

    Positions are those of the first MAX_TOKENS tokens. PostgreSQL stores at most 255 of a token.
    """
    positions: dict[str, list[int]] = {}
    for number, token in enumerate(tokens, 1):
        positions.setdefault(token, []).append(min(number, MAX_TOKENS))
    listed = [f"'{token}':{','.join(map(str, at[:255]))}" for token, at in positions.items()]
    return " ".join([f"'{make_scope(site)}'", *listed])


def insert_words(words: Collection[str]) -> None:
    """Add words to the vocabulary."""
    if not words:
        return
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            # The order prevents two processes from waiting for each other.
            cursor.execute(
                f"INSERT INTO {WORDS_TABLE} (word) SELECT unnest(%s::text[]) "
                "ON CONFLICT DO NOTHING",
                [sorted(words)],
            )
            return
        # SQLite has one writer at a time, so nobody else inserts the same words meanwhile.
        new = [(word,) for word in sorted(set(words) - find_known(words))]
        for table in (WORDS_TABLE, FTS_WORDS):
            cursor.executemany(f"INSERT INTO {table} (word) VALUES (%s)", new)  # noqa: S608


def delete_unused_words(words: Collection[str]) -> None:
    """Delete the words of the vocabulary that are on no page any more.

    On PostgreSQL, the table is locked until the end of the transaction. Other processes that index
    pages wait, so that none of them relies on a word that is deleted here.
    """
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(f"LOCK TABLE {WORDS_TABLE} IN SHARE ROW EXCLUSIVE MODE")
            for word in sorted(words):
                cursor.execute(
                    f"DELETE FROM {WORDS_TABLE} WHERE word = %s AND NOT EXISTS "  # noqa: S608
                    f"(SELECT 1 FROM {PAGES_TABLE} WHERE tokens @@ %s::tsquery)",
                    [word, f"'{word}'"],
                )
            return
        for word in sorted(words):
            cursor.execute(
                f"SELECT 1 FROM {FTS_PAGES} WHERE {FTS_PAGES} MATCH %s LIMIT 1",  # noqa: S608
                [f'tokens : "{word}"'],
            )
            if cursor.fetchone() is None:
                cursor.execute(f"DELETE FROM {WORDS_TABLE} WHERE word = %s", [word])  # noqa: S608


def purge_deleted() -> None:
    """Remove deleted tokens from the files of the database, as far as a transaction can.

    SQLite: FTS5 only marks deleted tokens until its segments are merged, so they are merged now.
    The freed pages of the file are overwritten. The write-ahead log is overwritten after the
    commit, unless a reader still needs it. PostgreSQL: deleted versions of rows cannot be selected,
    and stay in the files until VACUUM, which only the owner of the tables may run.
    """
    if connection.vendor != "sqlite":
        return
    with connection.cursor() as cursor:
        for table in (FTS_PAGES, FTS_WORDS):
            cursor.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")  # noqa: S608
    transaction.on_commit(_truncate_log)


def _truncate_log() -> None:
    if not connection.in_atomic_block:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")


@contextmanager
def overwrite_deleted() -> Iterator[None]:
    """Let SQLite overwrite with zeros what is deleted inside. Other databases do nothing."""
    if connection.vendor != "sqlite":
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA secure_delete")
        before = cursor.fetchone()[0]
        cursor.execute("PRAGMA secure_delete = 1")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f"PRAGMA secure_delete = {int(before)}")


def find_known(words: Collection[str]) -> set[str]:
    """Return those of many words that are in the vocabulary."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(
                f"SELECT word FROM {WORDS_TABLE} WHERE word = ANY(%s)",  # noqa: S608
                [list(words)],
            )
        else:
            cursor.execute(
                f"SELECT word FROM {WORDS_TABLE} WHERE word IN "  # noqa: S608
                "(SELECT value FROM json_each(%s))",
                [json.dumps(list(words))],
            )
        return {row[0] for row in cursor.fetchall()}


def find_by_trigrams(database: BaseDatabaseWrapper, word: str) -> set[str]:
    """Return words of the vocabulary that have many trigrams in common with this one."""
    with database.cursor() as cursor:
        if database.vendor == "postgresql":
            cursor.execute(
                "SELECT set_config('pg_trgm.similarity_threshold', %s, false)",
                [str(MIN_SIMILARITY)],
            )
            cursor.execute(
                f"SELECT word FROM {WORDS_TABLE} WHERE word %% %s "  # noqa: S608
                "AND length(word) BETWEEN %s AND %s ORDER BY similarity(word, %s) DESC LIMIT %s",
                [word, len(word) - 2, len(word) + 2, word, MAX_CANDIDATES],
            )
        else:
            trigrams = {word[at : at + 3] for at in range(len(word) - 2)}
            cursor.execute(
                f"SELECT word FROM {FTS_WORDS} WHERE {FTS_WORDS} MATCH %s "  # noqa: S608
                "AND length(word) BETWEEN %s AND %s ORDER BY rank LIMIT %s",
                [
                    " OR ".join(f'"{each}"' for each in sorted(trigrams)),
                    len(word) - 2,
                    len(word) + 2,
                    MAX_CANDIDATES,
                ],
            )
        return {row[0] for row in cursor.fetchall()}


def find_containing(database: BaseDatabaseWrapper, word: str) -> set[str]:
    """Return words of the vocabulary that contain this one, but do not begin with it."""
    with database.cursor() as cursor:
        if database.vendor == "postgresql":
            cursor.execute(
                f"SELECT word FROM {WORDS_TABLE} WHERE word LIKE %s AND word NOT LIKE %s "  # noqa: S608
                "ORDER BY length(word), word LIMIT %s",
                [f"%{word}%", f"{word}%", MAX_CANDIDATES],
            )
        else:
            cursor.execute(
                f"SELECT word FROM {FTS_WORDS} WHERE {FTS_WORDS} MATCH %s "  # noqa: S608
                "AND word NOT LIKE %s ORDER BY length(word), word LIMIT %s",
                [f'"{word}"', f"{word}%", MAX_CANDIDATES],
            )
        return {row[0] for row in cursor.fetchall()}


def list_newest_pages(sites: Sequence[int], before: int | None, limit: int) -> list[int]:
    """Return the keys of the newest rows of sites on PostgreSQL, the newest first.

    The rows of each site are read by an index. The planner would often read all rows instead, until
    it has found enough of these sites.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT newest.id FROM unnest(%s::bigint[]) AS own (site)
            CROSS JOIN LATERAL (SELECT id FROM {PAGES_TABLE} WHERE site_id = own.site AND id < %s
            ORDER BY id DESC LIMIT %s) AS newest ORDER BY newest.id DESC LIMIT %s""",  # noqa: S608
            [list(sites), 2**62 if before is None else before, limit, limit],
        )
        return [row[0] for row in cursor.fetchall()]


def make_condition(
    match: Expression, without: Expression | None, sites: Sequence[int] | None
) -> tuple[str, list[Any]]:
    """Return the SQL condition, and its parameters, for rows that match.

    On PostgreSQL it is about the column `tokens`, on SQLite about the virtual table. `without` are
    matches to be left out, and `sites` the sites to search, or None for all.
    """
    if connection.vendor == "postgresql":
        text = to_tsquery(match)
        if without:
            text += f" & !{to_tsquery(without)}"
        if sites is not None:
            text += f" & ({' | '.join(repr(make_scope(site)) for site in sites)})"
        return "tokens @@ %s::tsquery", [text]
    text = f"(tokens : {to_fts5(AllOf((match,)))})"
    if sites is not None:
        scopes = " OR ".join(f'"{make_scope(site)}"' for site in sites)
        text = f"({text} AND (scope : ({scopes})))"
    if without:
        text += f" NOT (tokens : {to_fts5(AllOf((without,)))})"
    return f"{FTS_PAGES} MATCH %s", [text]


def count_rows(names: Iterable[str]) -> dict[str, int]:
    """Return the number of rows of tables, for tests and commands."""
    counts = {}
    with connection.cursor() as cursor:
        for name in names:
            cursor.execute(f"SELECT count(*) FROM {name}")  # noqa: S608 - constants of this module
            counts[name] = cursor.fetchone()[0]
    return counts
