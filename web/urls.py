"""Defines the URLs of all pages outside the admin."""

from django.urls import include, path

from web.account.mail_settings import account_mail
from web.documents.certified_copies import certified_copies, certified_copy
from web.documents.document_page import document_page, original
from web.documents.page_images import page_image
from web.documents.search import found_page, search_page
from web.documents.site_requests import correct_declaration, request_review, retry_download
from web.help import help_page, rejections
from web.packets.files import (
    describe_file,
    detect_type,
    draft_files,
    remove_file,
)
from web.packets.home import home
from web.packets.packets import download_receipt, packet_page
from web.packets.uploads import upload_allowed, upload_correction, upload_packet
from web.sites.required_documents import separator_sheets, site_page
from web.sites.sites import metrics_page, required_documents_csv, required_documents_page

urlpatterns = [
    path("", include("web.account.urls")),
    path("", home, name="home"),
    path("packets/new/", upload_packet, name="upload"),
    path("packets/new/files/", draft_files, name="draft_files"),
    path("packets/new/files/<int:pk>/", describe_file, name="draft_file"),
    path("packets/new/files/<int:pk>/guess/", detect_type, name="draft_file_type"),
    path("packets/new/files/<int:pk>/remove/", remove_file, name="draft_file_remove"),
    path("uploads/allowed/", upload_allowed, name="upload_allowed"),
    path("packets/<slug:reference>/", packet_page, name="packet"),
    path("packets/<slug:reference>/receipt/", download_receipt, name="receipt"),
    path("documents/<int:pk>/", document_page, name="document"),
    path("documents/<int:pk>/file/", original, name="original"),
    path("documents/<int:pk>/pages/<int:page>/", page_image, name="page_image"),
    path("documents/<int:pk>/pages/<int:page>/found/", found_page, name="found_page"),
    path("documents/<int:pk>/correct/", upload_correction, name="correct"),
    path("documents/<int:pk>/retry/", retry_download, name="retry"),
    path("documents/<int:pk>/ask/", request_review, name="ask"),
    path("documents/<int:pk>/type/", correct_declaration, name="redeclare"),
    path("documents/<int:pk>/copies/", certified_copies, name="certified_copies"),
    path("documents/<int:pk>/copies/<int:seq>/", certified_copy, name="certified_copy"),
    path("search/", search_page, name="search"),
    path("sites/", required_documents_page, name="required"),
    path("sites.csv", required_documents_csv, name="required_csv"),
    path("figures/", metrics_page, name="figures"),
    path("sites/<path:site_id>/separators/", separator_sheets, name="separator_sheets"),
    path("sites/<path:site_id>/", site_page, name="required_of"),
    path("account/mail/", account_mail, name="account_mail"),
    path("help/", help_page, name="help"),
    path("help/rejections/", rejections, name="help_rejections"),
]
