"""Keeps sites apart: a model is trained with documents of some sites and tested on those of others.

Documents of one site resemble each other, because they come from the same institution. So all
documents of a site are on one side. A site stays on its side for ever: the documents on which
models are compared were used to train none of them.
"""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass

TEST_SHARE = 0.3  # of the documents that are kept apart, if the sites can be divided so


@dataclass(frozen=True, slots=True)
class SitesApart:
    """The numbers of the sites on both sides."""

    training: frozenset[str]
    test: frozenset[str]


def keep_sites_apart(
    sites_of_documents: Iterable[str],
    *,
    training: Collection[str] = (),
    test: Collection[str] = (),
) -> SitesApart:
    """Return the sides of the sites, given the site of each document.

    `training` and `test` are the sites that earlier models assigned; they keep their sides. Other
    sites follow in an order that depends on nothing but their numbers, so that nobody chooses them.
    With one site, there is nothing to test with.
    """
    counts = Counter(sites_of_documents)
    sides = {
        "training": {site for site in training if site not in test},
        "test": set(test),
    }
    known = sides["training"] | sides["test"]
    tested = sum(counts[site] for site in sides["test"])
    assigned = tested + sum(counts[site] for site in sides["training"])
    for site in sorted(counts.keys() - known, key=_order):
        assigned += counts[site]
        # The first site is for training, because nothing can be tested without a model.
        is_test = bool(sides["training"]) and tested + counts[site] / 2 < TEST_SHARE * assigned
        is_test = is_test or (bool(sides["training"]) and not sides["test"])
        sides["test" if is_test else "training"].add(site)
        tested += counts[site] if is_test else 0
    return SitesApart(frozenset(sides["training"]), frozenset(sides["test"]))


def _order(site: str) -> str:
    return hashlib.sha256(site.encode()).hexdigest()
