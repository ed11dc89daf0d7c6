"""Speaks to the board of rank 0 from outside: frames, proofs, a relay that records what a rank says, a door that tells what a
member is told, and floods. Used by the test beside it; as a program it is a flood."""

import dataclasses
import hmac
import http.client
import http.server
import json
import os
import pathlib
import select
import socket
import struct
import subprocess
import sys
import threading
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
from local_run import PATIENCE_SECONDS, wait_until  # noqa: E402

HELD = 5000
SET, CHECK, MARK, HELLO, PROVE = 1, 4, 9, 16, 17
DONE, OVER, REFUSED, CHALLENGE = 128, 129, 130, 131
RANK, BOARD = 0, 1  # sides of a proof

def encode(kind, attempt, words):
    body = struct.pack("<BQ", kind, attempt) + b"".join(struct.pack("<I", len(word)) + word for word in words)
    return b"RTB1" + struct.pack("<I", len(body)) + body


def decode(data):
    """(kind, attempt, words, bytes that it took), or nothing yet."""
    if len(data) < 8 or len(data) < 8 + struct.unpack_from("<I", data, 4)[0]:
        return None
    end = 8 + struct.unpack_from("<I", data, 4)[0]
    kind, attempt = struct.unpack_from("<BQ", data, 8)
    words, at = [], 17
    while at < end:
        size = struct.unpack_from("<I", data, at)[0]
        words.append(data[at + 4:at + 4 + size])
        at += 4 + size
    return kind, attempt, words, end


@dataclasses.dataclass
class Member:
    """What one rank is told of its attempt."""
    attempt: int
    rank: int
    secret: bytes
    board: tuple

    def hello(self, rank=None, attempt=None, nonce=b"n" * 32):
        return encode(HELLO, self.attempt if attempt is None else attempt,
                      [str(self.rank if rank is None else rank).encode(), nonce])

    def proof(self, board_nonce, side=RANK, rank=None, nonce=b"n" * 32, secret=None):
        said = encode(side, self.attempt, [str(self.rank if rank is None else rank).encode(), nonce, board_nonce])
        return encode(PROVE, self.attempt, [hmac.digest(secret or self.secret, said, "sha256")])


class Line:
    """A connection to the board."""

    def __init__(self, board):
        self.socket = socket.create_connection(board, timeout=PATIENCE_SECONDS)
        self.bytes = b""

    def say(self, data):
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            pass  # hung up on: what it answered may still be read
        return self

    def hear(self):
        """The next frame as (kind, words), or None: the board hung up."""
        while not (found := decode(self.bytes)):
            try:
                more = self.socket.recv(1 << 16)
            except ConnectionResetError:
                return None
            if not more:
                return None
            self.bytes += more
        self.bytes = self.bytes[found[3]:]
        return found[0], found[2]

    def close(self):
        self.socket.close()


class Relay:
    """Between a rank and the board; what the rank said on each connection is kept."""

    def __init__(self, board):
        self.board = board
        self.said = []
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listening.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                near, _ = self.listening.accept()
            except OSError:
                return
            self.said.append(b"")
            threading.Thread(target=self.carry, args=(near, len(self.said) - 1), daemon=True).start()

    def carry(self, near, number):
        try:
            with near, socket.create_connection(self.board) as far:
                while True:
                    for ready in select.select([near, far], [], [])[0]:
                        data = ready.recv(1 << 16)
                        if not data:
                            return
                        if ready is near:
                            self.said[number] += data
                        (far if ready is near else near).sendall(data)
        except OSError:
            pass

    def close(self):
        self.listening.close()


class Door:
    """Between member 1 and the coordinator: the assignments, whose board is behind a relay."""

    def __init__(self, url_file):
        self.url_file = url_file
        self.members, self.relays = {}, {}
        door = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                try:
                    door.pass_on(self)
                except (OSError, http.client.HTTPException):
                    self.close_connection = True

            do_GET = do_POST

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def pass_on(self, request):
        body = request.rfile.read(int(request.headers.get("Content-Length") or 0))
        to = urllib.parse.urlsplit(self.url_file.read_text().strip())
        upstream = http.client.HTTPConnection(to.hostname, to.port)
        headers = {name: value for name, value in request.headers.items() if name.lower() not in ("host", "connection")}
        upstream.request(request.command, request.path, body, headers)
        reply = upstream.getresponse()
        answer = reply.read()
        upstream.close()
        if reply.status == 200 and b'"rendezvous"' in answer:
            answer = json.dumps(self.through_relays(json.loads(answer))).encode()
        request.send_response(reply.status)
        request.send_header("Content-Type", reply.getheader("Content-Type") or "application/json")
        request.send_header("Content-Length", str(len(answer)))
        request.end_headers()
        request.wfile.write(answer)

    def through_relays(self, told):
        if not isinstance(told, dict):
            return told
        if "rendezvous" not in told:
            return {name: self.through_relays(value) for name, value in told.items()}
        host, _, port = told["rendezvous"].rpartition(":")
        member = Member(told["attempt"], told["rank"], told["secret"].encode(), (host, int(port)))
        relay = self.relays.setdefault(member.attempt, Relay(member.board))
        self.members[member.attempt] = member
        return {**told, "rendezvous": relay.address}

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        for relay in self.relays.values():
            relay.close()


def flood(host, port, attempt):
    """Until it is killed: so many connections held, each of which says hello, and a new one for each that is hung up on. Says how
    many these are."""
    os.nice(5)
    hello = Member(attempt, 1, b"", None).hello()
    poll = select.epoll()
    held = {}
    hung_up = 0
    while True:
        while len(held) < HELD:
            line = socket.socket()
            line.setblocking(False)
            line.connect_ex((host, port))
            held[line.fileno()] = line
            poll.register(line, select.EPOLLIN | select.EPOLLOUT | select.EPOLLET)
        print(hung_up, flush=True)
        for fd, _ in poll.poll():
            line = held[fd]
            try:
                line.send(hello)
                if line.recv(4096):
                    continue
            except BlockingIOError:
                continue
            except OSError:
                pass
            hung_up += 1
            del held[fd]
            line.close()


class Flood:
    """Once it is made, the board has hung up on some of it."""

    def __init__(self, member):
        host, port = member.board
        self.process = subprocess.Popen([sys.executable, __file__, host, str(port), str(member.attempt)],
                                        stdout=subprocess.PIPE, text=True)
        self.hung_up = 0
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        wait_until(lambda: self.hung_up, "the flood to reach the board")

    def read(self):
        for line in self.process.stdout:
            self.hung_up = int(line)

    def close(self):
        self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stdout.close()


if __name__ == "__main__":
    flood(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
