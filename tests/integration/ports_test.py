"""Ports that tests take: each is one test's alone while its process lives, and the kernel gives it to nobody else."""

import contextlib
import pathlib
import socket
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import ports

TAKE = "import sys, ports; ports.LOCKS = ports.pathlib.Path(sys.argv[1]); print(ports.take_port(), flush=True); sys.stdin.read()"


class Ports(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="ratoon-ports-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name) / "locks"
        for name, value in (("LOCKS", self.folder), ("_held", {})):
            patch = mock.patch.object(ports, name, value)
            patch.start()
            self.addCleanup(patch.stop)

    @contextlib.contextmanager
    def other(self):
        """Another process, and the port that it took."""
        with subprocess.Popen([sys.executable, "-c", TAKE, self.folder], cwd=pathlib.Path(__file__).parent, text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            yield process, int(process.stdout.readline())

    def test_no_two_have_the_same(self):
        with contextlib.ExitStack() as stack:
            taken = [ports.take_port() for _ in range(20)] + [stack.enter_context(self.other())[1] for _ in range(4)]
            with mock.patch.object(ports.os, "getpid", lambda: 0):  # who begins to look at one place
                taken += [ports.take_port() for _ in range(20)]
        self.assertEqual(len(set(taken)), len(taken))

    def test_what_another_process_holds_is_passed_over_until_it_ends(self):
        with self.other() as (process, port):
            with mock.patch.object(ports, "candidates", lambda: range(port, port + 1)):
                with self.assertRaisesRegex(AssertionError, "are taken"):
                    ports.take_port()
                process.kill()
                process.wait()
                # Another test's process, whose locks are elsewhere, may have got the same port meanwhile.
                with mock.patch.object(ports, "is_free", lambda port: True):
                    self.assertEqual(ports.take_port(), port)

    def test_where_a_server_listens_is_passed_over(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            with mock.patch.object(ports, "candidates", lambda: range(port, port + 1)):
                with self.assertRaisesRegex(AssertionError, "are taken"):
                    ports.take_port()

    def test_the_kernel_gives_them_to_nobody(self):
        least, most = map(int, pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
        port = ports.take_port()
        self.assertFalse(least <= port <= most, port)


if __name__ == "__main__":
    unittest.main()
