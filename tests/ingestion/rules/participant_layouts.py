"""The layouts of the labelled set of participants' details (`participant_pages`)."""

from tests.ingestion.rules.participant_pages import Layout

TUNED = (
    Layout(
        "lab report",
        "eng",
        (
            "ST ANNE'S HOSPITAL   DEPARTMENT OF PATHOLOGY",
            "Patient Name: {NAME}            Sex: F",
            "DOB: {BORN}                     MRN: {RECORD}",
            "Referring physician: {DOCTOR}   Collected: {DAY}",
            "Haemoglobin 13.2 g/dL (11.5 - 15.5)   Platelets 250 10^9/L",
        ),
    ),
    Layout(
        "lab report with a patient line",
        "eng",
        (
            "LABORATORY REPORT",
            "Patient: {NAME}",
            "Date of birth: {BORN}",
            "Accession: 26-004417   Reported {DAY}",
            "Creatinine 71 umol/L",
        ),
    ),
    Layout(
        "sticker of a hospital",
        "eng",
        (
            "Screening visit, source document",
            "",
            "",
            "          {SURNAME}, {GIVEN}",
            "          {BORN}  F",
            "          {RECORD}",
            "          Ward 4B   {DOCTOR}",
            "",
            "",
            "The participant attended on {DAY}.",
        ),
    ),
    Layout(
        "sticker with a mark of birth",
        "deu",
        (
            "Aufklärung und Einwilligung",
            "",
            "",
            "     {SURNAME}, {GIVEN}",
            "     geb. {BORN}   W",
            "     Fallnummer {RECORD}",
            "     Station 3B   AOK",
            "",
            "",
        ),
    ),
    Layout(
        "identification log",
        "eng",
        (
            "SUBJECT IDENTIFICATION LOG",
            "Subject No     Patient name           Date of birth      Hospital No",
            "{STUDY}        {NAME}                 {BORN}             {RECORD}",
            "~{STUDY}        {NAME}                 {BORN}             {RECORD}",
            "~{STUDY}        {NAME}                 {BORN}             {RECORD}",
            "Principal Investigator: {DOCTOR}",
        ),
    ),
    Layout(
        "signed consent",
        "eng",
        (
            "INFORMED CONSENT FORM",
            "I have read the information and I agree to take part.",
            "",
            "Name of participant: {NAME}          Date: {DAY}",
            "",
            "Name of person taking consent: {DOCTOR}",
        ),
        "informed-consent-form",
    ),
    Layout(
        "email about a patient",
        "eng",
        (
            "From: {DOCTOR}",
            "To: Study Team",
            "Subject: query on visit 2",
            "Dear all, our patient {NAME} (born {BORN}) came to the clinic on {DAY} with a rash.",
            "Please let us know whether she may continue. Kind regards",
        ),
    ),
    Layout(
        "letter of discharge",
        "deu",
        (
            "Klinikum Nord, Innere Medizin",
            "Sehr geehrte Frau Kollegin,",
            "wir berichten über den Patienten {NAME}, geb. am {BORN}, der sich vom {DAY} an",
            "in unserer stationären Behandlung befand.",
        ),
    ),
    Layout(
        "report of a stay",
        "fra",
        (
            "CENTRE HOSPITALIER   SERVICE DE CARDIOLOGIE",
            "Nom du patient : {NAME}",
            "Date de naissance : {BORN}       IPP : {RECORD}",
            "Motif : douleur thoracique le {DAY}",
        ),
    ),
    Layout(
        "report in Spanish",
        "spa",
        (
            "INFORME DE ALTA",
            "Paciente: {NAME}",
            "Fecha de nacimiento: {BORN}     NHC: {RECORD}",
            "Fecha de ingreso: {DAY}",
        ),
    ),
    Layout(
        "report in Portuguese",
        "por",
        (
            "RESUMO DE ALTA",
            "Nome do paciente: {NAME}",
            "Data de nascimento: {BORN}    Prontuário: {RECORD}",
            "Data de internação: {DAY}",
        ),
    ),
    Layout(
        "report in Italian",
        "ita",
        (
            "LETTERA DI DIMISSIONE",
            "Paziente: {NAME}    nato il {BORN}",
            "Codice fiscale: {IDENTITY}   Reparto: Cardiologia",
            "Ricovero del {DAY}",
        ),
    ),
    Layout(
        "report in Dutch",
        "nld",
        (
            "ONTSLAGBRIEF",
            "Naam patiënt: {NAME}",
            "Geboortedatum: {BORN}   BSN: {IDENTITY}",
            "Opnamedatum: {DAY}",
        ),
    ),
    Layout(
        "report in Polish",
        "pol",
        (
            "KARTA INFORMACYJNA LECZENIA SZPITALNEGO",
            "Imię i nazwisko pacjenta: {NAME}",
            "Data urodzenia: {BORN}   PESEL: {IDENTITY}",
            "Data przyjęcia: {DAY}",
        ),
    ),
    Layout(
        "report in Russian",
        "rus",
        (
            "ВЫПИСНОЙ ЭПИКРИЗ",
            "ФИО пациента: {NAME}",
            "Дата рождения: {BORN}   СНИЛС: {IDENTITY}",
            "Дата поступления: {DAY}",
        ),
    ),
    Layout(
        "report in Japanese",
        "jpn",
        (
            "退院サマリー",
            "患者氏名: {NAME}    性別: 女",
            "生年月日: {BORN}    患者ID: {RECORD}",
            "入院日: {DAY}",
        ),
    ),
    Layout(
        "report in Chinese",
        "chi_sim",
        (
            "检验报告单",
            "患者姓名: {NAME}    性别: 女",
            "出生日期: {BORN}    住院号: {RECORD}",
            "采集时间: {DAY}",
        ),
    ),
    Layout(
        "report in Korean",
        "kor",
        (
            "검사 결과 보고서",
            "환자명: {NAME}    성별: 여",
            "생년월일: {BORN}    환자번호: {RECORD}",
            "채취일: {DAY}",
        ),
    ),
)

