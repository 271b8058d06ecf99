"""Lists the ordinary words of regulatory documents in English.

A person checked the list: there are no names of people, institutions, places or products among the
words, except for those that are ordinary words too. The model of types learns from these words
only, and a name of a person does not consist of them alone.
"""

import re
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_name("ordinary_words.txt")
# The words of the list that are first names or surnames, too.
ALSO_NAMES = frozenset(
    re.findall(
        r"\w+",
        "april august best bill case chance day field grant green hand hope june law long mark may"
        " page price read summer will young",
    )
)


@cache
def get_words() -> frozenset[str]:
    """Return the words, in lower case."""
    return frozenset(FILE.read_text(encoding="utf-8").split())
