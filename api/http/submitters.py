"""Names submitters in responses, and finds those of query parameters.

A submitter is a user name, `site:` and the number of a site, or a name of the software such as
`system:worker`. Rows store the owner of a token or the actor instead, with primary keys.
"""

from collections.abc import Iterable
from typing import Annotated

from pydantic import Field

from api.http.paging import NO_NUL
from audit.ledger import actors
from audit.ledger.actors import PERSON
from sites.models import Site, User

_SITE = "site:"
Submitter = Annotated[
    str,
    Field(
        max_length=200,
        pattern=NO_NUL,
        description="A user name, or `site:` and the number of a site.",
    ),
]


def find_owner(submitter: str) -> str:
    """Return how rows name a submitter. A name that does not exist is returned as it is."""
    if submitter.startswith(_SITE):
        site = Site.objects.filter(site_id=submitter.removeprefix(_SITE)).first()
        return f"{_SITE}{site.pk}" if site else submitter
    user = User.objects.filter(username=submitter).first()
    return f"{PERSON}{user.pk}" if user else submitter


def name_owners(owners: Iterable[str]) -> dict[str, str]:
    """Return the submitter of each owner that rows name."""
    found, names = set(owners), dict[str, str]()
    if keys := _list_keys(found, PERSON):
        users = User.objects.filter(pk__in=keys).values_list("pk", "username")
        names |= {f"{PERSON}{key}": name for key, name in users}
    if keys := _list_keys(found, _SITE):
        sites = Site.objects.filter(pk__in=keys).values_list("pk", "site_id")
        names |= {f"{_SITE}{key}": f"{_SITE}{number}" for key, number in sites}
    return {owner: names.get(owner, actors.drop_process(owner)) for owner in found}


def _list_keys(owners: Iterable[str], prefix: str) -> list[int]:
    rests = (owner.removeprefix(prefix) for owner in owners if owner.startswith(prefix))
    return [int(rest) for rest in rests if rest.isdecimal()]
