"""The committed vectors are those that the programs beside them compute."""
import json
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).parent / "vectors"
sys.path.insert(0, str(HERE))

import sample_random_vectors  # noqa: E402
import stream_vectors  # noqa: E402


class VectorsTest(unittest.TestCase):
    def test_committed_vectors_are_computed_ones(self):
        for program in (stream_vectors, sample_random_vectors):
            committed = json.loads((HERE / f"{program.__name__}.json").read_text())
            self.assertEqual(committed, json.loads(json.dumps(program.vectors())), program.__name__)


if __name__ == "__main__":
    unittest.main()
