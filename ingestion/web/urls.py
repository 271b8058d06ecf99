from django.urls import include, path

from ingestion.web.asking import ask, redeclare, retry
from ingestion.web.copies import certified_copies, certified_copy
from ingestion.web.documents import document_page, original
from ingestion.web.files import file, files, guess, remove
from ingestion.web.help import help_page, rejections
from ingestion.web.home import home
from ingestion.web.mail import account_mail
from ingestion.web.packet_pages import packet_page, receipt
from ingestion.web.pictures import page_image
from ingestion.web.required import required_of
from ingestion.web.site_pages import figures, required, required_csv
from ingestion.web.uploads import allowed, correct, upload

urlpatterns = [
    path("", include("ingestion.web.account.urls")),
    path("", home, name="home"),
    path("packets/new/", upload, name="upload"),
    path("packets/new/files/", files, name="draft_files"),
    path("packets/new/files/<int:pk>/", file, name="draft_file"),
    path("packets/new/files/<int:pk>/guess/", guess, name="draft_file_guess"),
    path("packets/new/files/<int:pk>/remove/", remove, name="draft_file_remove"),
    path("uploads/allowed/", allowed, name="upload_allowed"),
    path("packets/<slug:reference>/", packet_page, name="packet"),
    path("packets/<slug:reference>/receipt/", receipt, name="receipt"),
    path("documents/<int:pk>/", document_page, name="document"),
    path("documents/<int:pk>/file/", original, name="original"),
    path("documents/<int:pk>/pages/<int:page>/", page_image, name="page_image"),
    path("documents/<int:pk>/correct/", correct, name="correct"),
    path("documents/<int:pk>/retry/", retry, name="retry"),
    path("documents/<int:pk>/ask/", ask, name="ask"),
    path("documents/<int:pk>/type/", redeclare, name="redeclare"),
    path("documents/<int:pk>/copies/", certified_copies, name="certified_copies"),
    path("documents/<int:pk>/copies/<int:seq>/", certified_copy, name="certified_copy"),
    path("sites/", required, name="required"),
    path("sites.csv", required_csv, name="required_csv"),
    path("figures/", figures, name="figures"),
    path("sites/<path:site_id>/", required_of, name="required_of"),
    path("account/mail/", account_mail, name="account_mail"),
    path("help/", help_page, name="help"),
    path("help/rejections/", rejections, name="help_rejections"),
]
