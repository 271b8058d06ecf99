"""Scripts and other active content in all places of a PDF."""

import io

import pikepdf
import pytest

from ingestion.reading.pdf import active_content
from ingestion.reading.pdf.active_content import find_active_content
from ingestion.reading.pdf.static_pdf import is_static
from tests.ingestion.reading import hostile
from tests.ingestion.reading.documents import make_pdf, read, rewrite, save


def script(**more):
    return pikepdf.Dictionary(S=pikepdf.Name.JavaScript, JS="app.alert(1)", **more)


def harmless(**more):
    return pikepdf.Dictionary(S=pikepdf.Name.Named, N=pikepdf.Name.NextPage, **more)


def in_an_outline_item(pdf):
    item = pdf.make_indirect(pikepdf.Dictionary(Title="Chapter 1", A=script()))
    pdf.Root.Outlines = pikepdf.Dictionary(First=item, Last=item, Count=1)


def deep_in_a_tree_of_names(pdf):
    names = pikepdf.Dictionary(Names=["a", script()])
    for _ in range(5):
        names = pikepdf.Dictionary(Kids=[pdf.make_indirect(names)])
    pdf.Root.Names = pikepdf.Dictionary(Dests=names)


def among_what_comes_next(pdf):
    pdf.Root.OpenAction = harmless(Next=[harmless(), script()])


def after_what_comes_next(pdf):
    action = script()
    for _ in range(100):
        action = pdf.make_indirect(harmless(Next=[harmless(), action]))
    pdf.Root.OpenAction = action


def when_a_field_is_left(pdf):
    kid = pikepdf.Dictionary(Parent=None, AA=pikepdf.Dictionary(Bl=script()))
    field = pikepdf.Dictionary(FT=pikepdf.Name.Tx, T="name", Kids=[pdf.make_indirect(kid)])
    pdf.Root.AcroForm = pikepdf.Dictionary(Fields=[pdf.make_indirect(field)])


def when_a_page_is_turned(pdf):
    pdf.pages[0].AA = pikepdf.Dictionary(O=script())


def when_it_is_printed(pdf):
    pdf.Root.AA = pikepdf.Dictionary(WP=script())


def behind_a_link(pdf):
    link = pikepdf.Dictionary(Subtype=pikepdf.Name.Link, Rect=[0, 0, 9, 9], A=script())
    pdf.pages[0].Annots = pikepdf.Array([link])


def in_a_film_strip(pdf):
    pdf.Root.OpenAction = pikepdf.Dictionary(S=pikepdf.Name.Rendition, JS="app.alert(1)")


def under_a_name_that_is_elsewhere(pdf):
    kind = pdf.make_indirect(pikepdf.Name.JavaScript)
    pdf.Root.OpenAction = pikepdf.Dictionary(S=kind, J="app.alert(1)")


def where_nothing_leads(pdf):
    """Add a script that nothing refers to. The repair of another reader may find it."""
    pdf.Root.PieceInfo = pikepdf.Dictionary(X=pikepdf.Array([pikepdf.Array([script()])]))


def in_an_xfa_template(pdf):
    template = "<template><field><event><script>app.alert(1)</script></event></field></template>"
    form = pikepdf.Dictionary(Fields=[pdf.make_indirect(pikepdf.Dictionary(T="a"))])
    form.XFA = pikepdf.Array(["template", pdf.make_stream(template.encode("utf-16"))])
    pdf.Root.AcroForm = form


