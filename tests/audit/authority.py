"""Runs a time stamp authority (RFC 3161): `openssl ts` behind a small HTTP server."""

import subprocess
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.socket_servers import serving

CONFIG = """
[req]
distinguished_name = name
prompt = no
[name]
CN = siteledger tests
[root]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign
[tsa]
basicConstraints = critical, CA:FALSE
extendedKeyUsage = critical, timeStamping
[tsa_config]
serial = {folder}/serial
signer_cert = {folder}/tsa.pem
signer_key = {folder}/tsa.key
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256, sha512
accuracy = secs:1
# The root is left out, because rfc3161-client refuses certificate sets that are not sorted.
ess_cert_id_chain = no
"""


def openssl(*arguments, content=None):
    done = subprocess.run(
        ["openssl", *map(str, arguments)], input=content, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        assert self.headers["Content-Type"] == "application/timestamp-query"
        query = self.rfile.read(int(self.headers["Content-Length"]))
        response = self.server.tamper(self.server.authority.stamp(query))
        self.send_response(200)
        self.send_header("Content-Type", "application/timestamp-reply")
        self.send_header("Content-Length", str(len(response)))
        self.end_headers()
        self.wfile.write(response)

    def log_message(self, *_args):
        pass


class Authority:
    """Issues time stamps with `openssl ts`. `root` is the certificate that verifies them."""

    def __init__(self, folder):
        self.folder, self.root = folder, folder / "root.pem"
        self.config = folder / "openssl.cnf"
        self.config.write_text(CONFIG.format(folder=folder))
        (folder / "serial").write_text("01\n")
        self._certify("root", "-x509", "-extensions", "root")
        signed_by = ("-CA", self.root, "-CAkey", folder / "root.key")
        self._certify("tsa", "-x509", "-extensions", "tsa", *signed_by, "-subj", "/CN=our tsa")

    def _certify(self, name, *options):
        key = ("-newkey", "rsa:2048", "-nodes", "-keyout", self.folder / f"{name}.key")
        out = ("-out", self.folder / f"{name}.pem", "-days", "30", "-config", self.config)
        openssl("req", "-new", *key, *out, *options)

    def stamp(self, query):
        (self.folder / "query.tsq").write_bytes(query)
        options = ("-config", self.config, "-section", "tsa_config")
        return openssl("ts", "-reply", "-queryfile", self.folder / "query.tsq", *options)

    def verify(self, response, content):
        """Verify a time stamp with openssl, as an inspector does, or fail the test."""
        (self.folder / "stored.tsr").write_bytes(response)
        (self.folder / "content").write_bytes(content)
        files = ("-in", self.folder / "stored.tsr", "-data", self.folder / "content")
        return openssl("ts", "-verify", *files, "-CAfile", self.root)


@contextmanager
def time_stamp_authority(folder):
    """Run an authority and yield it, with its `address`. Tests may replace `server.tamper`.

    The server sends what this function returns for a response.
    """
    authority = Authority(folder)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.authority, server.tamper = authority, bytes
    authority.server = server
    authority.address = "http://127.0.0.1:{1}/tsa".format(*server.server_address)
    with serving(server):
        yield authority
