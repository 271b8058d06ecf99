"""Lists the reasons for which a person has to confirm the proposed division of a file.

The page that shows the sentences translates them.
"""

from collections.abc import Mapping
from types import MappingProxyType

from audit.translation import gettext_noop as _

REASONS: Mapping[str, str] = MappingProxyType({
    "signed-file": _(
        "The file is digitally signed. It is never divided, because its parts would lose the "
        "signature."
    ),
    "unsure-starts": _("It is not certain on which pages documents begin."),
    "unread-separator": _("The code of a separator sheet could not be read."),
    "repeated-separator": _("The same separator sheet is in the file twice."),
    "other-site": _("A separator sheet was printed for another site."),
    "unknown-type": _("A separator sheet names a document type that is not known."),
    "pages-before-separator": _("There are pages before the first separator sheet."),
    "empty-separator": _("A separator sheet is not followed by a document."),
    "separator-missing": _(
        "Several documents seem to follow one separator sheet. A separator sheet may be missing."
    ),
})  # fmt: skip