HIDDEN = [
    in_an_outline_item,
    deep_in_a_tree_of_names,
    among_what_comes_next,
    after_what_comes_next,
    when_a_field_is_left,
    when_a_page_is_turned,
    when_it_is_printed,
    behind_a_link,
    in_a_film_strip,
    under_a_name_that_is_elsewhere,
    where_nothing_leads,
    in_an_xfa_template,
]
WRITTEN = {
    "plainly": {},
    "compressed": {"object_stream_mode": pikepdf.ObjectStreamMode.generate},
    "encrypted": {"encryption": pikepdf.Encryption(owner="owner", user="")},
    "both": {
        "object_stream_mode": pikepdf.ObjectStreamMode.generate,
        "encryption": pikepdf.Encryption(owner="owner", user=""),
    },
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("how", WRITTEN)
@pytest.mark.parametrize("hide", HIDDEN, ids=lambda hide: hide.__name__)
def test_a_script_is_found_in_every_place(tmp_path, hide, how):
    path = tmp_path / "paper.pdf"
    with pikepdf.open(io.BytesIO(make_pdf())) as pdf:
        hide(pdf)
        pdf.save(path, **WRITTEN[how])
    assert not is_static(path)
    assert "javascript" in find_active_content(path)


def test_a_script_that_was_added_later_is_found(tmp_path):
    content = hostile.one_page_pdf(hostile.INNOCENT_CONTENT)
    place, table = len(content), content.rindex(b"xref\n0")
    content += b"1 0 obj\n<</Type /Catalog /Pages 2 0 R /OpenAction <</S /JavaScript /JS (x)>>>>\n"
    content += b"endobj\n"
    start = len(content)
    content += b"xref\n1 1\n%010d 00000 n \ntrailer <</Root 1 0 R /Size 5 /Prev %d>>\n" % (
        place,
        table,
    )
    content += b"startxref\n%d\n%%%%EOF\n" % start
    reading = read(save(tmp_path, content))
    assert (reading.text, reading.flags, reading.repaired) == (
        hostile.INNOCENT_TEXT,
        {"javascript"},
        False,
    )


def test_a_script_behind_many_other_objects_is_found(tmp_path):
    others = [b"<</A %d 0 R>>" % at for at in range(5, 25_005)]
    content = hostile.one_page_pdf(hostile.INNOCENT_CONTENT, *others, b"<</S /JavaScript /JS (x)>>")
    assert find_active_content(save(tmp_path, content)) == {"javascript"}


def test_a_file_with_more_objects_than_the_limit_is_flagged_as_unsearched(tmp_path, monkeypatch):
    monkeypatch.setattr(active_content, "MAX_OBJECTS_PER_FILE", 3)
    assert find_active_content(save(tmp_path, hostile.script())) == {"unsearched"}


def test_a_file_that_pdfium_shows_and_qpdf_gives_up_on_is_flagged_as_unsearched(tmp_path):
    deep = b"/X " + b"[" * 600 + b"]" * 600 + b" /AA <</O <</S /JavaScript /JS (x)>>>>"
    reading = read(save(tmp_path, hostile.one_page_pdf(hostile.INNOCENT_CONTENT, page=deep)))
    assert (reading.text, reading.flags) == (hostile.INNOCENT_TEXT, {"unsearched"})


def test_a_file_that_qpdf_does_not_open_is_flagged_as_unsearched(tmp_path):
    assert find_active_content(save(tmp_path, b"%PDF-1.7 /JavaScript")) == {"unsearched"}


def test_a_script_that_the_repair_removes_is_found_in_the_original(tmp_path):
    content = hostile.one_page_pdf(hostile.INNOCENT_CONTENT, b"<</S /JavaScript /JS (x)>>")
    reading = read(save(tmp_path, content[: content.rindex(b"xref\n0")] + b"%%EOF"))
    assert reading.repaired
    assert reading.flags == {"javascript"}


def test_a_reference_to_a_missing_object_sets_no_flag(tmp_path):
    content = hostile.one_page_pdf(hostile.INNOCENT_CONTENT, page=b"/X 99 0 R /AA <</Sig 1>>")
    assert not is_static(path := save(tmp_path, content))
    assert find_active_content(path) == frozenset()


@pytest.mark.parametrize(
    "text",
    ["/S /JavaScript", "see /Launch and /EmbeddedFiles", "<< /AF [] >>"],
)
def test_text_about_a_script_sets_no_flag(tmp_path, text):
    def write(pdf):
        pdf.Root.Note = pikepdf.Dictionary(Text=text)

    assert find_active_content(save(tmp_path, rewrite(make_pdf(), write))) == frozenset()


def test_a_glyph_with_the_name_of_an_attachment_key_sets_no_flag(tmp_path):
    def write(pdf):
        letters = pikepdf.Dictionary({"/AF": pdf.make_stream(b""), "/EF": pdf.make_stream(b"")})
        pdf.Root.Font = pikepdf.Dictionary(Subtype=pikepdf.Name.Type3, CharProcs=letters)

    assert find_active_content(save(tmp_path, rewrite(make_pdf(), write))) == frozenset()


def test_a_signature_that_belongs_to_no_form_sets_no_flag(tmp_path):
    def write(pdf):
        left = pikepdf.Dictionary(FT=pikepdf.Name.Sig, V=pikepdf.Dictionary())
        pdf.Root.PieceInfo = pikepdf.Dictionary(X=pdf.make_indirect(left))

    assert find_active_content(save(tmp_path, rewrite(make_pdf(), write))) == frozenset()


def link_to(address):
    def add(pdf):
        action = pikepdf.Dictionary(S=pikepdf.Name.URI, URI=pikepdf.String(address))
        link = pikepdf.Dictionary(Subtype=pikepdf.Name.Link, Rect=[0, 0, 9, 9], A=action)
        pdf.pages[0].Annots = pikepdf.Array([pdf.make_indirect(link)])

    return add


@pytest.mark.sampled(2)
@pytest.mark.parametrize("how", WRITTEN)
@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(document.cookie)",
        " JaVaScRiPt:alert(1)",
        "java\tscript:alert(1)",
        "\x01javascript:alert(1)",
        "vbscript:msgbox(1)",
        "data:text/html,<script>alert(1)</script>",
        "javascript:alert('\u0416')",  # written as UTF-16
    ],
)
def test_a_link_that_runs_a_script_is_found(tmp_path, address, how):
    path = tmp_path / "paper.pdf"
    with pikepdf.open(io.BytesIO(make_pdf())) as pdf:
        link_to(address)(pdf)
        pdf.save(path, **WRITTEN[how])
    assert not is_static(path)
    assert find_active_content(path) == {"javascript"}


