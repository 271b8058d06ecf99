"""Identifies the language of a page by its letters and by the most frequent words of languages.

The method is deterministic and takes a tenth of a millisecond for a page, which every page with a
text layer can afford. Letters decide about languages that have a script of their own. Frequent
words decide between languages in Latin letters. They are compared without accents, which the OCR
engine loses in words of a language that it reads with the data of another one.

Languages have the names of Tesseract's language data, which are those of ISO 639-2 but for Chinese.
"""

import re
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

from audit.translation import gettext_noop as _

ENGLISH, JAPANESE = "eng", "jpn"
UNKNOWN = ""

# The names of languages within a sentence: "This page is in French".
NAMES: Mapping[str, str] = MappingProxyType(
    {
        "eng": _("English"),
        "fra": _("French"),
        "deu": _("German"),
        "spa": _("Spanish"),
        "por": _("Portuguese"),
        "ita": _("Italian"),
        "nld": _("Dutch"),
        "pol": _("Polish"),
        "jpn": _("Japanese"),
        "chi_sim": _("Chinese (simplified)"),
        "chi_tra": _("Chinese (traditional)"),
        "kor": _("Korean"),
        "rus": _("Russian"),
        "swe": _("Swedish"),
        "dan": _("Danish"),
        "nor": _("Norwegian"),
        "fin": _("Finnish"),
        "ces": _("Czech"),
        "slk": _("Slovak"),
        "hun": _("Hungarian"),
        "ron": _("Romanian"),
        "tur": _("Turkish"),
        "hrv": _("Croatian"),
        "ukr": _("Ukrainian"),
        "bul": _("Bulgarian"),
        "srp": _("Serbian"),
        "ell": _("Greek"),
        "ara": _("Arabic"),
        "heb": _("Hebrew"),
        "hin": _("Hindi"),
        "tha": _("Thai"),
    }
)

# The codes with which a language can be declared: its name here, and its code of ISO 639-1.
LANGUAGE_CODES: Mapping[str, str] = MappingProxyType(
    {
        **dict(zip(NAMES, NAMES, strict=True)),
        "en": "eng", "fr": "fra", "de": "deu", "es": "spa", "pt": "por", "it": "ita", "nl": "nld",
        "pl": "pol", "ja": "jpn", "ko": "kor", "ru": "rus", "sv": "swe", "da": "dan", "no": "nor",
        "fi": "fin", "cs": "ces", "sk": "slk", "hu": "hun", "ro": "ron", "tr": "tur", "hr": "hrv",
        "uk": "ukr", "bg": "bul", "sr": "srp", "el": "ell", "ar": "ara", "he": "heb", "hi": "hin",
        "th": "tha", "zh-Hans": "chi_sim", "zh-Hant": "chi_tra",
    }
)  # fmt: skip

