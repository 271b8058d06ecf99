"""Where the ledger stands, from its own rows."""

from audit import history
from audit.standing import standing
from tests.audit.support import sql, write_many

NOTE = "siteledger\n3\nabcd\n\n\u2014 siteledger AAAA\n\u2014 siteledger-2027 BBBB\n"


def checkpoint(*places):
    sql(
        "INSERT INTO audit_checkpoint (size, head, root, frontier, note, created_at)"
        " SELECT 3, hash, 'abcd', '', %s, recorded_at FROM audit_entry WHERE seq = 3",
        NOTE,
    )
    for place in places:
        sql(
            "INSERT INTO audit_receipt (checkpoint_id, anchor, place, proof, anchored_at)"
            " SELECT 3, 'file', %s, '', recorded_at FROM audit_entry WHERE seq = 3",
            place,
        )


def test_an_empty_ledger_stands_at_nothing(db):
    now = standing()
    assert (now.entries, now.head, now.signed, now.unsigned) == (0, "", None, 0)


def test_without_a_checkpoint_all_is_unsigned(db):
    write_many(5)
    now = standing()
    assert (now.entries, now.head) == history.head()
    assert now.unsigned == 5


def test_the_last_checkpoint_says_who_signed_it_and_who_holds_it(db, django_assert_num_queries):
    write_many(5)
    checkpoint("/anchors", "/elsewhere")
    with django_assert_num_queries(3):
        now = standing()
    assert now.signed.size == 3
    assert now.signed.keys == ["siteledger", "siteledger-2027"]
    assert {held.place for held in now.signed.held} == {"/anchors", "/elsewhere"}
    assert now.unsigned == 2
