"""ratoon.MdsDataset and ratoon.MdsWriter: the values of Streaming's own files, round trips, other processes, damage."""
import decimal
import hashlib
import json
import os
import pathlib
import pickle
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy
import ratoon

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "unit" / "agent" / "mds" / "golden"
COLUMNS = {"image": "ndarray:uint8:2,3", "curve": "ndarray:float32", "any": "ndarray", "label": "int", "small": "uint8",
           "loss": "float64", "half": "float16", "text": "str", "said": "json", "number": "str_int", "price": "str_decimal",
           "raw": "bytes"}
FROM_TEXT = {"json": json.loads, "str_int": int, "str_float": float, "str_decimal": decimal.Decimal}


def made(number):
    return {"image": numpy.full((2, 3), number, "uint8"), "curve": numpy.linspace(0, 1, number + 1, dtype="float32"),
            "any": numpy.arange(number * 2 + 2, dtype="int16").reshape(2, number + 1), "label": -number, "small": number,
            "loss": number / 3, "half": 0.5, "text": f"grün {number}", "said": {"a": [number, None]}, "number": 10 ** 30,
            "price": decimal.Decimal("0.10"), "raw": bytes([number])}


def write(folder, count=10, **options):
    with ratoon.MdsWriter(folder, COLUMNS, **options) as writer:
        for number in range(count):
            writer.write(made(number))


class Mds(unittest.TestCase):
    def setUp(self):
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="ratoon-mds-"))
        self.addCleanup(shutil.rmtree, self.scratch)
        self.folder = self.scratch / "data"

    def refused(self, exit_code, call, *words):
        with self.assertRaises(ratoon.RatoonError) as caught:
            call()
        for word in words:
            self.assertIn(word, str(caught.exception))
        self.assertEqual(caught.exception.exit_code, exit_code)