TUNED_OTHERS = (
    Layout(
        "delegation log",
        "eng",
        (
            "DELEGATION OF AUTHORITY LOG",
            "Name                 Initials    Role              Start",
            "Amara Singh          AS          Investigator      {DAY}",
            "Tom Keller           TK          Coordinator       {DAY}",
        ),
        "delegation-log",
    ),
    Layout(
        "licence",
        "eng",
        (
            "MEDICAL LICENCE",
            "SINGH, AMARA",
            "Date of birth 12 Mar 1970   F",
            "Licence number 12345678",
        ),
        "medical-licence",
    ),
    Layout(
        "accountability log",
        "eng",
        (
            "INVESTIGATIONAL PRODUCT ACCOUNTABILITY LOG",
            "Subject No   Subject initials   Dispensed    Bottles",
            "101-001      JR                 {DAY}        2",
            "101-002      PW                 {DAY}        1",
        ),
        "ip-accountability-log",
    ),
    Layout(
        "screening log with codes",
        "eng",
        (
            "SCREENING LOG",
            "Screening No   Consent date   Eligible   Subject No",
            "S-001          {DAY}          Yes        101-001",
            "S-002          {DAY}          No",
        ),
        "screening-enrolment-log",
    ),
    Layout(
        "template of a consent",
        "eng",
        (
            "INFORMED CONSENT FORM",
            "Version 3.0 of 12 Mar 2026",
            "Name of participant: ____________    Date: ____________",
            "Participant name        Signature        Date",
            "Approved by the Ethics Committee on 14 Apr 2026",
        ),
        "informed-consent-form",
    ),
    Layout(
        "passport of an investigator",
        "eng",
        (
            "PASSPORT",
            "Surname: SINGH   Given names: AMARA",
            "Date of birth: 12 Mar 1970   Sex: F",
            "Passport No: 563829104",
        ),
    ),
    # "CNS 466/12" is the resolution of a council, and no number of a patient.
    Layout(
        "TCLE with a resolution",
        "por",
        (
            "TERMO DE CONSENTIMENTO LIVRE E ESCLARECIDO",
            "Esta pesquisa segue as Resoluções CNS 466/12 e 510/2016.",
            "Nome: Tiago Moura, pesquisador responsável",
            "Central de atendimento: 0800 701 1234",
        ),
        "informed-consent-form",
    ),
)

