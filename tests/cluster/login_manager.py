"""A stand-in for systemd-logind, as far as a kubelet asks it: a kubelet that found one at its start keeps a lock on shutdowns,
and ends its pods in order when it hears of one. It speaks just enough of D-Bus, on a socket of its own."""
import array
import os
import select
import socket
import struct
import threading

MANAGER = "org.freedesktop.login1.Manager"
PATH = "/org/freedesktop/login1"
CALL, REPLY, SIGNAL = 1, 2, 4
FIELDS = {"path": (1, "o"), "interface": (2, "s"), "member": (3, "s"), "reply_serial": (5, "u"), "sender": (7, "s"),
          "signature": (8, "g"), "unix_fds": (9, "u")}
LONGEST_DELAY_US = 300_000_000  # more than any kubelet asks for, so that none writes logind's configuration


class LoginManager:
    """Serves one kubelet. `socket_path` is where that one looks for the system bus."""

    def __init__(self, socket_path):
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(str(socket_path))
        self.listener.listen()
        self.is_asked = threading.Event()  # for a lock
        self.connection, self.lock, self.serial = None, None, 0
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def close(self):
        for each in (self.listener, self.connection):
            if each:
                each.close()

    def shut_down(self):
        """Says that the machine is about to go down."""
        self.send(SIGNAL, path=PATH, interface=MANAGER, member="PrepareForShutdown", signature="b", body=struct.pack("<I", 1))

    def wait_until_released(self, seconds):
        """Until the kubelet holds no lock any more: its pods are over. Whether that came in time."""
        return bool(select.select([self.lock], [], [], seconds)[0])

    def serve(self):
        try:
            self.connection, _ = self.listener.accept()
            self.greet()
            while True:
                self.answer(*self.receive())
        except (OSError, EOFError):
            pass  # the kubelet is gone, or we are

    def greet(self):
        self.read(1)
        while (line := self.read_line()) != b"BEGIN":
            if line.startswith(b"AUTH EXTERNAL"):
                self.connection.sendall(b"OK " + b"0" * 32 + b"\r\n")
            elif line == b"NEGOTIATE_UNIX_FD":
                self.connection.sendall(b"AGREE_UNIX_FD\r\n")
            else:
                self.connection.sendall(b"REJECTED EXTERNAL\r\n")

    def answer(self, serial, member):
        if member == "Hello":
            self.send(REPLY, reply_serial=serial, signature="s", body=text(":1.1"))
        elif member == "Get":  # how long one may delay a shutdown
            self.send(REPLY, reply_serial=serial, signature="v", body=b"\x01t\x00\x00\x00\x00\x00\x00"
                      + struct.pack("<Q", LONGEST_DELAY_US))
        elif member == "Inhibit":
            self.lock, theirs = os.pipe()
            self.send(REPLY, reply_serial=serial, signature="h", unix_fds=1, body=struct.pack("<I", 0), descriptor=theirs)
            os.close(theirs)
            self.is_asked.set()
        else:
            self.send(REPLY, reply_serial=serial)

    def send(self, kind, body=b"", descriptor=None, **fields):
        self.serial += 1
        coded = b""
        for name, value in {"sender": ":1.0", **fields}.items():
            code, form = FIELDS[name]
            coded = padded(coded, 8) + bytes([code, 1]) + form.encode() + b"\x00"
            if form == "u":
                coded = padded(coded, 4) + struct.pack("<I", value)
            elif form == "g":
                coded += bytes([len(value)]) + value.encode() + b"\x00"
            else:
                coded = padded(coded, 4) + text(value)
        head = struct.pack("<cBBBIII", b"l", kind, 0, 1, len(body), self.serial, len(coded)) + coded
        passed = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [descriptor]))] if descriptor is not None else []
        self.connection.sendmsg([padded(head, 8) + body], passed)

    def receive(self):
        """The serial and the member of the next message; what it says beside that is not asked for."""
        head = self.read(16)
        _, _, _, _, length, serial, fields = struct.unpack("<cBBBIII", head)
        coded, at, member = self.read(fields + -fields % 8), 0, ""
        self.read(length)
        while at < fields:
            at += -at % 8
            code, form = coded[at], coded[at + 2:at + 3]
            at += 4
            if form == b"g":
                at += coded[at] + 2
                continue
            at += -at % 4
            size = struct.unpack_from("<I", coded, at)[0]
            if code == FIELDS["member"][0]:
                member = coded[at + 4:at + 4 + size].decode()
            at += 4 if form == b"u" else size + 5
        return serial, member

    def read(self, count):
        found = b""
        while len(found) < count:
            more = self.connection.recv(count - len(found))
            if not more:
                raise EOFError
            found += more
        return found

    def read_line(self):
        line = b""
        while not line.endswith(b"\r\n"):
            line += self.read(1)
        return line[:-2]


def padded(coded, unit):
    return coded + b"\x00" * (-len(coded) % unit)


def text(value):
    return struct.pack("<I", len(value)) + value.encode() + b"\x00"
