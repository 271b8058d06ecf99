"""Defines the height of the head of page 1, and patterns of salutations and institutions.

This module is pure. It knows no document types.
"""

import re

HEAD_SHARE = 0.62  # of the height of page 1, above which a letter has date and salutation
LETTERHEAD_SHARE = 0.4  # of the height of a page; the letterhead is above
MIN_INDENT = 8.0  # points between the left edges of two centred lines
SALUTATION = re.compile(r"(?i)^dear\b:?\s*(?P<name>.+?)[,:;]?$")
NAME_WORD = r"[^\W\d_a-z](?:[\w.'\u2019-]|&(?=[A-Z]))*"
CONNECTING_WORD = r"(?:of|the|and|at|for|in|&|de|del|della|do|da|di|des|du|la|le|d['\u2019](?=\w))"
# Words of institutions. In English documents, many names are in the language of the country.
_INSTITUTIONS = (
    r"University|UNIVERSITY|College|COLLEGE|Institute|INSTITUTE|Hospital|HOSPITAL|Infirmary|Clinic"
    r"|Health ?[Cc]are"
    r"|Medical Cent(?:er|re)|NHS (?:Foundation )?Trust|Polytechnic(?! University)"
    r"|Universit(?:\u00e4t(?:sklinikum|smedizin)?|at|eit|et|\u00e9|\u00e0)|Universidade?|Hochschule"
    r"|Fachhochschule|Hogeschool|H\u00f6gskola|Yliopisto|Klinikum|Politecnico|Polit\u00e9cnica"
    r"|[\u00c9E]cole|Uniwersytet|\u00dcniversitesi|Universitet|Egyetem|Instituto|Istituto|Ospedale"
    r"|(?<=[^\W\d_] )School of (?:Public Health|Medicine|Nursing|Pharmacy|Dentistry|Business"
    r"|Economics|Education|Law|Social Work|Design|Arts|Engineering|Hygiene)"
)
INSTITUTION = re.compile(
    rf"(?:{NAME_WORD} ){{0,5}}(?:{_INSTITUTIONS})\b"
    rf"(?: (?:{CONNECTING_WORD} )*{NAME_WORD}){{0,5}}"
)