KEPT_BACK = (
    Layout(
        "ECG printout",
        "eng",
        (
            "Name: {SURNAME}, {GIVEN}       ID: {RECORD}",
            "DOB: {BORN}      Vent. rate 72 bpm",
            "Patient ID: {STUDY}      PR interval 160 ms",
            "Sinus rhythm. Normal ECG. Unconfirmed.",
        ),
    ),
    Layout(
        "radiology request",
        "eng",
        (
            "DIAGNOSTIC IMAGING REQUEST",
            "Surname              Forename          D.O.B.            Hosp No",
            "{SURNAME}            {GIVEN}           {BORN}            {RECORD}",
            "Examination: CT thorax with contrast     Consultant: {DOCTOR}",
        ),
    ),
    Layout(
        "addressograph",
        "eng",
        (
            "CLINICAL TRIAL: dosing visit worksheet",
            "",
            "",
            "                                   MRN {RECORD}",
            "                                   {SURNAME}, {GIVEN}",
            "                                   DOB {BORN}   M   67 Y",
            "                                   ADM {DAY}",
            "",
            "",
            "Time of dose 08:30    Given by: nurse on duty",
        ),
    ),
    Layout(
        "letter of a practice",
        "eng",
        (
            "RE: Mrs {NAME}, DOB {BORN}",
            "Dear colleague,",
            "Thank you for seeing this patient, whom I reviewed on {DAY}.",
            "Her blood pressure remains high.",
            "Yours sincerely, {DOCTOR}",
        ),
    ),
    Layout(
        "adverse event narrative",
        "eng",
        (
            "Narrative of a serious adverse event",
            "Subject number {STUDY}. The subject, Mr. {NAME}, date of birth {BORN}, was",
            "admitted on {DAY} to hospital with chest pain. Medical record number {RECORD}.",
        ),
    ),
    Layout(
        "pathology head",
        "eng",
        (
            "SURGICAL PATHOLOGY CONSULTATION",
            "Name of Patient          Birthdate        Medical Record No.",
            "{NAME}                   {BORN}           {RECORD}",
            "Specimen: left breast, core biopsy",
        ),
    ),
    Layout(
        "enrolment fax",
        "eng",
        (
            "PATIENT ENROLLMENT FAX",
            "Site: 0203      Date: {DAY}",
            "Patient initials: {INITIALS}",
            "Birth date: {BORN}",
            "Randomization No: {STUDY}",
        ),
    ),
    Layout(
        "insurance form",
        "eng",
        (
            "Request for reimbursement of travel",
            "Participant: {NAME}",
            "Social Security No. {IDENTITY}",
            "Amount 45.00 USD",
        ),
    ),
    Layout(
        "ward list",
        "eng",
        (
            "WARD ROUND LIST",
            "Bed   Patient's name         Born            Hospital ID",
            "1     {NAME}                 {BORN}          {RECORD}",
            "~2     {NAME}                 {BORN}          {RECORD}",
        ),
    ),
    Layout(
        "Etikett",
        "deu",
        (
            "Prüfbogen Visite 1",
            "",
            "",
            "        {SURNAME} {GIVEN}",
            "        *{BORN}  m",
            "        Aufn.-Nr. {RECORD}",
            "        Innere Medizin, Station 12",
            "",
            "",
        ),
    ),
    Layout(
        "Befund",
        "deu",
        (
            "Labor Dr. Limbach   Endbefund",
            "Name, Vorname: {SURNAME}, {GIVEN}",
            "Geburtsdatum: {BORN}     Versichertennummer: {RECORD}",
            "Entnahmedatum: {DAY}      Einsender: Praxis am Markt",
        ),
    ),
    Layout(
        "étiquette",
        "fra",
        (
            "Cahier d'observation",
            "",
            "",
            "       {SURNAME} {GIVEN}",
            "       Née le {BORN}  F",
            "       NDA {RECORD}",
            "       Service: Pneumologie",
            "",
            "",
        ),
    ),
    Layout(
        "consentement signé",
        "fra",
        (
            "FORMULAIRE DE CONSENTEMENT",
            "Je soussigné accepte de participer à la recherche.",
            "Nom et prénom du participant : {NAME}      Date : {DAY}",
        ),
        "informed-consent-form",
    ),
    Layout(
        "analítica",
        "spa",
        (
            "LABORATORIO DE ANÁLISIS CLÍNICOS",
            "Apellidos y nombre del paciente: {NAME}",
            "F. nacimiento: {BORN}     Nº historia: {RECORD}     Sexo: M",
            "Médico solicitante: {DOCTOR}",
        ),
    ),
    Layout(
        "laudo",
        "por",
        (
            "LAUDO DE TOMOGRAFIA",
            "Paciente: {NAME}     Dt. nasc.: {BORN}",
            "Atendimento: {RECORD}     Convênio: SUS",
            "Data do exame: {DAY}",
        ),
    ),
    Layout(
        "referto",
        "ita",
        (
            "REFERTO DI LABORATORIO",
            "Cognome e nome: {SURNAME} {GIVEN}     Sesso: M",
            "Data di nascita: {BORN}     ID paziente: {RECORD}",
            "Data prelievo: {DAY}",
        ),
    ),
    Layout(
        "uitslag",
        "nld",
        (
            "LABORATORIUMUITSLAG",
            "Patiënt: {NAME}",
            "Geb.datum: {BORN}     Patiëntnummer: {STUDY}",
            "Aanvrager: {DOCTOR}     Afnamedatum: {DAY}",
        ),
    ),
    Layout(
        "skierowanie",
        "pol",
        (
            "SKIEROWANIE NA BADANIE",
            "Pacjent: {NAME}",
            "ur. {BORN}    PESEL {IDENTITY}",
            "Lekarz kierujący: {DOCTOR}",
        ),
    ),
    Layout(
        "anamnesis in Russian",
        "rus",
        (
            "МЕДИЦИНСКОЕ ЗАКЛЮЧЕНИЕ",
            "Пациент: {NAME}",
            "Дата рождения {BORN}, история болезни № {RECORD}",
            "Лечащий врач: Сидоров",
        ),
    ),
    Layout(
        "Japanese label",
        "jpn",
        (
            "検体ラベル",
            "カルテ番号 {RECORD}",
            "氏名 {NAME} 様",
            "生年月日 {BORN} 女",
            "診療科 内科",
        ),
    ),
    Layout(
        "Chinese discharge",
        "chi_sim",
        (
            "出院小结",
            "姓名: {NAME}   性别: 男   年龄: 56岁",
            "病案号: {RECORD}   身份证号: {IDENTITY}",
            "入院日期: {DAY}",
        ),
    ),
    Layout(
        "Korean certificate",
        "kor",
        (
            "진단서",
            "성명: {NAME}   주민등록번호: {IDENTITY}",
            "병록번호: {RECORD}",
            "입원일: {DAY}   진료과: 내과",
        ),
    ),
)

