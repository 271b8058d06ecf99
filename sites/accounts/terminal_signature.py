"""Takes electronic signatures of people at a terminal, for the results of commands.

A command has no session, so the signer enters what sign-in and a signature on a page ask for
together: the password and, if the account has a second factor, a code (21 CFR 11.200(a)(1)).
"""

import getpass

from django.utils.translation import gettext as _

from audit.electronic_signatures import ElectronicSignature
from sites.accounts import identity, lockout, second_factor, step_up
from sites.accounts.step_up import NotSigned
from sites.eligibility import list_missing_for_signature
from sites.models import User

__all__ = ["NotSigned", "find_signer", "sign_at_terminal"]


def find_signer(username: str, permission: str) -> User:
    """Return the person with this user name, who may sign what needs the permission.

    Raises NotSigned with the reason if the person may not. Nothing secret is asked for yet, so that
    a command can call this before work that takes long.
    """
    person = User.objects.filter(username=username, is_active=True).first()
    if person is None or not person.has_access():
        raise NotSigned(_("There is no active user {name}.").format(name=username))
    if not person.has_perm(permission):
        sentence = _("{name} does not have the permission {permission}.")
        raise NotSigned(sentence.format(name=username, permission=permission))
    if missing := list_missing_for_signature(person):
        raise NotSigned(" ".join(each.sentence for each in missing))
    return person


def sign_at_terminal(person: User, meaning: str, permission: str) -> ElectronicSignature:
    """Ask for the password and the code of a person, and return their signature.

    Raises NotSigned if one of them is wrong, which counts as a failure of `sites.accounts.lockout`,
    or if the person does not enter them.
    """
    try:
        password = getpass.getpass(_("Password of {name}: ").format(name=person.get_username()))
        step_up.confirm(person, username=person.get_username(), password=password)
        if person.second_factor_since:
            code = getpass.getpass(_("Code from the app of {name}: ").format(name=person))
            _check_code(person, code)
    except EOFError as error:
        raise NotSigned(_("No password was entered.")) from error
    signer = person.actor_with(permission)
    return ElectronicSignature(
        signer, str(person), meaning, account=identity.describe_last_identity_change(person)
    )


def _check_code(person: User, code: str) -> None:
    try:
        lockout.require_proof(person, lambda: second_factor.verify_code(person, code))
    except lockout.ProofRefused as refused:
        raise NotSigned(_("The code is incorrect, or the account is locked.")) from refused