@pytest.mark.parametrize("address", ["javascript:void(0)", "javascript:void 0;", "JavaScript:;"])
def test_the_address_of_a_button_of_a_printed_web_page_sets_no_flag(tmp_path, address):
    path = save(tmp_path, rewrite(make_pdf(), link_to(address)))
    assert find_active_content(path) == frozenset()


@pytest.mark.parametrize(
    "escape", [rb"(\152avascript:alert\(1\))", b"<6a6176617363726970743a782829>"]
)
def test_a_link_with_an_escaped_script_is_found(tmp_path, escape):
    link = b"<</Type /Annot /Subtype /Link /Rect [0 0 9 9] /A <</S /URI /URI %b>>>>" % escape
    content = hostile.one_page_pdf(hostile.INNOCENT_CONTENT, link, page=b"/Annots [5 0 R]")
    assert not is_static(path := save(tmp_path, content))
    assert find_active_content(path) == {"javascript"}


def test_a_link_whose_script_is_an_indirect_object_is_found(tmp_path):
    link = b"<</Type /Annot /Subtype /Link /Rect [0 0 9 9] /A <</S /URI /URI 6 0 R>>>>"
    content = hostile.one_page_pdf(
        hostile.INNOCENT_CONTENT, link, b"(javascript:alert\\(1\\))", page=b"/Annots [5 0 R]"
    )
    assert not is_static(path := save(tmp_path, content))
    assert find_active_content(path) == {"javascript"}


@pytest.mark.parametrize(
    "address", ["https://www.fda.gov/", "http://example.org/javascript:x", "mailto:irb@example.org"]
)
def test_a_link_to_the_web_sets_no_flag_and_needs_no_search(tmp_path, address):
    path = save(tmp_path, rewrite(make_pdf(), link_to(address)))
    assert is_static(path)
    assert find_active_content(path) == frozenset()


def opens(kind, **action):
    def add(pdf):
        pdf.Root.OpenAction = pikepdf.Dictionary(S=pikepdf.Name(f"/{kind}"), **action)

    return add


@pytest.mark.parametrize("kind", ["Launch", "GoToR", "Thread"])
@pytest.mark.parametrize("name", ["protocol.pdf", "../annex/Table 1.DOCX", "site/labs.xlsx"])
def test_a_link_to_a_document_beside_the_file_sets_no_flag(tmp_path, name, kind):
    for target in (name, pikepdf.Dictionary(Type=pikepdf.Name.Filespec, F=name, UF=name)):
        path = save(tmp_path, rewrite(make_pdf(), opens(kind, F=target)))
        assert find_active_content(path) == frozenset()


@pytest.mark.parametrize("kind", ["GoToR", "Thread"])
@pytest.mark.parametrize(
    "name",
    [
        "\\\\203.0.113.9\\share\\protocol.pdf",
        "//203.0.113.9/share/protocol.pdf",
        "C:\\windows\\notes.pdf",
        "/home/notes.pdf",
        "http://example.org/protocol.pdf",
    ],
)
def test_a_link_to_a_file_elsewhere_is_flagged_as_a_file_link(tmp_path, kind, name):
    path = save(tmp_path, rewrite(make_pdf(), opens(kind, F=name, D=[0, pikepdf.Name.Fit])))
    assert find_active_content(path) == {"file-link"}


