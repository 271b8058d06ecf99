"""Who asks. Views behind `login_required` take a SignedIn request."""

from django.http import HttpRequest

from sites.models import User


class SignedIn(HttpRequest):
    """For type checking: after `login_required` the user is a person, never anonymous."""

    user: User
