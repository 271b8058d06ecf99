"""Tests of the names of actors: software with its process, people and tokens without one."""

import multiprocessing
import os
import re
import socket

import pytest

from audit.ledger import actors
from audit.ledger.actors import add_process, drop_process
from audit.ledger.context import RequestOrigin, set_origin
from audit.ledger.queries import find_entries as latest
from tests.audit.support import write

pytestmark = pytest.mark.requirement("R40")


@pytest.fixture
def worker_name(monkeypatch):
    """Return a function that returns the name of a worker on a host with a given name."""

    def name_on(host):
        monkeypatch.setattr(socket, "gethostname", lambda: host)
        actors._process.cache_clear()
        return add_process("system:worker")

    yield name_on
    actors._process.cache_clear()


def test_an_entry_of_software_states_its_host_and_process(db):
    write(actor="system:worker")
    (entry,) = latest()
    assert re.fullmatch(rf"system:worker@[A-Za-z0-9._-]+/{os.getpid()}", entry.actor)


@pytest.mark.parametrize("actor", ["user:7", "token:3", ""])
def test_names_of_people_and_tokens_are_recorded_unchanged(db, actor):
    write(actor=actor)
    assert latest()[0].actor == actor


def test_a_name_with_a_process_is_recorded_unchanged(db):
    write(actor="system:cancel@elsewhere/12")
    assert latest()[0].actor == "system:cancel@elsewhere/12"


def test_a_forked_process_has_its_own_name():
    ours = add_process("system:worker")
    fork = multiprocessing.get_context("fork")
    with fork.Pool(1) as pool:
        theirs = pool.apply(add_process, ("system:worker",))
        (pid,) = (worker.pid for worker in pool._pool)
    assert theirs != ours
    assert theirs.endswith(f"/{pid}")


@pytest.mark.parametrize("name", ["vm\n3", "vm\x1b[2J", "v\udcff", "Zoë's", "a@b/1"])
def test_unusual_characters_of_a_host_name_are_replaced(db, worker_name, name):
    assert re.fullmatch(r"system:worker@[A-Za-z0-9._-]+/\d+", worker_name(name))
    write(actor="system:worker")


def test_a_long_host_name_is_truncated(worker_name):
    assert worker_name("h" * 300) == f"system:worker@{'h' * 64}/{os.getpid()}"


@pytest.mark.parametrize(
    ("actor", "short"),
    [
        ("system:worker@vm-3/12", "system:worker"),
        ("system:worker", "system:worker"),
        ("user:7", "user:7"),
    ],
)
def test_the_name_without_its_process_is_that_of_early_releases(actor, short):
    assert drop_process(actor) == short


def test_an_entry_of_a_command_states_who_ran_it_and_its_process(db):
    with set_origin(RequestOrigin({"os_user": "otto"}, lambda: ("system:cancel", ""))):
        write(0, actor="system:cancel")
        write(1, actor=add_process("system:cancel"))
    assert [entry.detail for entry in latest()] == [{"os_user": "otto"}] * 2