def test_an_article_within_the_file_sets_no_flag(tmp_path):
    path = save(tmp_path, rewrite(make_pdf(), opens("Thread", D=0)))
    assert find_active_content(path) == frozenset()


@pytest.mark.parametrize(
    "action",
    [
        {"F": "setup.exe"},
        {"F": "protocol.pdf.exe"},
        {"F": "setup.exe\x00.pdf"},
        {"F": "C:\\windows\\notes.txt"},
        {"F": "\\\\server\\share\\protocol.pdf"},
        {"F": "//server/share/protocol.pdf"},
        {"F": "file:protocol.pdf"},
        {"F": pikepdf.Dictionary(F="protocol.pdf", UF="setup.exe")},
        {"F": pikepdf.Dictionary(FS=pikepdf.Name.URL, F="protocol.pdf")},
        {"F": "protocol.pdf", "Win": pikepdf.Dictionary(F="cmd.exe", P="/c calc")},
        {},
    ],
)
def test_any_other_launch_is_flagged_as_a_launch(tmp_path, action):
    path = save(tmp_path, rewrite(make_pdf(), opens("Launch", **action)))
    assert find_active_content(path) == {"launch"}


def formatted(*scripts, trigger="F"):
    def add(pdf):
        fields = [
            pdf.make_indirect(
                pikepdf.Dictionary(
                    FT=pikepdf.Name.Tx,
                    T=f"field {number}",
                    AA=pikepdf.Dictionary({f"/{trigger}": action(text)}),
                )
            )
            for number, text in enumerate(scripts)
        ]
        pdf.Root.AcroForm = pikepdf.Dictionary(Fields=fields)

    return add


def action(text):
    return pikepdf.Dictionary(S=pikepdf.Name.JavaScript, JS=text)


FORMATS = (
    'AFNumber_Format(2, 0, 0, 0, "", true);',
    "AFNumber_Keystroke(2, 0, 0, 0, '', true)",
    "AFPercent_Format(1.5, 0)",
    'AFNumber_Format(2, 2, 0, 0, "\\u20ac ", true);',
    'AFDate_FormatEx("mm/dd/yyyy");',
    'AFDate_KeystrokeEx("mm/dd/yyyy");\nAFDate_FormatEx("mm/dd/yyyy");',
    "AFTime_Format(0)",
    "AFSpecial_Keystroke(2);",
    "AFRange_Validate(true, 0, true, 100);",
    'AFSimple_Calculate("SUM", new Array ("a", "b"));',
)


@pytest.mark.parametrize("how", WRITTEN)
def test_a_form_that_only_formats_its_fields_sets_no_flag(tmp_path, how):
    path = tmp_path / "form.pdf"
    with pikepdf.open(io.BytesIO(make_pdf())) as pdf:
        formatted(*FORMATS)(pdf)
        pdf.save(path, **WRITTEN[how])
    assert find_active_content(path) == frozenset()


@pytest.mark.parametrize(
    "text",
    [
        "app.alert(1)",
        "AFNumber_Format(2, 0, 0, 0, '', true); app.alert(1)",
        "AFNumber_Format(app.alert(1))",
        "AFNumber_Format(this.submitForm('http://example.org'), 0)",
        'AFDate_FormatEx("mm" + app.alert(1))',
        'AFDate_FormatEx("\\" + app.alert(1) + "")',
        'AFDate_FormatEx("\\u002" + app.alert(1) + "")',
        'AFSimple_Calculate("SUM", new Array(app))',
        "AFNumber_Format = app.alert",
        "AFOwn_Format(1)",
        "",
        "AFNumber_Format(2);" + " " * 6_000,
        "AFNumber_Format(" + "1" * 1_900,
        "AFNumber_Format(1) " * 100 + "!",
    ],
)
def test_any_other_script_of_a_field_is_flagged(tmp_path, text):
    assert find_active_content(save(tmp_path, rewrite(make_pdf(), formatted(text)))) == {
        "javascript"
    }


def test_an_action_that_follows_a_format_is_examined(tmp_path):
    def add(pdf):
        first = action(FORMATS[0])
        first.Next = pikepdf.Array([action(FORMATS[1]), script()])
        pdf.Root.OpenAction = first

    assert find_active_content(save(tmp_path, rewrite(make_pdf(), add))) == {"javascript"}


