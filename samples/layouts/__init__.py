"""Makes specimens of every document type in several layouts, as institutions really write them.

`make_specimen(type, layout, seed)` returns the PDF and the values that are printed on it. The texts
of the layouts are in `texts/`, one file for each type, and one for documents of no type (OTHER).
`markup` describes how they are written.
"""

from samples.layouts.specimen import LAYOUTS, OTHER, OTHER_LAYOUTS, Specimen, make_specimen
from samples.layouts.translated import TRANSLATED_LAYOUTS, make_translated_specimen

__all__ = [
    "LAYOUTS",
    "OTHER",
    "OTHER_LAYOUTS",
    "TRANSLATED_LAYOUTS",
    "Specimen",
    "make_specimen",
    "make_translated_specimen",
]
