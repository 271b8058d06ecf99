"""Adds security headers to responses, besides the content security policy of pages."""

from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase

# No page uses these features of browsers.
PERMISSIONS_POLICY = ", ".join(
    f"{feature}=()"
    for feature in (
        "accelerometer",
        "autoplay",
        "camera",
        "display-capture",
        "encrypted-media",
        "geolocation",
        "gyroscope",
        "magnetometer",
        "microphone",
        "midi",
        "payment",
        "usb",
        "xr-spatial-tracking",
    )
)
# The content security policy of responses that are not pages: documents, images, exports, JSON.
FILE_POLICY = "default-src 'none'; frame-ancestors 'none'; sandbox"


class ResponseHeaders:
    """Adds the headers. It runs inside CSPMiddleware, which keeps a policy that is already set.

    A document comes from outside and is sent as an attachment. If a browser displays it
    nevertheless, the policy gives it an origin of its own, without scripts, forms and other
    content.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self._get_response(request)
        response.headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
        response.headers.setdefault("Permissions-Policy", PERMISSIONS_POLICY)
        if not response.headers.get("Content-Type", "").startswith("text/html"):
            response.headers.setdefault("Content-Security-Policy", FILE_POLICY)
        return response