def in_a_stream(text):
    def add(pdf):
        pdf.Root.OpenAction = action(pdf.make_stream(text))

    return add


def test_a_format_in_a_stream_sets_no_flag(tmp_path):
    path = save(tmp_path, rewrite(make_pdf(), in_a_stream(FORMATS[0].encode())))
    assert find_active_content(path) == frozenset()


@pytest.mark.parametrize(
    "text",
    [
        b"app.alert(1)",
        FORMATS[0].encode() + b"\xff",
        FORMATS[0].encode("utf-16"),
        (FORMATS[0] * 200).encode(),
        b"",
    ],
)
def test_any_other_script_in_a_stream_is_flagged(tmp_path, text):
    path = save(tmp_path, rewrite(make_pdf(), in_a_stream(text)))
    assert find_active_content(path) == {"javascript"}


# The shape of what LiveCycle Designer writes into each form, in the version of another release.
STRINGS = """if (typeof(this.ADBE) == "undefined")
   this.ADBE = new Object();
ADBE.LANGUAGE = "DEU";
ADBE.Viewer_string_Title = "Adobe Acrobat";
ADBE.Reader_string_Need_New_Version_Msg = "Diese Datei braucht eine neuere Version.";
"""
VARIABLES = """if (typeof(ADBE.Reader_Value_Asked) == "undefined")
   ADBE.Reader_Value_Asked = false;
if (typeof(ADBE.Reader_Need_Version) == "undefined" || ADBE.Reader_Need_Version < 8.1)
{
   ADBE.Reader_Need_Version = 8.1;
   ADBE.Reader_Value_New_Version_URL = "http://cgi.adobe.com/special/acrobat/update";
   ADBE.SYSINFO = "?p=" + app.platform + "&v=" + app.viewerVersion + "&w=" + "XFA1_6";
}
"""
CHECK = """if (typeof(xfa_installed) == "undefined" || xfa_version < 2.5)
{
   if (app.viewerType == "Reader")
   {
      if (ADBE.Reader_Value_Asked != true)
      {
         if (app.viewerVersion < 6.0)
         {
            if (app.alert(ADBE.Viewer_Form_string_Reader_5x, 1, 1) == 1)
               this.getURL(ADBE.Reader_Value_New_Version_URL + ADBE.SYSINFO, false);
            ADBE.Reader_Value_Asked = true;
         }
         else if (app.alert(ADBE.Viewer_Form_string_Reader_601, 1, 1) == 1)
            app.findComponent({cType:"Plugin", cName:"XFA", cVer:"2.5"});
      }
   }
   else
      app.launchURL(ADBE.Viewer_Value_New_Version_URL + ADBE.SYSINFO, true);
}
"""


def with_document_scripts(*texts):
    def add(pdf):
        names = []
        for number, text in enumerate(texts):
            stream = pdf.make_stream(text.encode())
            names += [f"!ADBE::{number}", pdf.make_indirect(action(stream))]
        pdf.Root.Names = pikepdf.Dictionary(
            JavaScript=pdf.make_indirect(pikepdf.Dictionary(Names=names))
        )

    return add


@pytest.mark.parametrize("how", WRITTEN)
def test_the_check_of_versions_that_livecycle_designer_writes_sets_no_flag(tmp_path, how):
    path = tmp_path / "form.pdf"
    with pikepdf.open(io.BytesIO(make_pdf())) as pdf:
        with_document_scripts(STRINGS, VARIABLES, CHECK)(pdf)
        pdf.save(path, **WRITTEN[how])
    assert find_active_content(path) == frozenset()


