"""Defines the pattern of a printed name of a person, and finds where it ends in a line."""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import takewhile

from ingestion.rules import ordinary_words
from ingestion.rules.fields.persons import names

_CAPITAL, _IN_NAME = r"[^\W\d_a-z]", r"[\w.'\u2019-]"
_PARTICLE = (
    r"(?:van|von|de|der|den|del|dela|della|di|da|dos|du|la|le|ter|ten|bin|binti|bint|ibn|al|zu|zur|af"
    r"|e|y|i|['\u2019]t)"
)
# Before the capital of a name: "d'Aubigny", "al-Sayed".
_PREFIX = r"(?:d['\u2019]|(?:al|el|ad|as|ar|ash|az|an|bin|ibn)-)?"
_NICKNAME = r"(?:[(\"\u201c'][^\W\d_a-z][^\W\d_]*[)\"\u201d'])"
# As in Prof. dr. ir. or Prof. Dr. med. Karin von der Heide
_DEGREE = r"(?:(?:med|dent|univ|rer|nat|sc|phil|dr|ir|drs|hab|habil)\.|dr(?= hab\.))"
_RELATION = r"[SDWC]/[oO]\b"  # "son of", before the name of a father
_PATRONYMIC = r"[Aa]/[PpLl]\b"  # in Malaysia, where the name of the father belongs to the name
PATTERN = (
    rf"(?:A/Prof\b\.?|{_CAPITAL}{_IN_NAME}*,?)"
    rf"(?: (?!{_RELATION})(?:{_PATRONYMIC}"
    rf"|(?:{_PARTICLE} ){{0,3}}{_PREFIX}{_CAPITAL}{_IN_NAME}*,?|{_DEGREE}"
    rf"|{_NICKNAME}(?= (?:{_PARTICLE} ){{0,3}}{_CAPITAL}))){{1,7}}"
)
# A name in Chinese characters or in Korean letters is one word, or a surname and a given name.
_EAST_ASIAN_NAME = (
    r"(?:[\u3400-\u9fff\u3005]{2,5}(?: [\u3041-\u30fe\u3400-\u9fff\u3005]{1,4})?"
    r"|[\uac00-\ud7a3]{2,5})(?![\u3041-\u30fe\u3400-\u9fff\uac00-\ud7a3])"
)
_EAST_ASIAN = re.compile(_EAST_ASIAN_NAME)
# At a caption, a name may begin with a particle, as in "van der Berg, Ann", or with titles in small
# letters, as in "dr. ir. J. van den Berg".
_SMALL_TITLES = (
    r"(?:(?:dr|drs|ir|ing|mr|mw|dhr|prof|prof\. dr|hab|in\u017c|lek|lek\. med)\. |dr |mgr "
    r"|n\. (?:[a-z]{2,5}\. ){1,2})"
)
PATTERN_AT_CAPTION = (
    rf"{_EAST_ASIAN_NAME}"
    rf"|(?:(?:(?:{_PARTICLE} ){{1,3}}|(?:{_SMALL_TITLES}){{1,4}})(?={_CAPITAL}))?{PATTERN}"
)
_TITLES_BEFORE = re.compile(
    r"(?:(?:[Dd]r|[Pp]rof|hab)\.? ){0,3}(?:n\. (?:[a-z]{2,5}\. ){1,2}|lek\. med\. )"
    rf"(?={_CAPITAL})"
)
_NAME = re.compile(rf"(?:(?:{_SMALL_TITLES}){{1,4}})?{PATTERN}")

