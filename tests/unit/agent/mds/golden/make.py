"""Makes the folders beside it with MosaicML Streaming's own writer (0.13.0), and for each an expected.json: what every
field of every sample must be, from the values that were written, not from what was stored.

    python3 -m venv peers && peers/bin/pip install --requirement tests/bench/peers/requirements.txt
    peers/bin/python3 tests/unit/agent/mds/golden/make.py [FOLDER]
"""
import decimal
import hashlib
import io
import json
import pathlib
import shutil
import sys

import numpy
from PIL import Image
from streaming import MDSWriter
from streaming.base.util import merge_index

NUMBERS = ("uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "float32", "float64")
COMPRESSIONS = ("br", "br:3", "bz2", "bz2:1", "gz", "gz:0", "snappy", "zstd", "zstd:19")
HASHES = ("blake2b", "blake2s", "md5", "sha1", "sha224", "sha256", "sha384", "sha3_224", "sha3_256", "sha3_384", "sha3_512",
          "sha512", "xxh128", "xxh32", "xxh3_128", "xxh3_64", "xxh64")
TEXTS = ("", "plain", "grün, 猫, 🙂", "line\n\"quoted\" \\ \u007f", "x" * 300, "0")


def field(kind, shape, data):
    said = {"hex": data.hex()} if len(data) <= 1000 else {"sha256": hashlib.sha256(data).hexdigest()}
    return {"type": kind, "shape": list(shape), **said}


def array_of(array):
    """What is written, and what must be read."""
    return array, field(array.dtype.name, array.shape, array.tobytes())


def bytes_field(data, kind="bytes"):
    return field(kind, [len(data)], data)


def picture(mode, width, height, seed):
    random = numpy.random.default_rng(seed)
    image = Image.frombytes("RGB", (width, height), random.integers(0, 256, 3 * width * height, numpy.uint8).tobytes())
    return image.convert(mode)


def file_of(image, kind):
    out = io.BytesIO()
    image.save(out, format=kind)
    return out.getvalue()


def pil_field(image):
    pixels = image.tobytes()
    width, height = image.size
    row = len(pixels) // height
    per_pixel = 1 if image.mode == "1" else row // width
    shape = [height, row // per_pixel] + ([per_pixel] if per_pixel > 1 else [])
    return field("uint8", shape, pixels)


def number(kind, i):
    limits = numpy.iinfo(kind) if "int" in kind else numpy.finfo(kind)
    edge = (limits.min, limits.max, 0, 1, 2, 3)[i]
    return numpy.dtype(kind).type(edge)


def every_encoding():
    """Columns, and for each sample (value to write, field that must be read)."""
    columns, samples = {}, [{} for _ in range(6)]

    def add(name, encoding, make):
        columns[name] = encoding
        for i, sample in enumerate(samples):
            sample[name] = make(i)

    for kind in NUMBERS:
        add(kind, kind, lambda i, kind=kind: (number(kind, i), field(kind, [], number(kind, i).tobytes())))
    add("int", "int", lambda i: (-i << 40, field("int64", [], numpy.int64(-i << 40).tobytes())))
    add("bytes", "bytes", lambda i: (bytes(range(i * 50)),) * 2)
    add("str", "str", lambda i: (TEXTS[i], bytes_field(TEXTS[i].encode(), "text")))
    add("json", "json", lambda i: ({"k": [i, None, TEXTS[i]]},
                                   bytes_field(json.dumps({"k": [i, None, TEXTS[i]]}).encode(), "text")))
    integers = (0, -1, 2**63 - 1, -2**63, 2**64, 10**40)
    add("str_int", "str_int", lambda i: (integers[i], bytes_field(str(integers[i]).encode(), "text")))
    floats = (0.1, -2.5e300, 1e16, 1e-5, float("inf"), 123456.0)
    add("str_float", "str_float", lambda i: (floats[i], bytes_field(repr(floats[i]).encode(), "text")))
    decimals = ("0.1", "-2.50", "1E+20", "0.5", "3.14159265358979323846264338327950288", "7")
    add("str_decimal", "str_decimal", lambda i: (decimal.Decimal(decimals[i]), bytes_field(decimals[i].encode(), "text")))

    for kind in NUMBERS:
        add(f"fixed_{kind}", f"ndarray:{kind}:2,3",
            lambda i, kind=kind: array_of(numpy.full((2, 3), number(kind, i))))
        add(f"typed_{kind}", f"ndarray:{kind}",
            lambda i, kind=kind: array_of(numpy.full((i + 1,) * (i % 3 + 1), number(kind, i))))
    shapes = ((3,), (2, 2), (300, 1), (1, 65536), (1,) * 63, (2, 255))
    kinds = ("float32", "uint16", "int8", "uint8", "float64", "int64")
    add("free", "ndarray", lambda i: array_of(numpy.zeros(shapes[i], kinds[i])))

    modes = ("RGB", "L", "RGBA", "CMYK", "1", "I")
    add("pil", "pil", lambda i: (picture(modes[i], 5, 3, i), pil_field(picture(modes[i], 5, 3, i))))
    for name, kind in (("jpeg", "JPEG"), ("png", "PNG")):
        mode = lambda i: ("RGB", "L")[i % 2]
        add(name, name, lambda i, kind=kind: (file_of(picture(mode(i), 8 + i, 6, i), kind),) * 2)
        elements = lambda i, kind=kind: [file_of(picture("L", 4, 4 + j, j), kind) for j in range(i % 3)]
        add(f"list_{name}", f"list[{name}]", lambda i, kind=kind, elements=elements: (
            [Image.open(io.BytesIO(data)) for data in elements(i)],
            [file_of(Image.open(io.BytesIO(data)), kind) for data in elements(i)]))
    pil_elements = lambda i: [picture(("L", "RGB")[j % 2], 2, 3, j) for j in range(i % 3)]
    add("list_pil", "list[pil]", lambda i: (pil_elements(i), [pil_field(image) for image in pil_elements(i)]))
    arrays = lambda i: [file_of(picture("L", 4, 4, j), "JPEG") for j in range(1 + i % 2)]
    for name in ("jpeg_array", "jpegarray"):
        add(name, name, lambda i: (arrays(i),) * 2)
    return columns, samples


def expected(value):
    if isinstance(value, dict):
        return value
    if isinstance(value, bytes):
        return bytes_field(value)
    return {"elements": [expected(element) for element in value]}


def write(folder, columns, samples, note=True, **options):
    """samples: a dictionary each, column to (value, what must be read)."""
    with MDSWriter(out=str(folder), columns=columns, **options) as out:
        for sample in samples:
            out.write({name: value for name, (value, _) in sample.items()})
    if note:
        notes = [{name: expected(read) for name, (_, read) in sample.items()} for sample in samples]
        (folder / "expected.json").write_text(json.dumps({"encodings": columns, "samples": notes}, sort_keys=True) + "\n")


def integers_and_bytes(sizes):
    return [{"a": (i, field("int64", [], numpy.int64(i).tobytes())), "b": (b"x" * size, b"x" * size)}
            for i, size in enumerate(sizes)]


def make(root):
    plain = {"a": "int", "b": "bytes"}
    write(root / "worked", plain, integers_and_bytes((0, 1, 2)))
    columns, samples = every_encoding()
    write(root / "every", columns, samples, hashes=["sha1", "xxh64"])
    # Bytes go into any column as they are: a file's own bytes, or what is encoded already.
    write(root / "bytes", {"i": "int", "s": "str", "n": "ndarray:uint8", "p": "ndarray:uint16:2"}, [
        {"i": (bytes(8), field("int64", [], bytes(8))), "s": (b"text", bytes_field(b"text", "text")),
         "n": (bytes((1 << 2, 2, 7, 8)), field("uint8", [2], bytes((7, 8)))),
         "p": (bytes(4), field("uint16", [2], bytes(4)))}])
    for name in COMPRESSIONS:
        write(root / "compressed" / name.replace(":", "-"), plain, integers_and_bytes((40, 0, 900)), compression=name,
              hashes=["sha1", "xxh3_64"], size_limit=700)
    write(root / "hashes", plain, integers_and_bytes((1, 2)), hashes=sorted(HASHES))
    write(root / "zstd_hashes", plain, integers_and_bytes((1, 200)), hashes=sorted(HASHES), compression="zstd")
    # The first sample is over the limit: Streaming writes an empty shard before it, and again before the next one.
    write(root / "empty_shard", plain, integers_and_bytes((500, 500)), size_limit=300)
    write(root / "split", plain, integers_and_bytes(range(40)), size_limit=512)
    write(root / "names", {"ü": "str", "a b": "str", "Z": "str", "\U0001f642": "int", "\ufffd": "int"}, [
        {"ü": ("1", bytes_field(b"1", "text")), "a b": ("2", bytes_field(b"2", "text")), "Z": ("", bytes_field(b"", "text")),
         "\U0001f642": (4, field("int64", [], numpy.int64(4).tobytes())),
         "\ufffd": (5, field("int64", [], numpy.int64(5).tobytes()))}])
    write(root / "unlimited", plain, integers_and_bytes((9, 9)), size_limit=None)
    write(root / "nothing", plain, [])

    both = integers_and_bytes((3, 4, 5))
    write(root / "merged" / "first", plain, both[:1], note=False)
    write(root / "merged" / "second", plain, both[1:], note=False, compression="zstd")
    merge_index(str(root / "merged"), keep_local=True)
    notes = [{name: expected(read) for name, (_, read) in sample.items()} for sample in both]
    (root / "merged" / "expected.json").write_text(json.dumps({"encodings": plain, "samples": notes}) + "\n")


if __name__ == "__main__":
    here = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    for old in here.iterdir() if here.exists() else ():
        if old.is_dir() and old.name != "__pycache__":
            shutil.rmtree(old)
    make(here)
