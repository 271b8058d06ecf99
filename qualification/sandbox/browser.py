"""Implements a minimal browser session with its own cookies, for scripts in a sandbox."""

from collections.abc import Mapping

import httpx2


class Browser:
    """Sends requests with the cookies and the CSRF token of one session."""

    def __init__(self, client: httpx2.Client) -> None:
        self._client = client

    def get(self, address: str) -> httpx2.Response:
        """Request a page, and return the response. Redirects are not followed."""
        return self._client.get(address)

    def post(self, address: str, form: Mapping[str, str]) -> httpx2.Response:
        """Send a form as the page does, with the CSRF token."""
        token = {"X-CSRFToken": self._client.cookies["csrftoken"]}
        return self._client.post(address, data=dict(form), headers=token)

    def sign_in(self, name: str, password: str) -> httpx2.Response:
        """Send the sign-in form, and return the response. Status 302 means signed in."""
        self.get("/login/")
        return self.post("/login/", {"username": name, "password": password})