# Words that follow a name in its line and do not belong to it, in lower case.
_ROLES = frozenset(
    re.findall(
        r"[\w-]+",
        "assistant associate adjunct senior junior lead principal co-investigator investigator"
        " researcher research lecturer reader fellow student candidate director coordinator chair"
        " department dept division school faculty institute university college hospital centre"
        " center email e-mail phone tel telephone fax date signature title role irb iec reb rec id"
        " no number"
        " study protocol project site dear from to re subject cc and the has is was will with"
        " linguistics psychology biology medicine engineering january february march april may june"
        " july august september october november december",
    )
)
# Words that no name of a person has, in lower case. Titles print them with capital letters.
_NOT_IN_NAMES = frozenset(
    re.findall(
        r"\w+",
        "form consent certificate certification completion report study studies research protocol"
        " board committee university college hospital institute department school faculty office"
        " review approval approved notice letter memorandum information sheet statement informed"
        " training course program programme module practice clinical human subjects ethics ethical"
        " institutional curriculum vitae biographical sketch education training log page version"
        " number title date signature investigator investigators participant participants subject"
        " phase ltd limited inc llc gmbh corporation company pharma pharmaceuticals therapeutics"
        " biosciences foundation trust ministry national council society association"
        " infirmary clinic clinics laboratory laboratories centres centers unit academy polytechnic"
        " trust healthcare royal general regional memorial county state national international"
        " brochure edition permit license licence licensed physician reference status expires"
        " learning nhs cv abbreviated summary"
        " partnership principal"
        " consulting credential credentials record records transcript provider skills network group"
        " services service solutions systems online portal registry register department division"
        " name names printed first last full given family surname surnames forename forenames"
        " achievement attendance"
        " participation award agency bureau authority commission gcp ich degree degrees"
        " agreement agreements nondisclosure contract"
        " employee learner trainee personal profile gmbh llp plc"
        " \u00e4rztekammer landes\u00e4rztekammer curso fundaci\u00f3n chamber"
        " dear sincerely regards hello"
        " hôpital hôpitaux université comité clinique faculté institut recherche étude"
        " attestation formation klinikum krankenhaus universität"
        " universitätsklinikum klinik kommission studie prüfung bescheinigung universidad"
        " universidade università ospedale azienda comitato comitê comissão comisión instituto"
        " facultad faculdade estudo estudio pesquisa investigación ensayo certificado"
        " ziekenhuis universiteit commissie onderzoek szpital uniwersytet komisja badanie"
        " trail esplanade boulevard parkway highway terrace"
        " street avenue road suite building center centre medical health services sciences the of",
    )
)
_ENDS_OF_STREETS = (" St.", " Ave.", " Rd.", " Blvd.", " Pkwy.")
_ENDS_OF_COMPANIES = (
    " S.A.",
    " S.A.S.",
    " S.p.A.",
    " S.L.",
    " S.r.l.",
    " B.V.",
    " N.V.",
    " A/S",
    " K.K.",
    " s.r.o.",
    " PLLC",
)
_NUMBER_BEHIND = re.compile(r"\s*\([^()]*\d[^()]*\)\s*$")  # of a student or a member of staff
_SPECIALITY_BEHIND = re.compile(r"(?<=[A-Z.])\s\([^\W\d_][^()\d]{3,40}\)(?=,|$)")  # of a degree
_PLACE_BEHIND = re.compile(
    r"(?i) (?:centre|center|hospital|university|institute|college|school|department|faculty"
    r"|division|clinic|site)\b"
    r"| (?:[\w-]+,? ){0,3}(?:llc|pllc|llp|inc|ltd|gmbh)\b"
)
_PARTICLES_OF_SURNAMES = frozenset(
    re.findall(
        r"\w+",
        "van von de der den del dela della di da dos du la las le los ter ten bin ibn al el zu zur"
        " st saint san santa mac mc n\u00ed \u00f3 o ap",
    )
)
_GIVEN_NAMES = re.compile(rf"{_CAPITAL}{_IN_NAME}*(?: {_CAPITAL}{_IN_NAME}*){{0,3}}")
# "My name is Ann Cole. I work at": no initial
_NEW_SENTENCE = re.compile(r"(?<=[^\W\d_]{3})\.\s(?=I\b(?!\.))")
_MAX_SYLLABLE = 6  # letters of a Chinese name
_MAX_ABBREVIATION = 4  # letters, as in "Prof."; a longer word with a dot ends a sentence
_CAPITALS = re.compile(r"[A-Z]{2,6}[,.;]?")
_GENERATIONS = frozenset({"jr", "sr", "ii", "iii", "iv"})
_BRACKETED_TITLE = re.compile(
    r"^\W*(?:(?:Dr|Prof)\.?\s*)?\((?:Dr|Mr|Mrs|Ms|Miss|Smt|Capt|Col|Maj|Lt|Brig|Sr|Fr)\.?\)\s*"
)  # as in "Dr. (Mrs.) Ann Smith"
_ACADEMIC = frozenset({"dr", "prof", "professor"})
_TITLES = frozenset(re.findall(r"\w+", "dr prof professor mr mrs ms miss sir dame doctor pd priv"))