# Frequent words of languages in Latin letters, without accents: articles, prepositions, pronouns
# and auxiliary verbs, and a few words of the documents of clinical trials and of dates. None is a
# single letter, of which misread text consists. A word that two languages share counts half for
# each.
_FREQUENT_WORDS = {
    "eng": "the of and to in for is on this that with by be are was were as at from or an it not"
    " have has been will you your we our which their its may any if must shall should date name"
    " number study protocol research form signature investigator approval certificate page",
    "fra": "le la les des du de et en un une pour dans par que qui est sur au aux ce cette ces son"
    " sa ses nous vous votre vos notre avec ou ne pas plus etre sont ete avez ont il elle dont"
    " ainsi selon entre sous recherche etude personnes protocole avis comite numero certifie"
    " soussigne monsieur madame promoteur biomedicale signature"
    " certifions attestons formation cliniques bonnes pratiques docteur attestation janvier"
    " fevrier avril juillet septembre decembre",
    "deu": "der die das und des dem den ein eine einer eines einem einen zu zur zum von vom mit fur"
    " ist im in auf an am bei nach aus als auch nicht oder sich wird werden wurde wurden sind hat"
    " haben kann sie ihre ihrer ihnen wir uns durch uber unter dass bis vor studie prufung datum"
    " unterschrift prufplan ethik hiermit"
    " bescheinigung teilgenommen schulung klinische praxis bestatigen urkunde juni juli"
    " oktober dezember",
    "spa": "el la los las de del en un una que por con para se su sus es al lo como mas no ha"
    " han ser esta este estos estas sobre entre segun sin cuando usted le les son fue estudio"
    " investigacion ensayo fecha firma comite nombre consentimiento numero protocolo investigador"
    " certificamos curso buenas practicas clinicas finalizacion enero febrero junio julio"
    " septiembre octubre noviembre diciembre",
    "por": "os as de do da dos das em um uma que para por com no na nos nas ao aos se seu sua"
    " seus suas pelo pela pelos pelas nao mais como ou ser sao foi esta este voce pesquisa estudo"
    " data assinatura comite etica nome termo consentimento pesquisador numero sobre entre"
    " certificamos concluiu curso boas praticas clinicas conclusao janeiro fevereiro junho"
    " julho setembro outubro novembro dezembro",
    "ita": "il lo la gli le di del della dei delle dello degli in un una che per con da dal"
    " dalla nel nella al alla ai alle non si sono essere stato stata come piu questo questa suo sua"
    " ha ed sul sulla studio data firma comitato etico parere sperimentazione consenso ricerca"
    " dichiara sottoscritto"
    " certifica attesta attestato corso buona pratica clinica gennaio febbraio maggio giugno"
    " luglio settembre ottobre dicembre",
    "nld": "de het een van en in op te is dat voor met aan zijn niet die als bij ook om uit"
    " dit deze wordt worden werd heeft hebben kan kunnen naar over of er uw wij onderzoek studie"
    " datum handtekening commissie toestemming medisch"
    " certificaat verklaard hierbij cursus goed gevolg geslaagd toets januari februari maart"
    " juni juli oktober",
    "pol": "na do nie sie jest oraz przez dla od po za ze lub jak przy tym tego ktory ktora"
    " ktore jego jej zostal zostala beda moze sa badania badanie badaniu klinicznego data podpis"
    " komisja bioetyczna zgoda opinia nr dnia uczestnika swiadczenie"
    " zaswiadczenie zaswiadcza szkolenie ukonczyl ukonczyla dobra praktyka kliniczna stycznia"
    " lutego marca kwietnia czerwca lipca",
    "swe": "och att det som en pa ar av for med till den har de inte om ett var jag vi kan eller"
    " fran ska vid efter detta denna studien studie datum godkannande",
    "dan": "og at det er en til af som pa for med den har de ikke om et var vi kan eller fra skal"
    " ved efter dette denne undersogelse forsog dato samtykke blev bliver deres hvis",
    "nor": "og at det er en til av som pa for med den har de ikke om et var vi kan eller fra skal"
    " ved etter dette denne studien dato samtykke ble blir deres hvis prosjektet",
    "fin": "ja on ei se etta oli ovat joka mutta kun niin myos tai sen hanen tama ovat voi mukaan"
    " tutkimus tutkimuksen paivays allekirjoitus suostumus",
    "ces": "na se je ze do pro by jsou byl byla podle nebo jako pri jeho ktery ktera ktere"
    " studie hodnoceni datum podpis souhlas eticka komise ve po",
    "slk": "na sa je ze do pre by su bol bola podla alebo ako pri jeho ktory ktora ktore"
    " skusanie datum podpis suhlas eticka komisia vo po",
    "hun": "az es hogy nem is egy ez meg van volt vagy mint de csak ha el azt kell lehet szerint"
    " vizsgalat alairas datum kelt",
    "ron": "si de la in cu pe din pentru nu este un sa care mai prin sau au fost al ale lui ce"
    " studiu studiul data semnatura comisia consimtamant",
    "tur": "ve bir bu icin ile da de olarak olan daha cok gibi sonra kadar en veya tarafindan"
    " calisma arastirma tarih imza etik kurul onam",
    "hrv": "je na se za da su od iz do kao koji koja koje ili ne sa nije bio prema biti"
    " ispitivanje datum potpis povjerenstvo",
}
_MAX_CHARACTERS = 2_500  # of a page that are examined
# Frequent words of a language that a page must have, shared ones counted in part: of the languages
# of which the rules know documents, and of others
_MIN_WORDS, _MIN_WORDS_OF_OTHERS = 4.0, 10.0
_KNOWN = ("eng", "fra", "deu", "spa", "por", "ita", "nld", "pol")
_MIN_SHARE = 0.12  # of the words of a page that are frequent words of its language
_MIN_LEAD = 1.25  # times the count of the next language
# The share of the count of a language from which English words make the page bilingual. Such a
# page is judged as an English one, because forms in two languages have the captions of both.
_MAX_ENGLISH_SHARE = 0.45
# Words of no other language. Of running English text, 50 characters have one.
_ENGLISH_ONLY = (" the ", " of ", " and ", " with ")
_CHARACTERS_PER_WORD = 150
_MIN_FOREIGN_LETTERS = 20  # letters of another script that a page must have
_MIN_FOREIGN_SHARE = 0.3  # of its letters

