"""Values of state_dicts as JSON and arrays, and back."""
import collections
import ctypes
import json
import unittest

from ratoon import _layout


class Values(unittest.TestCase):
    """Values of state_dicts come back equal, with their types."""

    def test_they_come_back(self):
        values = [None, True, 7, -(1 << 80), 0.1, float("inf"), 1 + 2j, "text\ud800", b"", b"\0bytes", bytearray(b"b"), (),
                  (1, (2.5, "x")), [1, [2]], {}, {1: "a", "1": "b", (1, 2): 3, None: 4, 2.5: 5, True: 6}, {3, 1}, frozenset("ab"),
                  collections.OrderedDict(b=1, a=2), collections.Counter("aab"), collections.deque([1, 2], 5)]
        try:
            import numpy
            values += [numpy.float32(0.1), numpy.int64(3)]
        except ImportError:
            pass
        for value in [*values, {"all": values, "again": values}]:
            encoder = _layout.Encoder()
            layout = json.loads(json.dumps(encoder.layout(value)))
            arrays = {name: (array.dtype, list(array.shape), self.bytes_of(array)) for name, array in encoder.arrays.items()}
            found = _layout.Decoder(arrays.__getitem__).value(layout)
            self.assertEqual(found, value)
            self.assertEqual(repr(found), repr(value), "types too")

    @staticmethod
    def bytes_of(array):
        return bytearray(ctypes.string_at(array.address, array.nbytes)) if array.nbytes else bytearray()

    def test_names_of_arrays_differ(self):
        encoder = _layout.Encoder()
        encoder.layout({"a": {"b": b"1"}, "a.b": b"2", 1: b"3", "1": b"4", ":layout": b"5", "": b"6"})
        self.assertEqual(len(encoder.arrays), 6)
        self.assertFalse([name for name in encoder.arrays if name.startswith(":") or not name])


if __name__ == "__main__":
    unittest.main(verbosity=2)
