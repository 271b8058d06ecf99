"""Provides a certificate authority for tests, and its certificates."""

import ipaddress
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID


def _name(text):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


class Authority:
    def __init__(self, folder):
        self._folder, self._key = folder, ec.generate_private_key(ec.SECP256R1())
        self._name = _name("Authority of the tests")
        constraints = x509.BasicConstraints(ca=True, path_length=0)
        built = self._certificate_builder(self._name, self._key).add_extension(
            constraints, critical=True
        )
        self.path = folder / "authority.pem"
        self.path.write_bytes(self._signed(built).public_bytes(Encoding.PEM))

    def certificate(self, *names, days=30):
        """Return a file with a certificate and a key for these names or addresses."""
        key = ec.generate_private_key(ec.SECP256R1())
        built = self._certificate_builder(_name(names[0]), key, days)
        built = built.add_extension(
            x509.SubjectAlternativeName([_general(name) for name in names]), critical=False
        )
        file = self._folder / f"{names[0]}-{days}.pem"
        secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        file.write_bytes(self._signed(built).public_bytes(Encoding.PEM) + secret)
        return file

    def _certificate_builder(self, name, key, days=30):
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=90))
            .not_valid_after(now + timedelta(days=days))
        )

    def _signed(self, built):
        return built.sign(self._key, hashes.SHA256())


def _general(name):
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
