"""The names of roles: the groups that give them, and the words that entries and signatures use.

This table is the only one. A role is what somebody acts as; the permissions of the groups are in
`ingestion.roles`. Entries keep the words of the release that wrote them: `label` explains these.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from audit.ledger.actors import OPERATIONS

ADMINISTRATORS, AUDITORS, COORDINATORS = "Administrators", "Auditors", "Site coordinators"
QA_LEADS, QA_REVIEWERS = "QA leads", "QA reviewers"
REGULATORY_AFFAIRS, OPERATORS = "Regulatory affairs", "Operations"

NO_ROLE = "no role"  # of a member of staff to whom no group was given

# By group, in the order in which the roles of one person are named.
NAMES: Mapping[str, str] = MappingProxyType(
    {
        ADMINISTRATORS: "administrator",
        QA_LEADS: "QA lead",
        QA_REVIEWERS: "QA reviewer",
        REGULATORY_AFFAIRS: "regulatory affairs",
        OPERATORS: OPERATIONS,
        AUDITORS: "auditor",
        COORDINATORS: "site coordinator",
    }
)

# Words of earlier releases, which stay in their entries.
_FORMER: Mapping[str, str] = MappingProxyType(
    {"staff": "staff, role not recorded", "ops": OPERATIONS}
)


def named(groups: Iterable[str]) -> list[str]:
    """Return the names of the roles that these groups give, in the order of the table.

    A group that is not in the table follows under its own name.
    """
    order = {group: place for place, group in enumerate(NAMES)}
    known = sorted(groups, key=lambda group: (order.get(group, len(order)), group))
    return [NAMES.get(group, group) for group in known]


def label(role: str) -> str:
    """Return the role of an entry for people: a word of an earlier release is explained."""
    return _FORMER.get(role, role)
