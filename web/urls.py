from django.urls import include, path

from web.account.mail_settings import account_mail
from web.documents.certified_copies import certified_copies, certified_copy
from web.documents.document_page import document_page, original
from web.documents.page_images import page_image
from web.documents.site_requests import ask, redeclare, retry
from web.help import help_page, rejections
from web.packets.files import (
    file,
    files,
    guess,
    remove,
)
from web.packets.home import home
from web.packets.packets import packet_page, receipt
from web.packets.uploads import allowed, correct, upload
from web.sites.required_documents import required_of
from web.sites.sites import figures, required, required_csv

urlpatterns = [
    path("", include("web.account.urls")),
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