class Values(Mds):
    def assert_is(self, value, field, encoding):
        if isinstance(value, list):
            self.assertEqual(len(value), len(field["elements"]))
            for one, known in zip(value, field["elements"]):
                self.assert_is(one, known, encoding)
            return
        if isinstance(value, numpy.ndarray):
            self.assertEqual((value.dtype.name, list(value.shape)), (field["type"], field["shape"]))
            data = value.tobytes()
        elif isinstance(value, bytes):
            data = value
        elif encoding in FROM_TEXT:
            self.assertEqual(repr(value), repr(FROM_TEXT[encoding](bytes.fromhex(field["hex"]).decode())))
            return
        else:
            data = value.encode() if encoding == "str" else numpy.dtype(field["type"]).type(value).tobytes()
        if "hex" in field:
            self.assertEqual(data.hex(), field["hex"])
        else:
            self.assertEqual(hashlib.sha256(data).hexdigest(), field["sha256"])

    def test_what_streaming_wrote_is_read(self):
        folders = sorted(path.parent for path in GOLDEN.rglob("expected.json"))
        self.assertGreater(len(folders), 15)
        for folder in folders:
            known = json.loads((folder / "expected.json").read_text())
            data = ratoon.MdsDataset(folder)
            self.assertEqual(len(data), len(known["samples"]))
            for sample, fields in zip(data, known["samples"]):
                self.assertEqual(sorted(sample), sorted(fields))
                for name, value in sample.items():
                    with self.subTest(folder.name, column=name):
                        self.assert_is(value, fields[name], data.columns[name])

    def test_a_round_trip(self):
        for options in ({}, {"compression": "zstd:3", "hashes": ["xxh3_128"], "size_limit_bytes": 500}):
            write(self.folder, **options)
            data = ratoon.MdsDataset(self.folder)
            self.assertEqual((len(data), data.columns), (10, dict(sorted(COLUMNS.items()))))
            for number, sample in enumerate(data):
                for name, value in made(number).items():
                    with self.subTest(name, number=number):
                        self.assertEqual(type(sample[name]), type(value))
                        numpy.testing.assert_array_equal(sample[name], value)
                        self.assertEqual(getattr(sample[name], "dtype", None), getattr(value, "dtype", None))
            shutil.rmtree(self.folder)

    def test_arrays_are_copies_that_may_be_changed(self):
        write(self.folder)
        data = ratoon.MdsDataset(self.folder)
        image = data[3]["image"]
        image += 1
        del data
        self.assertEqual((image.tolist(), ratoon.MdsDataset(self.folder)[3]["image"].max()), ([[4] * 3] * 2, 3))

    def test_lists(self):
        with ratoon.MdsWriter(self.folder, {"pages": "list[jpeg]"}) as writer:
            writer.write({"pages": [b"one", b"three"]})
            writer.write({"pages": []})
        self.assertEqual([sample["pages"] for sample in ratoon.MdsDataset(self.folder)], [[b"one", b"three"], []])

    def test_without_numpy_arrays_are_memoryviews(self):
        write(self.folder)
        script = ("import sys; sys.modules['numpy'] = None\n"
                  "import ratoon\n"
                  "sample = ratoon.MdsDataset(sys.argv[1])[2]\n"
                  "print(sample['image'].tolist(), sample['curve'].format, sample['any'].shape, sample['half'])\n"
                  "with ratoon.MdsWriter(sys.argv[2], {'a': 'ndarray'}) as writer:\n"
                  "    writer.write({'a': memoryview(bytearray(12)).cast('H', (3, 2))})\n")
        done = subprocess.run([sys.executable, "-c", script, self.folder, self.scratch / "more"], capture_output=True,
                              text=True, timeout=120)
        self.assertEqual((done.stdout, done.stderr), ("[[2, 2, 2], [2, 2, 2]] f (2, 3) 0.5\n", ""))
        array = ratoon.MdsDataset(self.scratch / "more")[0]["a"]
        self.assertEqual((array.dtype.name, array.shape), ("uint16", (3, 2)))

    def test_indices_are_those_of_python(self):
        write(self.folder)
        data = ratoon.MdsDataset(self.folder)
        self.assertEqual((data[-1]["label"], [one["label"] for one in data[2:8:3]]), (-9, [-2, -5]))
        self.assertEqual([one["label"] for one in data.__getitems__([4, 4, 0])], [-4, -4, 0])
        for index in (10, -11):
            with self.assertRaises(IndexError):
                data[index]

    def test_several_folders_and_a_stream_over_them(self):
        write(self.folder)
        write(self.scratch / "more", 5)
        both = ratoon.MdsDataset([self.folder, self.scratch / "more"])
        self.assertEqual((len(both), both[12]["label"], both.shard_sizes), (15, -2, [10, 5]))
        stream = ratoon.Stream(sources=[both.source()], global_batch=15)
        self.assertEqual(sorted(slot.sample for slot in stream.take()), list(range(15)))
        shutil.move(self.folder, self.scratch / "elsewhere")
        self.assertEqual(ratoon.MdsDataset([self.scratch / "elsewhere", self.scratch / "more"]).digest, both.digest)


class Doubled(ratoon.MdsDataset):
    """A subclass with an attribute and one override."""

    def __init__(self, uri, factor=2):
        super().__init__(uri)
        self.factor = factor

    def __getitem__(self, index):
        return super().__getitem__(index)["label"] * self.factor


class DoubledAtOnce(ratoon.MdsDataset):
    def __getitems__(self, indices):
        return [sample["label"] * 2 for sample in super().__getitems__(indices)]


class DoubledInBoth(Doubled):
    def __getitems__(self, indices):
        return [sample["label"] * self.factor for sample in super().__getitems__(indices)]


class Subclasses(Mds):
    def test_each_way_to_read_uses_the_override(self):
        write(self.folder)
        for kind in (Doubled, DoubledAtOnce, DoubledInBoth):
            with self.subTest(kind.__name__):
                data = kind(self.folder)
                self.assertEqual((data[3], data[-1], data.__getitems__([4, 0])), (-6, -18, [-8, 0]))
                self.assertEqual(list(data), [-2 * number for number in range(10)])

    def test_pickled_its_attributes_stay(self):
        write(self.folder)
        data = pickle.loads(pickle.dumps(Doubled(self.folder, 5)))
        self.assertEqual((data[1], data.factor, len(data), data.columns["label"]), (-5, 5, 10, "int"))


