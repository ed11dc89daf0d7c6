"""MosaicML Streaming and MDS shards of ours, live and in both directions: what its writer makes is read here, what is
written here its reader reads. Needs the environment of the peers (scripts/bench --peers makes it)."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PROBE = pathlib.Path(os.environ["RATOON_BUILD_DIR"]) / "bin" / "mds_probe"
GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "unit" / "agent" / "mds" / "golden"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "ratoon"


def find_peers():
    """The Python that has Streaming, or nothing."""
    for stamp in sorted(CACHE.glob("peers-*/.ratoon-complete")):
        python = stamp.parent / "bin" / "python3"
        if subprocess.run([python, "-c", "import streaming"], capture_output=True).returncode == 0:
            return python
    return None


class Streaming(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = pathlib.Path(tempfile.mkdtemp(prefix="ratoon-streaming-"))
        cls.addClassCleanup(shutil.rmtree, cls.scratch)
        cls.made = cls.scratch / "made"
        cls.made.mkdir()
        cls.run_python("make.py", cls.made)
        cls.names = sorted(str(notes.parent.relative_to(cls.made)) for notes in cls.made.rglob("expected.json"))

    @staticmethod
    def run_python(script, *arguments):
        done = subprocess.run([PEERS, GOLDEN / script, *map(str, arguments)], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=600)
        if done.returncode != 0:
            raise AssertionError(done.stdout[-4000:])

    def run_probe(self, *arguments):
        done = subprocess.run([PROBE, *map(str, arguments)], stdout=subprocess.PIPE, text=True, timeout=600)
        self.assertEqual(done.returncode, 0, done.stdout[-4000:])
        return done.stdout

    def test_what_streaming_writes_is_read_here(self):
        self.assertGreater(len(self.names), 15)
        for name in self.names:
            with self.subTest(name):
                known = json.loads((self.made / name / "expected.json").read_text())
                self.assertEqual(json.loads(self.run_probe("dump", self.made / name)), known["samples"])

    def test_what_is_written_here_streaming_reads(self):
        for name in self.names:
            for how in ((), ("zstd:7", "sha1", "xxh64"), ("br:4", "md5"), ("bz2",), ("gz:3", "sha256"), ("snappy", "xxh3_64")):
                with self.subTest(name, how=how):
                    if name == "nothing":
                        continue  # Streaming opens no folder without samples
                    folder = self.scratch / "-".join((name.replace("/", "-"), *how))
                    self.run_probe("copy", self.made / name, folder, *how)
                    self.run_python("check.py", folder, self.made / name / "expected.json")


if __name__ == "__main__":
    PEERS = find_peers()
    if PEERS is None:
        print("SKIPPED: no environment of peers with Streaming; scripts/bench --peers makes one")
        sys.exit(77)
    unittest.main(verbosity=2)