@pytest.mark.parametrize(
    ("script", "old", "new"),
    [
        (STRINGS, '"DEU"', '"DEU" + app.alert(1)'),
        (STRINGS, '"DEU"', '"\\" + app.alert(1) + "'),
        (STRINGS, "ADBE.LANGUAGE", "app.alert"),
        (STRINGS, "new Object()", "new Function()"),
        (VARIABLES, "http://cgi.adobe.com", "http://cgi.adobe.com.example.org"),
        (VARIABLES, "http://cgi.adobe.com", "http://example.org/adobe.com"),
        (VARIABLES, "http://cgi.adobe.com", "javascript:"),
        (VARIABLES, "ADBE.Reader_Need_Version = 8.1", 'ADBE.New_URL = "http://example.org"'),
        (VARIABLES, '"?p="', '"@example.org/"'),
        (VARIABLES, "app.platform", "app.alert(1)"),
        (CHECK, "this.getURL(ADBE.Reader_Value_New_Version_URL", 'this.getURL("http://e.org/"'),
        (CHECK, "this.getURL(ADBE.Reader_Value_New_Version_URL", "this.getURL(ADBE.LANGUAGE"),
        (CHECK, "app.launchURL", "this.submitForm"),
        (CHECK, "ADBE.Reader_Value_Asked = true;", "ADBE.Reader_Value_Asked = true; eval(x);"),
    ],
)
def test_a_check_of_versions_that_does_anything_else_is_flagged(tmp_path, script, old, new):
    assert old in script
    path = save(tmp_path, rewrite(make_pdf(), with_document_scripts(script.replace(old, new, 1))))
    assert find_active_content(path) == {"javascript"}


def test_a_script_beside_harmless_ones_is_flagged(tmp_path):
    path = save(tmp_path, rewrite(make_pdf(), with_document_scripts(STRINGS, "app.alert(1)")))
    assert find_active_content(path) == {"javascript"}


def automatic(where, **action):
    def add(pdf):
        found = pdf.make_indirect(
            pikepdf.Dictionary(S=pikepdf.Name.URI, URI="https://example.org/", **action)
        )
        link = pikepdf.Dictionary(
            Type=pikepdf.Name.Annot, Subtype=pikepdf.Name.Link, Rect=[0, 0, 9, 9]
        )
        if where == "opened":
            pdf.Root.OpenAction = found
        elif where == "next":
            pdf.Root.OpenAction = harmless(Next=[harmless(), found])
        elif where == "page":
            pdf.pages[0].AA = pikepdf.Dictionary(O=found)
        elif where == "pointer":
            link.AA = pikepdf.Dictionary(E=found)
        elif where == "click":
            link.A = found
        else:
            link.AA = pikepdf.Dictionary(U=found)
        pdf.pages[0].Annots = pdf.make_indirect([link])

    return add


@pytest.mark.parametrize("how", WRITTEN)
@pytest.mark.parametrize("where", ["opened", "next", "page", "pointer"])
def test_a_web_address_that_opens_by_itself_is_flagged(tmp_path, where, how):
    path = tmp_path / "file.pdf"
    with pikepdf.open(io.BytesIO(make_pdf())) as pdf:
        automatic(where)(pdf)
        pdf.save(path, **WRITTEN[how])
    assert not is_static(path)
    assert find_active_content(path) == {"remote"}


@pytest.mark.parametrize("where", ["click", "button"])
def test_a_web_address_that_a_person_clicks_sets_no_flag(tmp_path, where):
    path = save(tmp_path, rewrite(make_pdf(), automatic(where)))
    assert find_active_content(path) == frozenset()


def test_opening_at_a_place_of_the_file_sets_no_flag(tmp_path):
    def add(pdf):
        automatic("click")(pdf)
        pdf.Root.OpenAction = [pdf.pages[0].obj, pikepdf.Name.Fit]

    path = save(tmp_path, rewrite(make_pdf(), add))
    assert is_static(path)
    assert find_active_content(path) == frozenset()


def without_a_place(content, number):
    """Return a file whose table places this object at the beginning of the file, as macOS does."""
    start = content.index(b"xref\n") if b"xref\n" in content else 0
    line = content.index(b"\n", content.index(b"0 ", start)) + 1 + 20 * number
    return content[:line] + b"0" * 10 + content[line + 10 :]


def test_an_object_without_a_place_that_is_nowhere_in_the_file_sets_no_flag(tmp_path):
    """PDFs of macOS have objects that were never written. Nothing can be in them."""
    content = hostile.one_page_pdf(hostile.INNOCENT_CONTENT, b"null").replace(
        b"5 0 obj\nnull\nendobj\n", b" " * len(b"5 0 obj\nnull\nendobj\n")
    )
    path = save(tmp_path, without_a_place(content, 5))
    with pikepdf.open(path) as pdf:
        assert None in list(pdf.objects)
    assert find_active_content(path) == frozenset()


def test_an_object_without_a_place_that_is_in_the_file_is_flagged_as_unsearched(tmp_path):
    content = hostile.one_page_pdf(hostile.INNOCENT_CONTENT, b"<</S /JavaScript /JS (x)>>")
    path = save(tmp_path, without_a_place(content, 5))
    assert "unsearched" in find_active_content(path)