_WORD = re.compile(r"[^\W\d_]+")
_ACCENTS = {
    ord(letter): plain
    for plain, letters in {
        "a": "àáâãäåāăą", "c": "çćč", "d": "ďđ", "e": "èéêëēėęě", "g": "ğ", "i": "ìíîïīı",
        "l": "łľĺ", "n": "ñńň", "o": "òóôõöøőō", "r": "řŕ", "s": "śšşș", "t": "ťțţ",
        "u": "ùúûüūůű", "y": "ýÿ", "z": "źżž", "ss": "ß", "ae": "æ", "oe": "œ",
    }.items()
    for letter in letters
}  # fmt: skip
# Letters of scripts other than Latin, by the language that has them unless other letters decide.
_SCRIPTS = {
    "kana": re.compile("[\u3041-\u30fa\uff66-\uff9d]"),
    "han": re.compile("[\u4e00-\u9fff]"),
    "kor": re.compile("[\uac00-\ud7a3]"),
    "cyrillic": re.compile("[\u0400-\u04ff]"),
    "ell": re.compile("[\u0370-\u03ff]"),
    "ara": re.compile("[\u0600-\u06ff]"),
    "heb": re.compile("[\u0590-\u05ff]"),
    "hin": re.compile("[\u0900-\u097f]"),
    "tha": re.compile("[\u0e00-\u0e7f]"),
}
_NOT_LATIN = re.compile("[\u0370-\u1cff\u3041-\u9fff\uac00-\ud7a3\uff66-\uff9d]")
_UKRAINIAN, _SERBIAN = re.compile("[іїєґІЇЄҐ]"), re.compile("[ђјљњћџЂЈЉЊЋЏ]")
_RUSSIAN_ONLY = re.compile("[ыэёЫЭЁ]")
_BULGARIAN_SIGN = re.compile("[ъЪ]")
# Frequent characters that one of the two ways to write Chinese does not have.
_SIMPLIFIED = re.compile("[们这个会国学与为时来对发现研经员说应该进书签认试验药医]")
_TRADITIONAL = re.compile("[們這個會國學與為時來對發現經員說應該進書簽認試驗藥醫]")

# Languages that Tesseract's script detection stands for, the most probable first.
LANGUAGES_OF_SCRIPTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "Japanese": ("jpn", "chi_sim", "chi_tra"),
        "Hiragana": ("jpn",),
        "Katakana": ("jpn",),
        "Han": ("chi_sim", "jpn", "chi_tra"),
        "Korean": ("kor",),
        "Hangul": ("kor",),
        "Cyrillic": ("rus", "ukr", "bul", "srp"),
        "Greek": ("ell",),
        "Arabic": ("ara",),
        "Hebrew": ("heb",),
        "Devanagari": ("hin",),
        "Thai": ("tha",),
    }
)
# Languages whose words are written without spaces between them.
UNSPACED = frozenset({"jpn", "chi_sim", "chi_tra", "tha"})
IN_HAN_CHARACTERS = frozenset({"jpn", "chi_sim", "chi_tra"})