class Processes(Mds):
    def test_a_forked_child_reads(self):
        write(self.folder, compression="zstd", size_limit_bytes=400)
        data = ratoon.MdsDataset(self.folder, cache_folder=self.scratch / "cache")
        self.assertGreater(len(data.shard_sizes), 5)
        self.assertEqual([sample["label"] for sample in data[0:2]], [0, -1])  # with threads that fetch
        child = os.fork()
        if child == 0:
            code = 1
            try:
                code = 0 if [sample["label"] for sample in data[0:10]] == [-number for number in range(10)] else 2
                del data
            finally:
                os._exit(code)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)

    def test_pickled_it_is_opened_anew(self):
        write(self.folder)
        text = pickle.dumps(ratoon.MdsDataset(self.folder, maps_files=False))
        script = "import pickle, sys; print(pickle.loads(sys.stdin.buffer.read())[7]['label'])"
        done = subprocess.run([sys.executable, "-c", script], input=text, capture_output=True, timeout=120)
        self.assertEqual((done.stdout, done.stderr), (b"-7\n", b""))

    def test_a_writer_is_its_process_s_own(self):
        writer = ratoon.MdsWriter(self.folder, {"a": "int"})
        writer.write({"a": 1})
        child = os.fork()
        if child == 0:
            code = 1
            try:
                writer.write({"a": 2})
            except ratoon.RatoonError as error:
                code = 0 if "forked" in str(error) and error.exit_code == 82 else 2
            finally:
                del writer
                os._exit(code)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        writer.write({"a": 3})
        writer.finish()
        self.assertEqual([sample["a"] for sample in ratoon.MdsDataset(self.folder)], [1, 3])


class Refusals(Mds):
    def test_a_flipped_bit_is_noticed(self):
        write(self.folder, hashes=["xxh3_128"])
        shard = self.folder / "shard.00000.mds"
        content = bytearray(shard.read_bytes())
        content[-1] ^= 1
        shard.write_bytes(content)
        self.refused(84, lambda: ratoon.MdsDataset(self.folder)[0], "shard.00000.mds")

    def test_what_is_no_data_set(self):
        self.refused(84, lambda: ratoon.MdsDataset(self.folder), str(self.folder))
        with self.assertRaises(ZeroDivisionError):
            with ratoon.MdsWriter(self.folder, {"a": "int"}) as writer:
                writer.write({"a": 1})
                raise ZeroDivisionError
        self.refused(84, lambda: ratoon.MdsDataset(self.folder), "index.json")
        self.refused(82, lambda: ratoon.MdsDataset(self.scratch / "dada"), "nearest existing folder", str(self.scratch))

    def test_a_program_without_its_data_set_ends_with_the_exit_code(self):
        done = subprocess.run([sys.executable, "-c", "import sys, ratoon; ratoon.MdsDataset(sys.argv[1])", self.folder],
                              capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 84, done.stderr)
        self.assertIn(str(self.folder), done.stderr)

    def test_values_that_are_none_of_their_encoding(self):
        self.refused(82, lambda: ratoon.MdsWriter(self.folder, {"a": "pkl"}), "pkl")
        self.refused(82, lambda: ratoon.MdsWriter(self.folder, {"a": "int"}, compression="rar"), "rar")
        writer = ratoon.MdsWriter(self.folder, {"a": "int", "b": "str", "c": "ndarray:float32:2", "d": "uint8"})
        good = {"a": 1, "b": "x", "c": numpy.zeros(2, "float32"), "d": 255}
        for column, value in (("a", 1.5), ("a", 1 << 70), ("a", None), ("b", 7), ("c", numpy.zeros(2)), ("c", "text"),
                              ("c", numpy.zeros(3, "float32")), ("d", 256), ("d", -1)):
            with self.subTest(column, value=value):
                self.refused(82, lambda: writer.write({**good, column: value}))
        self.refused(82, lambda: writer.write({"a": 1}), "b")
        self.refused(82, lambda: writer.write({**good, "e": 1}), "'e'")
        writer.write(good)
        writer.finish()
        self.assertEqual(len(ratoon.MdsDataset(self.folder)), 1)
        self.refused(84, lambda: ratoon.MdsWriter(self.folder, {"a": "int"}), str(self.folder))


if __name__ == "__main__":
    unittest.main(verbosity=2)
