"""The committed vectors are those that stream_vectors.py computes."""
import json
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).parent / "vectors"
sys.path.insert(0, str(HERE))

import stream_vectors  # noqa: E402


class VectorsTest(unittest.TestCase):
    def test_committed_vectors_are_computed_ones(self):
        committed = json.loads((HERE / "stream_vectors.json").read_text())
        self.assertEqual(committed, json.loads(json.dumps(stream_vectors.vectors())))


if __name__ == "__main__":
    unittest.main()