@lru_cache(maxsize=64)
def identify_language(text: str, *, is_certain: bool = False) -> str:
    """Return the main language of a text, or UNKNOWN if it has too few words to know it.

    With `is_certain`, as many words are required as for a language that the rules do not know.
    """
    text = text[:_MAX_CHARACTERS]
    if sum(map(text.count, _ENGLISH_ONLY)) >= max(_MIN_WORDS, len(text) / _CHARACTERS_PER_WORD):
        return ENGLISH  # the usual case, which takes microseconds
    if not text.isascii() and (found := _identify_by_script(text)):
        return found
    return _identify_by_words(text, _MIN_WORDS_OF_OTHERS if is_certain else _MIN_WORDS)


def has_east_asian_characters(text: str) -> bool:
    """Return whether a text has characters of Chinese or Japanese."""
    return bool(_SCRIPTS["han"].search(text) or _SCRIPTS["kana"].search(text))


def _identify_by_script(text: str) -> str:
    """Return the language of a text that is mostly in a script other than Latin, or UNKNOWN."""
    foreign = len(_NOT_LATIN.findall(text))
    if foreign < _MIN_FOREIGN_LETTERS:
        return UNKNOWN
    # A syllable or a character of East Asia stands for several letters.
    if foreign < _MIN_FOREIGN_SHARE * sum(map(str.isalpha, text)):
        return UNKNOWN
    counts = {script: len(pattern.findall(text)) for script, pattern in _SCRIPTS.items()}
    # Japanese has both, and the other languages have no kana.
    if counts["kana"] >= max(2, 0.05 * counts["han"]):
        counts["jpn"] = counts["kana"] + counts.pop("han")
    script = max(counts, key=lambda each: counts[each])
    if script == "han":
        is_traditional = len(_TRADITIONAL.findall(text)) > len(_SIMPLIFIED.findall(text))
        return "chi_tra" if is_traditional else "chi_sim"
    return _identify_cyrillic(text) if script == "cyrillic" else script


def _identify_cyrillic(text: str) -> str:
    counts = {
        "ukr": len(_UKRAINIAN.findall(text)),
        "srp": len(_SERBIAN.findall(text)),
        "rus": len(_RUSSIAN_ONLY.findall(text)),
        "bul": len(_BULGARIAN_SIGN.findall(text)),
    }
    if counts["rus"] >= max(counts["ukr"], counts["srp"]) and counts["rus"]:
        return "rus"
    return max(counts, key=lambda each: counts[each]) if any(counts.values()) else "rus"


def _weigh_words() -> Mapping[str, tuple[tuple[str, float], ...]]:
    """Return the languages of each frequent word, with the part for which it counts."""
    languages: dict[str, list[str]] = {}
    for language, words in _FREQUENT_WORDS.items():
        for word in dict.fromkeys(words.split()):
            languages.setdefault(word, []).append(language)
    return {
        word: tuple((each, 1 / min(len(found), 2)) for each in found)
        for word, found in languages.items()
    }


_LANGUAGES_BY_WORD = _weigh_words()


def _identify_by_words(text: str, min_words: float) -> str:
    """Return the language in Latin letters whose frequent words a text has, or UNKNOWN."""
    folded = text.casefold()
    if not folded.isascii():
        folded = folded.translate(_ACCENTS)
    words = _WORD.findall(folded)
    counts = dict.fromkeys(_FREQUENT_WORDS, 0.0)
    frequent = Counter(filter(_LANGUAGES_BY_WORD.__contains__, words))
    for word, repetitions in frequent.items():
        for language, part in _LANGUAGES_BY_WORD[word]:
            counts[language] += part * repetitions
    best, second = sorted(counts, key=lambda each: -counts[each])[:2]
    count, following = counts[best], counts[second]
    min_words = min_words if best in _KNOWN else _MIN_WORDS_OF_OTHERS
    if count < min_words or count < _MIN_SHARE * len(words):
        return UNKNOWN
    if best != ENGLISH and counts[ENGLISH] >= _MAX_ENGLISH_SHARE * count:
        return ENGLISH
    return best if count >= _MIN_LEAD * following else UNKNOWN