KEPT_BACK_OTHERS = (
    Layout(
        "CV of a physician",
        "eng",
        (
            "CURRICULUM VITAE",
            "Surname: Singh   Given names: Amara",
            "Born on 12 March 1970 in Leeds. Sex: F",
            "Experience in 14 trials with more than 300 patients.",
            "GMC number 6123456",
        ),
        "cv",
    ),
    Layout(
        "certificate of a nurse",
        "eng",
        (
            "CERTIFICATE OF ATTENDANCE",
            "Participant: Tom Keller        Date of birth: 02/04/1981",
            "Course number 2026-0042        Completed {DAY}",
        ),
    ),
    Layout(
        "monitoring letter",
        "eng",
        (
            "Follow-up letter to the monitoring visit of {DAY}",
            "Subject 101-003: the date of birth in the source is not the one in the eCRF.",
            "Subject 101-004: initials JK were used on the drug label of 12 Mar 2026.",
            "Kind regards, Tom Keller, Clinical Research Associate",
        ),
    ),
    Layout(
        "protocol page",
        "eng",
        (
            "6.2 Subject identification",
            "Each subject is identified by the subject number, for example 101-001. The date of",
            "birth, the patient name and the medical record number are recorded only in the",
            "site's own list.",
            "Protocol SLX-301, version 2.0 of 14 April 2026",
        ),
    ),
    Layout(
        "blank identification log",
        "eng",
        (
            "SUBJECT IDENTIFICATION CODE LIST",
            "Subject No    Name    Date of birth    Hospital No    Consent date",
            "101-001",
            "101-002",
            "Investigator: Dr Amara Singh   Date: {DAY}",
        ),
    ),
    Layout(
        "deviation log",
        "eng",
        (
            "PROTOCOL DEVIATION LOG",
            "Subject ID   Date          Deviation                          Reported",
            "101-003      {DAY}         Visit 3 two days late              Yes",
            "101-007      {DAY}         Blood sample not taken             No",
        ),
        "protocol-deviation-log",
    ),
    Layout(
        "ethics approval of a form",
        "eng",
        (
            "Documents approved: Patient Information Sheet and Consent Form, version 4.0",
            "Patient Name Badge Template, version 1, dated 12 Mar 2026",
            "Participant ID Card, dated 14 Apr 2026",
            "Chair: Margaret Whitfield",
        ),
        "irb-approval",
    ),
    Layout(
        "contract with the account of an investigator",
        "eng",
        (
            "CLINICAL TRIAL AGREEMENT",
            "Payee: Amara Singh, born 12 March 1970",
            "Account number 12345678, sort code 20-00-00",
            "The Institution informs every patient before enrolment.",
        ),
        "clinical-trial-agreement",
    ),
    Layout(
        "business card",
        "eng",
        (
            "SINGH, Amara",
            "Research Nurse, Ward 4B",
            "Tel. 555-0142, pager 20260312",
            "Updated 12/03/2026",
        ),
    ),
    Layout(
        "licence in German",
        "deu",
        (
            "APPROBATIONSURKUNDE",
            "Frau Amara Singh, geboren am 12.03.1970 in Leeds,",
            "erhält die Approbation als Ärztin. Register-Nr. 20260312",
        ),
        "medical-licence",
    ),
    Layout(
        "Lebenslauf",
        "deu",
        (
            "Lebenslauf",
            "Name: Singh   Vorname: Amara",
            "Geburtsdatum: 12.03.1970   Familienstand: ledig",
            "Studienerfahrung mit über 300 Patienten",
        ),
        "cv",
    ),
    Layout(
        "modèle de consentement",
        "fra",
        (
            "FORMULAIRE DE CONSENTEMENT   Version 2 du 12/03/2026",
            "Nom du patient : ..................   Prénom : ..................",
            "Date de naissance : ..................",
            "Signature du patient              Signature de l'investigateur",
        ),
        "informed-consent-form",
    ),
    Layout(
        "diploma in Italian",
        "ita",
        (
            "DIPLOMA DI LAUREA",
            "conferito a Amara Singh, nata a Leeds il 12/03/1970",
            "matricola 20260312",
        ),
    ),
    Layout(
        "TCLE",
        "por",
        (
            "TERMO DE CONSENTIMENTO LIVRE E ESCLARECIDO",
            "Nome do participante: ______________________   CPF: ______________",
            "Pesquisador responsável: Tiago Moura   CPF: 123.456.789-09   Data: 12/03/2026",
        ),
        "informed-consent-form",
    ),
    Layout(
        "Chinese licence",
        "chi_sim",
        (
            "医师执业证书",
            "姓名: 王建国   性别: 男   出生日期: 1970年3月12日",
            "证书编码: 110440000012345",
            "身份证号: 110101197003123456",
        ),
        "medical-licence",
    ),
    Layout(
        "Japanese CV",
        "jpn",
        (
            "履歴書",
            "氏名: 山田一郎   生年月日: 1970年3月12日   性別: 男",
            "医籍登録番号: 412345",
        ),
        "cv",
    ),
)
