from django.contrib.auth.views import LogoutView
from django.urls import path

from ingestion.web.copies import certified_copies, certified_copy
from ingestion.web.documents import document_page, original
from ingestion.web.help import rejections
from ingestion.web.home import home
from ingestion.web.packets import packet_page
from ingestion.web.required import required_of
from ingestion.web.signin import SignIn
from ingestion.web.sites import figures, required, required_csv
from ingestion.web.uploads import upload

urlpatterns = [
    path("login/", SignIn.as_view(), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("", home, name="home"),
    path("packets/new/", upload, name="upload"),
    path("packets/<slug:reference>/", packet_page, name="packet"),
    path("documents/<int:pk>/", document_page, name="document"),
    path("documents/<int:pk>/file/", original, name="original"),
    path("documents/<int:pk>/copies/", certified_copies, name="certified_copies"),
    path("documents/<int:pk>/copies/<int:seq>/", certified_copy, name="certified_copy"),
    path("sites/", required, name="required"),
    path("sites.csv", required_csv, name="required_csv"),
    path("figures/", figures, name="figures"),
    path("sites/<path:site_id>/", required_of, name="required_of"),
    path("help/rejections/", rejections, name="help_rejections"),
]
