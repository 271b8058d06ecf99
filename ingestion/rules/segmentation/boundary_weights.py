"""The weights of the evidence that a page begins a document.

They were fitted by logistic regression (L2) to pairs of neighbouring pages of 117 real documents,
to pairs of different documents, and to generated specimens (docs/segmentation.md). They are log
odds: a positive weight speaks for a boundary.
"""

from collections.abc import Mapping
from types import MappingProxyType

BIAS = -1.33
WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "another person or number": 0.01,
        "attachment": -2.50,
        "before ends early": 1.47,
        "before is closed": 2.17,
        "before is last": 0.89,
        "before is not last": 0.34,
        "before is open": 0.35,
        "begins in lower case": -0.92,
        "both types are known": 1.10,
        "capitals": 0.41,
        "date line": 0.29,
        "large print": 1.22,
        "lead of the title": 1.13,
        "letter": 1.37,
        "number continues": -3.25,
        "number is higher": -0.44,
        "number is one": 0.73,
        "numbered as first": 1.22,
        "numbering continues": -0.88,
        "numbering jumps": 0.25,
        "other margin": 2.95,
        "other print": 2.84,
        "other size": 2.47,
        "other source": 0.37,
        "prominent title": 1.05,
        "same footer": -0.82,
        "same form": 0.46,
        "same header": -0.61,
        "shared identifier": -1.46,
        "shared words": -3.81,
        "title": 1.50,
        "title may be mentioned": -6.00,
        "title of another type": 1.18,
    }
)
