"""Stands between an operator and its API server, counts what it writes, and cuts it off at one of these writes: before it
reaches the server, or after it was done and before the answer comes. Used by the tests beside it."""

import http.client
import http.server
import ssl
import threading
import urllib.parse

READS_BY_POST = ("tokenreviews",)


class WriteProxy:
    """`cut_at(number, side, call)`: at that write from now on, on side "before" or "after", `call` is made once."""

    def __init__(self, cluster):
        self.target = urllib.parse.urlsplit(cluster.server.url)
        self.context = ssl.create_default_context(cafile=cluster.folder / "ca.pem")
        self.lock = threading.Lock()
        self.writes = []
        self.cut = None
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                try:
                    proxy.handle(self)
                except (OSError, http.client.HTTPException):
                    self.close_connection = True

            do_POST = do_PATCH = do_DELETE = do_PUT = do_GET

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # connections of an operator that was killed
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def cut_at(self, number, side, call):
        with self.lock:
            self.writes = []
            self.cut = (number, side, call)

    def forget(self):
        with self.lock:
            self.writes = []
            self.cut = None

    def note(self, request):
        """The cut that is due at this write, or nothing."""
        what = f"{request.command} {request.path.split('?')[0]}"
        if request.command == "GET" or what.endswith(READS_BY_POST):
            return None
        with self.lock:
            self.writes.append(what)
            if self.cut is None or len(self.writes) != self.cut[0]:
                return None
            due, self.cut = self.cut, None
            return due

    def handle(self, request):
        body = request.rfile.read(int(request.headers.get("Content-Length") or 0))
        cut = self.note(request)
        if cut and cut[1] == "before":
            cut[2]()
            request.close_connection = True
            return
        upstream = http.client.HTTPSConnection(self.target.hostname, self.target.port, context=self.context)
        try:
            headers = {name: value for name, value in request.headers.items() if name.lower() not in ("host", "connection")}
            upstream.request(request.command, request.path, body, headers)
            reply = upstream.getresponse()
            if cut:
                reply.read()
                cut[2]()
                request.close_connection = True
                return
            self.answer(request, reply)
        finally:
            upstream.close()

    @staticmethod
    def answer(request, reply):
        request.send_response(reply.status)
        for name in ("Content-Type", "Retry-After"):
            if value := reply.getheader(name):
                request.send_header(name, value)
        request.send_header("Transfer-Encoding", "chunked")  # a watch has no length, and others may do without
        request.end_headers()
        while piece := reply.read1(65536):
            request.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            request.wfile.flush()
        request.wfile.write(b"0\r\n\r\n")
        request.wfile.flush()
