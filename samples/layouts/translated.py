"""Makes specimens in other languages than English, with their values.

The texts are in `translated/`, one file for each language, in the form of `texts/`. Each layout has
the type in its head. All people, institutions and studies are fictitious.
"""

import random
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from types import MappingProxyType

from samples.document_facts import find_anniversary
from samples.layouts.specimen import Layout, Specimen, typeset
from samples.layouts.values import TODAY

_TEXTS = Path(__file__).with_name("translated")
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_NOT_PRINTED = re.compile(r"(?m)^@hand .*")
_DAYS_BETWEEN_MEETING_AND_LETTER = 3


@dataclass(frozen=True, slots=True)
class Words:
    """The names and texts of a language that the values of specimens consist of."""

    people: Sequence[str]
    towns: Sequence[str]
    hospitals: Sequence[str]
    committees: Sequence[str]
    titles: Sequence[str]
    print_date: Callable[[date], str]


def _in_words(months: str, pattern: str) -> Callable[[date], str]:
    names = months.split()
    return lambda day: pattern.format(day=day.day, month=names[day.month - 1], year=day.year)


def _japanese(day: date) -> str:
    return f"令和{day.year - 2018}年{day.month}月{day.day}日"


_WORDS: Mapping[str, Words] = {
    "fra": Words(
        ("Camille Delorme", "Étienne de la Fontaine", "Sophie Lambert", "Hugues d'Aubigny"),
        ("Lyon", "Nantes", "Lausanne", "Liège"),
        ("Centre hospitalier Saint-Roch", "Hôpital des Tilleuls", "Clinique du Belvédère"),
        ("Comité de protection des personnes Sud-Est IX", "Commission cantonale d'éthique"),
        (
            "Étude randomisée de l'albrutinib dans le psoriasis",
            "Essai comparatif du belcotamab dans l'asthme persistant",
        ),
        _in_words(
            "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
            "{day} {month} {year}",
        ),
    ),
    "deu": Words(
        ("Katharina von Ahlen", "Jürgen Meißner", "Sabine Vogt", "Matthias Brückner"),
        ("Freiburg", "Graz", "Bern", "Lübeck"),
        ("Klinikum am Weinberg", "Universitätsklinikum Nordstadt", "Spital Sonnhalde"),
        ("Ethik-Kommission der Landesärztekammer", "Kantonale Ethikkommission Mittelland"),
        (
            "Randomisierte Studie mit Albrutinib bei Psoriasis",
            "Offene Studie mit Belcotamab bei Asthma bronchiale",
        ),
        _in_words(
            "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
            "{day}. {month} {year}",
        ),
    ),
    "por": Words(
        ("Beatriz dos Santos", "João Pedro Carvalho", "Mariana da Costa", "Tiago Figueiredo"),
        ("Curitiba", "Recife", "Coimbra", "Braga"),
        ("Hospital das Acácias", "Santa Casa do Vale", "Hospital Universitário da Serra"),
        (
            "Comitê de Ética em Pesquisa do Hospital das Acácias",
            "Comissão de Ética para a Investigação Clínica",
        ),
        (
            "Estudo randomizado do albrutinibe na psoríase",
            "Ensaio comparativo do belcotamabe na asma persistente",
        ),
        _in_words(
            "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro"
            " dezembro",
            "{day} de {month} de {year}",
        ),
    ),
    "spa": Words(
        ("Lucía Fernández Ortega", "Álvaro de la Cruz", "Marta Ibáñez", "Rodrigo Peña"),
        ("Valladolid", "Mendoza", "Mérida"),
        ("Hospital Virgen del Camino", "Hospital San Telmo"),
        ("Comité de Ética de la Investigación con medicamentos", "Comité de Ética del Valle"),
        ("Estudio aleatorizado de albrutinib en la psoriasis", "Ensayo de belcotamab en el asma"),
        _in_words(
            "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre"
            " diciembre",
            "{day} de {month} de {year}",
        ),
    ),
    "ita": Words(
        ("Chiara Montanari", "Lorenzo De Santis", "Giulia Ferrari", "Marco della Valle"),
        ("Ferrara", "Lecce", "Lugano"),
        ("Ospedale San Girolamo", "Azienda Ospedaliera delle Colline"),
        ("Comitato Etico Territoriale delle Colline", "Comitato Etico Area Adriatica"),
        (
            "Studio randomizzato su albrutinib nella psoriasi",
            "Studio in aperto su belcotamab nell'asma",
        ),
        _in_words(
            "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre"
            " dicembre",
            "{day} {month} {year}",
        ),
    ),
    "nld": Words(
        ("Anneke van den Berg", "Pieter de Graaf", "Marloes Visser", "Joris Claessens"),
        ("Zwolle", "Tilburg", "Gent"),
        ("Ziekenhuis de Linde", "Medisch Centrum Westland"),
        ("Medisch Ethische Toetsingscommissie Oost", "Ethisch Comité De Linde"),
        (
            "Gerandomiseerd onderzoek naar albrutinib bij psoriasis",
            "Open onderzoek naar belcotamab bij astma",
        ),
        _in_words(
            "januari februari maart april mei juni juli augustus september oktober november"
            " december",
            "{day} {month} {year}",
        ),
    ),
    "pol": Words(
        ("Agnieszka Wiśniewska", "Paweł Zieliński", "Małgorzata Kowalczyk", "Łukasz Dąbrowski"),
        ("Lublin", "Szczecin", "Opole"),
        ("Szpital Wojewódzki w Opolu", "Szpital Kliniczny nr 7"),
        ("Komisja Bioetyczna przy Izbie Lekarskiej", "Komisja Bioetyczna Uniwersytetu Medycznego"),
        (
            "Randomizowane badanie albrutynibu w łuszczycy",
            "Otwarte badanie belkotamabu w astmie",
        ),
        _in_words(
            "stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października"
            " listopada grudnia",
            "{day} {month} {year}",
        ),
    ),
    "jpn": Words(
        ("佐藤 健一", "鈴木 由美", "高橋 直樹", "渡辺 恵子"),
        ("仙台市", "岡山市"),
        ("青葉総合病院", "緑川大学病院"),
        ("青葉総合病院治験審査委員会", "緑川大学病院倫理審査委員会"),
        ("乾癬患者を対象としたアルブルチニブの無作為化試験", "喘息患者を対象とした非盲検試験"),
        _japanese,
    ),
    "chi_sim": Words(
        ("王建国", "李晓梅", "张志强", "陈雨欣"),
        ("杭州", "成都"),
        ("东湖医院", "青山大学附属医院"),
        ("东湖医院伦理委员会", "青山大学附属医院医学伦理委员会"),
        ("阿布替尼治疗银屑病的随机对照临床试验", "贝可单抗治疗支气管哮喘的开放临床试验"),
        _in_words(" ".join(map(str, range(1, 13))), "{year}年{month}月{day}日"),
    ),
    "kor": Words(
        ("김민수", "이지영", "박상현", "최은정"),
        ("대전", "광주"),
        ("한빛병원", "새봄대학교병원"),
        ("한빛병원 임상시험심사위원회", "새봄대학교병원 기관생명윤리위원회"),
        ("건선 환자를 대상으로 한 알브루티닙 무작위 임상시험", "천식 환자를 대상으로 한 임상시험"),
        _in_words(" ".join(map(str, range(1, 13))), "{year}년 {month}월 {day}일"),
    ),
    "rus": Words(
        ("Орлова Анна Сергеевна", "Кузнецов Павел Игоревич", "Лебедева Ольга Петровна"),
        ("Казань", "Томск"),
        ("Областная больница имени Зайцева", "Клиническая больница Восток"),
        ("Локальный этический комитет", "Независимый этический комитет больницы Восток"),
        (
            "Рандомизированное исследование альбрутиниба при псориазе",
            "Открытое исследование белкотамаба при астме",
        ),
        _in_words(
            "января февраля марта апреля мая июня июля августа сентября октября ноября декабря",
            "{day} {month} {year} г.",
        ),
    ),
}


