"""The reasons for which a person has to confirm the proposed division of a file.

The function marks the sentences for makemessages, and the page that shows them translates them.
"""

from collections.abc import Mapping
from types import MappingProxyType


def _(message: str) -> str:
    return message


REASONS: Mapping[str, str] = MappingProxyType({
    "signed-file": _(
        "The file is digitally signed. It is never divided, because its parts would lose the "
        "signature."
    ),
    "unsure-starts": _("It is not certain on which pages documents begin."),
})  # fmt: skip