def blank_bracketed_title(text: str) -> str:
    """Return a text of the same length without a title in brackets before a name."""
    return _BRACKETED_TITLE.sub(lambda title: " " * len(title[0]), text)


def trim(text: str) -> str:
    """Return the name with which a text begins, without what follows it in its line.

    A role ends it, as in "Ann Smith, Assistant Professor", and so does any word after a degree that
    is no degree, as in "Ann Smith, PhD. Linguistics". Titles before the name are kept.
    """
    kept: list[str] = []
    has_degree = False
    if east_asian := _EAST_ASIAN.match(text):
        return east_asian[0]
    if is_surname_first(text):
        return text.strip(" ,;")
    # "n." of "n. med." has the form of an initial.
    if (titles := _TITLES_BEFORE.match(text)) and titles.end() < len(text):
        return titles[0] + trim(text[titles.end() :])
    written_words = _NEW_SENTENCE.split(text)[0].split()
    for place, written in enumerate(written_words):
        word = written.strip(".,;:").casefold()
        is_degree = not names.split_name(written) and (has_degree or word not in _TITLES)
        # Behind a degree and a comma, capital letters are another degree.
        is_degree |= (
            has_degree and kept[-1].endswith(",") and _CAPITALS.fullmatch(written) is not None
        )
        count = sum(1 for each in kept if names.split_name(each))
        is_title_after = word in _TITLES and count > 1 and not is_degree and word not in _ACADEMIC
        is_next_name = bool(kept) and kept[-1].endswith(",") and count > 1 and not is_degree
        is_next_name = is_next_name and word not in _TITLES and word not in _GENERATIONS
        is_next_name = is_next_name and not _is_given_name(kept, written_words[place:])
        if (
            is_next_name
            or not any(sign.isalnum() for sign in written)
            or (count > 1 and _is_title_of_next(kept[-1], written_words[place:]))
            or (word in _ROLES and kept)
            or (has_degree and not is_degree)
            or is_title_after
            or (count > 1 and written.startswith("(") and not written.endswith(")"))
            or (has_degree and written.startswith("("))
        ):
            break
        kept.append(written)
        if count and written.endswith(".") and len(word) > _MAX_ABBREVIATION and not is_degree:
            kept[-1] = written[:-1]  # the end of a sentence
            break
        has_degree = has_degree or (is_degree and count > 0)
        if written.endswith(":"):
            kept.pop()
            break
    return " ".join(kept).strip(" ,;")


def _is_title_of_next(last: str, following: Sequence[str]) -> bool:
    """Return whether a title behind a comma begins the name of another person."""
    title, *rest = (word.strip(".,;:").casefold() for word in following[:3])
    is_title = last.endswith(",") and title in _TITLES
    return is_title and bool(rest) and bool(names.split_name(rest[0])) and rest[0] not in _ROLES


def _is_given_name(kept: Sequence[str], following: Sequence[str]) -> bool:
    """Return whether the one word behind a comma is another given name.

    As in "CHAN Wing-Yan, Vivian": only the surname is in capital letters.
    """
    rest = takewhile(lambda word: not word.startswith("("), following)
    named = [each.strip(",") for each in kept if names.split_name(each)]
    is_surname_first = named[0].isupper() and not any(each.isupper() for each in named[1:])
    return len(list(rest)) == 1 and len(named[0]) > 1 and is_surname_first


def names_place(written: str, name: str) -> bool:
    """Return whether a text goes on behind a name with the word of an institution.

    As in "Stanhope Cancer Centre": the words before it are no name. Behind a comma, the institution
    is that of the person.
    """
    start = written.find(name)
    following = written[start + len(name) :] if start >= 0 else ""
    return _PLACE_BEHIND.match(following) is not None


