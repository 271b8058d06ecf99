"""Names the months in the languages in which dates are read, besides English.

Names are in lower case and without accents, which scans lose. Source: Unicode CLDR 44, month names
in the form that stands in a date and their abbreviations.
"""

from collections.abc import Mapping
from types import MappingProxyType

# From January on. Each language has the forms of a name, separated by a stroke.
_NAMES = {
    "fra": "janvier|janv fevrier|fevr|fev mars avril|avr mai juin juillet|juil aout septembre|sept"
    " octobre|oct novembre|nov decembre|dec",
    "deu": "januar|janner|jan februar|feb marz|maerz|mrz april|apr mai juni|jun juli|jul"
    " august|aug september|sept|sep oktober|okt november|nov dezember|dez",
    "spa": "enero|ene febrero|feb marzo|mar abril|abr mayo|may junio|jun julio|jul agosto|ago"
    " septiembre|setiembre|sept|sep octubre|oct noviembre|nov diciembre|dic",
    "por": "janeiro|jan fevereiro|fev marco|mar abril|abr maio|mai junho|jun julho|jul agosto|ago"
    " setembro outubro novembro|nov dezembro|dez",
    "ita": "gennaio|gen febbraio|feb marzo|mar aprile|apr maggio|mag giugno|giu luglio|lug"
    " agosto|ago settembre ottobre|ott novembre|nov dicembre|dic",
    "nld": "januari|jan februari|feb maart|mrt april|apr mei juni|jun juli|jul augustus|aug"
    " september|sep oktober|okt november|nov december|dec",
    "pol": "stycznia|styczen|sty lutego|luty|lut marca|marzec kwietnia|kwiecien|kwi maja|maj"
    " czerwca|czerwiec|cze lipca|lipiec|lip sierpnia|sierpien|sie wrzesnia|wrzesien|wrz"
    " pazdziernika|pazdziernik|paz listopada|listopad grudnia|grudzien|gru",
    "swe": "januari februari mars april maj juni juli augusti september oktober november december",
    "rus": "января|янв февраля|фев марта|мар апреля|апр мая июня|июн июля|июл августа|авг"
    " сентября|сент|сен октября|окт ноября|ноя|нояб декабря|дек",
}
# Abbreviations that are words of English too. They count between strokes or hyphens: 10/out/2026.
_SHORT_NAMES = {"set": 9, "out": 10}

_THAI = "มกราคม กุมภาพันธ์ มีนาคม เมษายน พฤษภาคม มิถุนายน กรกฎาคม สิงหาคม กันยายน ตุลาคม พฤศจิกายน ธันวาคม"
_THAI_ABBREVIATIONS = "ม.ค. ก.พ. มี.ค. เม.ย. พ.ค. มิ.ย. ก.ค. ส.ค. ก.ย. ต.ค. พ.ย. ธ.ค."
THAI_MONTHS: Mapping[str, int] = MappingProxyType(
    {
        name: number
        for names in (_THAI.split(), _THAI_ABBREVIATIONS.split())
        for number, name in enumerate(names, 1)
    }
)


def _list_months() -> Mapping[str, int]:
    months = {}
    for names in _NAMES.values():
        for number, forms in enumerate(names.split(), 1):
            months.update(dict.fromkeys(forms.split("|"), number))
    return MappingProxyType(months)


_MONTHS = _list_months()


def find_month(name: str, *, is_between_strokes: bool) -> int | None:
    """Return the number of a month by its name, in lower case and without accents, or None.

    `is_between_strokes` says whether strokes or hyphens stand before and behind the name.
    """
    return _MONTHS.get(name) or (_SHORT_NAMES.get(name) if is_between_strokes else None)
