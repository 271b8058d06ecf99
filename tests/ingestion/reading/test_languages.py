"""Tests of the identification of the language of a page."""

import pytest

from ingestion.reading.languages import NAMES, identify_language

TEXTS = {
    "eng": "The committee has reviewed the protocol and the consent form of this study, and it was"
    " approved at its meeting. Any change must be submitted to the board before it is made.",
    "fra": "Le comité a examiné le protocole et le formulaire de consentement de la recherche. Les"
    " membres du comité ont rendu un avis favorable à la mise en œuvre de cette étude.",
    "deu": "Die Kommission hat den Prüfplan und die Einwilligungserklärung der Studie beraten."
    " Gegen die Durchführung der Prüfung bestehen keine Bedenken, und sie wird zustimmend"
    " bewertet.",
    "spa": "El comité ha evaluado el protocolo y el consentimiento informado del ensayo clínico."
    " Los miembros emiten un dictamen favorable para la realización del estudio en este centro.",
    "por": "O comitê analisou o protocolo e o termo de consentimento da pesquisa. Os membros emitem"
    " um parecer favorável para a realização do estudo, que não apresenta pendências.",
    "ita": "Il comitato ha esaminato il protocollo e il modulo di consenso della sperimentazione. I"
    " membri del comitato esprimono un parere favorevole alla conduzione dello studio nel centro.",
    "nld": "De commissie heeft het protocol en het toestemmingsformulier van het onderzoek"
    " beoordeeld en heeft een positief besluit genomen over de uitvoering van deze studie"
    " in het ziekenhuis.",
    "pol": "Komisja zapoznała się z protokołem oraz z formularzem zgody na udział w badaniu."
    " Komisja wyraża pozytywną opinię o projekcie badania, które jest prowadzone przez ośrodek.",
    "swe": "Nämnden har granskat ansökan och det protokoll som gäller för studien. Den beslutar att"
    " godkänna forskningen med de villkor som framgår av detta beslut för deltagarna.",
    "jpn": "治験審査委員会は、治験実施計画書及び同意説明文書について審議し、実施を承認しました。",
    "chi_sim": "本伦理委员会对该项临床试验的研究方案和知情同意书进行了审查，同意开展本项研究。",
    "chi_tra": "本倫理委員會對該項臨床試驗的研究計畫書和受試者同意書進行了審查，同意執行本研究。",
    "kor": "임상시험심사위원회는 임상시험계획서와 동의설명문에 대하여 심의한 결과를 통보합니다.",
    "rus": "Этический комитет рассмотрел протокол исследования и"
    " одобрил его проведение в этом центре.",
    "ukr": "Комісія з питань етики розглянула протокол дослідження і"
    " схвалила його проведення в лікарні.",
    "tha": "คณะกรรมการพิจารณาจริยธรรมการวิจัยได้พิจารณาโครงร่างการวิจัยและอนุมัติให้ดำเนินการ",
}


@pytest.mark.parametrize("language", TEXTS)
def test_a_text_of_some_sentences_shows_its_language(language):
    assert identify_language(f"{TEXTS[language]} {TEXTS[language]}") == language
    assert language in NAMES


@pytest.mark.parametrize("language", ["fra", "deu", "spa", "por", "ita", "nld", "pol", "swe"])
def test_letters_without_accents_and_in_capitals_show_the_language_too(language):
    plain = TEXTS[language].translate(str.maketrans("éèàœüäößíóãêçńłżąęåÖ", "eeaouaosioaecnlzaeao"))
    assert identify_language(f"{plain} {plain}".upper()) == language


def test_a_page_in_english_and_another_language_is_judged_as_an_english_one():
    assert identify_language(f"{TEXTS['fra']}\n{TEXTS['eng']}") == "eng"


@pytest.mark.parametrize(
    "text",
    ["", "Margaret Whitfield, MD", "12.03.2026", "Name: Jean Dupont\nDate: 12/03/2026", "同意"],
)
def test_too_few_words_show_no_language(text):
    assert identify_language(text) == ""


def test_misread_letters_of_another_script_are_no_language():
    misread = "BbIlnvcka 43 IpoTOKOIIa a o e y 3aceaHUA ITHUCCKOIO i u KOMUTeTA a o e PaCCMOTPesl"
    assert identify_language(misread) == ""
