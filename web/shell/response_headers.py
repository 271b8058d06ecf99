"""What browsers may do with a response, beside the content security policy of pages."""

from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase

# Features of browsers that no page of ours uses.
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
# For everything that is no page: documents, page images, exports, JSON.
FILE_POLICY = "default-src 'none'; frame-ancestors 'none'; sandbox"


class ResponseHeaders:
    """Stands inside CSPMiddleware, which leaves a policy alone that is there already.

    A document comes from outside. If a browser shows it all the same, although it is sent as an
    attachment, it runs in an origin of its own, without scripts, forms and other content.
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