def is_surname_first(text: str) -> bool:
    """Return whether a text is a surname of several words, a comma and given names.

    The surname begins with a particle, as in "De La Croix-Mbeki, Solange".
    """
    surname, comma, given = text.partition(",")
    words = surname.split()
    is_surname = len(words) > 1 and all(
        word.strip(".").casefold() in _PARTICLES_OF_SURNAMES for word in words[:-1]
    )
    return bool(comma) and is_surname and _GIVEN_NAMES.fullmatch(given.strip()) is not None


def may_be_cut(written: str, name: str) -> bool:
    """Return whether a name may be a surname only, of which `trim` left out the given names.

    As in "Garcia Moreno, Luis", which has the form of two names of people. Behind a title, the
    given name comes first, except in Chinese names, as in "Dr Lim Sze Hwee, Adeline".
    """
    following = written.partition(name)[2]
    given = following.strip(" ,;")
    title, *words = name.split()
    has_title = title.strip(".").casefold() in _TITLES
    is_chinese = has_title and len(words) == 3 and all(len(word) <= _MAX_SYLLABLE for word in words)
    given = given.partition(",")[0] if is_chinese else given
    return (
        following.startswith(",")
        and (is_chinese or (len(words) == 1 and not has_title))
        and _GIVEN_NAMES.fullmatch(given) is not None
        and may_be_name(given)
        and given.split()[0].casefold() not in _ROLES
        and bool(names.split_name(given))
    )


def has_titles_only(text: str) -> bool:
    """Return whether a text has no word of a name besides titles and degrees."""
    return _EAST_ASIAN.match(text) is None and not names.split_name(text)


def is_full_name(text: str) -> bool:
    """Return whether a text has at least two words of a name besides titles and degrees."""
    if _EAST_ASIAN.fullmatch(text):
        return True
    parts = [part for group in names.split_name(text) for part in group]
    return len(parts) >= 2 and any(len(part) > 1 for part in parts)


def may_be_name(text: str) -> bool:
    """Return whether no word of a text shows that it is a title, a number or an institution."""
    is_other = any(map(str.isdigit, text)) or text.endswith(_ENDS_OF_STREETS + _ENDS_OF_COMPANIES)
    return not is_other and _NOT_IN_NAMES.isdisjoint(re.findall(r"\w+", text.casefold()))


def without_role(text: str) -> str:
    """Return the name of a text in which a role or a department follows behind a comma."""
    if "," not in text:
        return text
    name = trim(text)
    return name if text[len(name) :].startswith(",") and text.startswith(name) else text


def may_follow_given_name(text: str, name: str) -> bool:
    """Return whether one word behind the name of a text may be a given name.

    As in "Dr Tan Mei Ling, Grace". A degree is in capital letters, and a role has more words.
    """
    following = text.removeprefix(name).strip(" ,.;")
    return following.isalpha() and not following.isupper()


@lru_cache(maxsize=512)
def has_ordinary_words_only(name: str) -> bool:
    """Return whether a text has the form of a name and is none, as "Site File" or "One Way".

    A title, and an ordinary word that is a name too, show that it may be one.
    """
    words = set(re.findall(r"[^\W\d_]{2,}", name.lower()))
    is_ordinary = bool(words) and words <= ordinary_words.get_words()
    return is_ordinary and not words & (_TITLES | ordinary_words.ALSO_NAMES)


@lru_cache(maxsize=4096)  # several searches examine the same lines
def find_name_line(text: str) -> str:
    """Return the name that is all of a line, or "". Degrees may follow it."""
    plain = _NUMBER_BEHIND.sub("", blank_bracketed_title(text)).strip(" ,;").removeprefix("To ")
    plain = _SPECIALITY_BEHIND.sub("", plain.removeprefix("PI "))
    match = _NAME.fullmatch(plain)
    if match is None or trim(plain) != plain or not is_full_name(plain) or not may_be_name(plain):
        return ""
    return plain
