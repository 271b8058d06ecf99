"""Software signs its entries with the process that it was; people and tokens as themselves."""

import multiprocessing
import os
import re
import socket

import pytest

from audit.ledger import actors
from audit.ledger.actors import add_process, without_process
from audit.ledger.context import RequestOrigin, set_origin
from audit.ledger.queries import find_entries as latest
from tests.audit.support import write

pytestmark = pytest.mark.requirement("R40")


@pytest.fixture
def called(monkeypatch):
    """`called(name)`: how a worker of a host of that name is entered."""

    def answer(name):
        monkeypatch.setattr(socket, "gethostname", lambda: name)
        actors._process.cache_clear()
        return add_process("system:worker")

    yield answer
    actors._process.cache_clear()


def test_an_entry_of_software_says_which_process_on_which_host_it_was(db):
    write(actor="system:worker")
    (entry,) = latest()
    assert re.fullmatch(rf"system:worker@[A-Za-z0-9._-]+/{os.getpid()}", entry.actor)


@pytest.mark.parametrize("actor", ["user:7", "token:3", ""])
def test_who_is_no_software_is_entered_as_they_are(db, actor):
    write(actor=actor)
    assert latest()[0].actor == actor


def test_who_was_entered_in_full_stays_who_it_was(db):
    write(actor="system:cancel@elsewhere/12")
    assert latest()[0].actor == "system:cancel@elsewhere/12"


def test_a_process_that_was_forked_has_a_name_of_its_own():
    ours = add_process("system:worker")
    fork = multiprocessing.get_context("fork")
    with fork.Pool(1) as pool:
        theirs = pool.apply(add_process, ("system:worker",))
        (pid,) = (worker.pid for worker in pool._pool)
    assert theirs != ours
    assert theirs.endswith(f"/{pid}")


@pytest.mark.parametrize("name", ["vm\n3", "vm\x1b[2J", "v\udcff", "Zoë's", "a@b/1"])
def test_a_hosts_odd_name_puts_nothing_odd_into_a_line(db, called, name):
    assert re.fullmatch(r"system:worker@[A-Za-z0-9._-]+/\d+", called(name))
    write(actor="system:worker")


def test_a_hosts_long_name_is_cut(called):
    assert called("h" * 300) == f"system:worker@{'h' * 64}/{os.getpid()}"


@pytest.mark.parametrize(
    ("actor", "short"),
    [
        ("system:worker@vm-3/12", "system:worker"),
        ("system:worker", "system:worker"),
        ("user:7", "user:7"),
    ],
)
def test_in_short_it_is_what_it_was_called_before(actor, short):
    assert without_process(actor) == short


def test_a_commands_entry_says_who_ran_it_also_where_its_process_is_named(db):
    with set_origin(RequestOrigin({"os_user": "otto"}, lambda: ("system:cancel", ""))):
        write(0, actor="system:cancel")
        write(1, actor=add_process("system:cancel"))
    assert [entry.detail for entry in latest()] == [{"os_user": "otto"}] * 2
