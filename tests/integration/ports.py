"""Ports of loopback for servers that cannot choose one themselves, and for addresses where nothing answers.

A port that is bound, closed and bound again may be another's in between. Those from here are outside of the range from which
the kernel serves who asks for any port, and from which `ratoon run` takes those of its members' /metrics: it would find one
free at which the server of a test does not listen yet. A lock on a file keeps each for the process that took it, until it
ends."""

import fcntl
import os
import pathlib
import socket
import tempfile

LOCKS = pathlib.Path(tempfile.gettempdir()) / f"ratoon-test-ports-{os.getuid()}"
COUNT = 8000
# Those of our own servers begin at 9400, and from 10240 on `ratoon run` looks for free ones (operator/local/metrics_ports.cpp).
END = 9000
_held = {}  # port -> descriptor of its lock


def candidates():
    """Below the kernel's own range, or above it where there is no room."""
    least, most = map(int, pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
    end = min(least, END)
    below, above = range(max(1025, end - COUNT), end), range(most + 1, min(65536, most + 1 + COUNT))
    return below if len(below) >= len(above) else above


def is_free(port):
    """Whether a server could listen there, on all addresses of this machine."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
            probe.listen(1)
        except OSError:
            return False
    return True


def take_port():
    """A port that no other process gets from here while this one lives."""
    LOCKS.mkdir(exist_ok=True)
    ports = candidates()
    begin = os.getpid() * 16 % len(ports)  # who starts at the same time looks elsewhere
    for port in (*ports[begin:], *ports[:begin]):
        if port in _held:
            continue
        lock = os.open(LOCKS / str(port), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            continue
        if is_free(port):
            _held[port] = lock
            return port
        os.close(lock)
    raise AssertionError(f"all of the ports {ports[0]} to {ports[-1]} are taken: end what listens there, or remove the locks "
                         f"in {LOCKS} where no test runs")
