"""Ctrl-C ends calls that wait for an answer, each in a process of its own, whose end it does not disturb."""
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

SCRIPT = """
import ctypes, socket, sys, threading, ratoon
server = socket.create_server(("127.0.0.1", 0))
address = "http://127.0.0.1:%d" % server.getsockname()[1]
options = ratoon.StoreOptions(endpoint=address, region="r", is_anonymous=True)
held = []
def hold():  # a request comes, and no answer
    connection, _ = server.accept()
    held.append((connection, connection.recv(1)))
    print("asked", flush=True)
threading.Thread(target=hold, daemon=True).start()
try:
    {call}
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


class Interrupt(unittest.TestCase):
    def interrupt(self, call):
        folder = tempfile.mkdtemp(prefix="ratoon-interrupt-")
        self.addCleanup(shutil.rmtree, folder)
        script = SCRIPT.format(call=call.format(folder=folder))
        with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as child:
            try:
                self.assertEqual(child.stdout.readline(), "asked\n", child.poll())
                child.send_signal(signal.SIGINT)
                said, errors = child.communicate(timeout=300)  # the call itself would wait longer
            finally:
                child.kill()
        self.assertEqual((said, errors, child.returncode), ("interrupted\n", "", 0))

    def test_a_data_set_that_does_not_answer(self):
        self.interrupt("ratoon.MdsDataset(address + '/data', cache_folder='{folder}')")

    def test_what_is_left_behind_loses_nothing_that_it_uses(self):
        """The thread that waits for an answer goes on: the process ends before anything that C++ takes away at its end,
        for which abort() stands here."""
        self.interrupt("libc = ctypes.CDLL(None); libc.__cxa_atexit(libc.abort, None, None)\n"
                       "    ratoon.MdsDataset(address + '/data', cache_folder='{folder}')")

    def test_checkpoints_that_do_not_answer(self):
        for call in ("list", "verify", "load"):
            with self.subTest(call):
                self.interrupt(f"ratoon.checkpoints.{call}('s3://bucket/runs/digits', store=options)")


if __name__ == "__main__":
    unittest.main(verbosity=2)
