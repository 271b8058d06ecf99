"""Receives traces: a real OTLP/HTTP receiver in a thread on this machine."""

import gzip
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from tests.socket_servers import serving


@dataclass
class ReceivedSpans:
    endpoint: str = ""
    bodies: list[bytes] = field(default_factory=list)

    @property
    def spans(self):
        """Return the received spans."""
        requests = [ExportTraceServiceRequest.FromString(body) for body in self.bodies]
        return [
            span
            for request in requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    def of_document(self, document):
        """Return the spans of one document by their names, the first one of each name."""
        found = {}
        for span in self.spans:
            if attributes_of(span)["siteledger.document"] == document.subject:
                found.setdefault(span.name, span)
        return found


def attributes_of(span):
    """Return the attributes of a span as plain values."""
    return {
        each.key: getattr(each.value, each.value.WhichOneof("value")) for each in span.attributes
    }


@contextmanager
def otlp_receiver():
    """Serve `/v1/traces` as OTLP/HTTP defines it, and yield what was received."""
    received = ReceivedSpans()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):  # the library's name
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            is_known = self.path == "/v1/traces"
            if is_known:
                received.bodies.append(body)
            answer = ExportTraceServiceResponse().SerializeToString()
            self.send_response(200 if is_known else 404)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *arguments):
            pass

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as server:
        received.endpoint = f"http://127.0.0.1:{server.server_port}"
        yield received
