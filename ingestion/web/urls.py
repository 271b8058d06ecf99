from django.urls import include, path

from ingestion.web.copies import certified_copies, certified_copy
from ingestion.web.documents import document_page, original
from ingestion.web.help import rejections
from ingestion.web.home import home
from ingestion.web.packets import packet_page
from ingestion.web.pictures import page_image
from ingestion.web.required import required, required_of
from ingestion.web.uploads import upload

urlpatterns = [
    path("", include("ingestion.web.account.urls")),
    path("", home, name="home"),
    path("packets/new/", upload, name="upload"),
    path("packets/<slug:reference>/", packet_page, name="packet"),
    path("documents/<int:pk>/", document_page, name="document"),
    path("documents/<int:pk>/file/", original, name="original"),
    path("documents/<int:pk>/pages/<int:page>/", page_image, name="page_image"),
    path("documents/<int:pk>/copies/", certified_copies, name="certified_copies"),
    path("documents/<int:pk>/copies/<int:seq>/", certified_copy, name="certified_copy"),
    path("sites/", required, name="required"),
    path("sites/<path:site_id>/", required_of, name="required_of"),
    path("help/rejections/", rejections, name="help_rejections"),
]
