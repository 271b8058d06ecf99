"""Names the roles: the groups that assign them, and the terms in entries and signatures.

This is the only table of roles. The permissions of the groups are in `ingestion.roles`. Ledger
entries keep the terms of the release that wrote them, which `get_role_label` explains.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from audit.ledger.actors import OPERATIONS

ADMINISTRATORS, AUDITORS, COORDINATORS = "Administrators", "Auditors", "Site coordinators"
QA_LEADS, QA_REVIEWERS = "QA leads", "QA reviewers"
REGULATORY_AFFAIRS, OPERATORS = "Regulatory affairs", "Operations"

NO_ROLE = "no role"  # of a member of staff without a group

# By group. The roles of one person are listed in this order.
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

# Terms of earlier releases, which remain in their entries.
_FORMER_TERMS: Mapping[str, str] = MappingProxyType(
    {"staff": "staff, role not recorded", "ops": OPERATIONS}
)


def list_role_names(groups: Iterable[str]) -> list[str]:
    """Return the names of the roles that these groups assign, in the order of the table.

    Groups that are not in the table follow under their own names.
    """
    order = {group: place for place, group in enumerate(NAMES)}
    known = sorted(groups, key=lambda group: (order.get(group, len(order)), group))
    return [NAMES.get(group, group) for group in known]


def get_role_label(role: str) -> str:
    """Return the role of an entry for people. Terms of earlier releases are explained."""
    return _FORMER_TERMS.get(role, role)