@cache
def _read_layouts(language: str) -> Mapping[tuple[str, str], Layout]:
    """Return the layouts of a language by type and name."""
    layouts = {}
    text = (_TEXTS / f"{language}.layout").read_text(encoding="utf-8")
    for part in re.split(r"(?m)^== ", text)[1:]:
        head, _, body = part.partition("\n")
        slug, name, *options = shlex.split(head)
        layouts[slug, name] = Layout(body, dict(each.split("=", 1) for each in options))
    return layouts


# The type and the name of each layout, by language.
TRANSLATED_LAYOUTS: Mapping[str, tuple[tuple[str, str], ...]] = MappingProxyType(
    {language: tuple(_read_layouts(language)) for language in _WORDS}
)


def make_translated_specimen(
    language: str, slug: str, layout: str, seed: int | str = 0, *, today: date = TODAY
) -> Specimen:
    """Return a specimen of a document type in a language. It is valid at `today`.

    The same arguments give the same bytes. `values` are as printed.
    """
    source = _make_values(language, seed, today)
    chosen = _read_layouts(language)[slug, layout]
    values: dict[str, str] = {}
    days: dict[str, date] = {}
    print_date = _WORDS[language].print_date

    def fill_in(match: re.Match[str]) -> str:
        value = source[match[1]]
        if isinstance(value, date):
            days[match[1]] = value
            value = print_date(value)
        values.setdefault(match[1], value)
        return value

    _PLACEHOLDER.sub(fill_in, _NOT_PRINTED.sub("", chosen.text))
    text = _PLACEHOLDER.sub(fill_in, chosen.text)
    content = typeset(
        text, chosen.options, {"paper": "a4", "date_style": "uk"}, f"{language}{seed}"
    )
    return Specimen(slug, f"{language}-{layout}", seed, content, values, days)


def _make_values(language: str, seed: int | str, today: date) -> Mapping[str, str | date]:
    rng, words = random.Random(f"translated {language} {seed}"), _WORDS[language]
    investigator, chair = rng.sample(words.people, 2)
    approval = today - timedelta(days=rng.randint(40, 150))
    return {
        "investigator": investigator,
        "person": investigator,
        "chair": chair,
        "town": rng.choice(words.towns),
        "hospital": rng.choice(words.hospitals),
        "committee": rng.choice(words.committees),
        "title": rng.choice(words.titles),
        "protocol_number": f"{rng.choice(('ALB', 'BEL', 'DRZ'))}-{rng.randint(100, 999)}",
        "protocol_version": rng.choice(("1.0", "2.0", "3.1")),
        "version": rng.choice(("1.0", "2.0", "3.1")),
        "licence_number": str(rng.randint(100_000, 999_999)),
        "approval_date": approval,
        "decision_date": approval,
        "letter_date": approval + timedelta(days=_DAYS_BETWEEN_MEETING_AND_LETTER),
        "expiry_date": find_anniversary(approval, 1) - timedelta(days=1),
        "completion_date": today - timedelta(days=rng.randint(60, 500)),
        "effective_date": today - timedelta(days=rng.randint(60, 300)),
        "version_date": today - timedelta(days=rng.randint(120, 400)),
        "document_date": today - timedelta(days=rng.randint(5, 40)),
        "signature_date": today - timedelta(days=rng.randint(5, 40)),
    }
