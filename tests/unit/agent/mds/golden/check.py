"""Reads a folder with MosaicML Streaming and compares every value with an expected.json, as make.py writes them.

    check.py FOLDER EXPECTED.json       columns that the folder does not have are left out
"""
import io
import json
import pathlib
import sys

from streaming import StreamingDataset
from streaming.base.util import clean_stale_shared_memory

from make import array_of, bytes_field, field, pil_field

import numpy


def file_bytes(image):
    """The bytes that Streaming gave to Pillow."""
    stream = getattr(image, "fp", None)
    return stream.getvalue() if isinstance(stream, io.BytesIO) else None


def describe(encoding, value):
    name = encoding.split(":")[0]
    if name == "ndarray":
        return array_of(value)[1]
    if name == "int":
        return field("int64", [], numpy.int64(value).tobytes())
    if name == "bytes":
        return bytes_field(value)
    if name in ("str", "str_int", "str_float", "str_decimal"):
        return bytes_field((repr(value) if isinstance(value, float) else str(value)).encode(), "text")
    if name == "json":
        return bytes_field(json.dumps(value).encode(), "text")
    if name in ("jpeg", "png"):
        return bytes_field(file_bytes(value))
    if name == "pil":
        return pil_field(value)
    if name.startswith(("list[", "jpeg")):
        return {"elements": [pil_field(image) if name == "list[pil]" else bytes_field(file_bytes(image)) for image in value]}
    return field(name, [], numpy.asarray(value).tobytes())


def main(folder, notes):
    clean_stale_shared_memory()
    known = json.loads(pathlib.Path(notes).read_text())
    data = StreamingDataset(local=folder, batch_size=1)
    if len(data) != len(known["samples"]):
        sys.exit(f"{folder} has {len(data)} samples, and {len(known['samples'])} were expected")
    for number, fields in enumerate(known["samples"]):
        sample = data[number]
        for name, value in sample.items():
            found = describe(known["encodings"][name], value)
            if found != fields[name]:
                sys.exit(f"{folder}, sample {number}, column {name}: {found} was read, and {fields[name]} was expected")
    print(f"{len(data)} samples of {len(data[0]) if len(data) else 0} columns")


if __name__ == "__main__":
    main(*sys.argv[1:])
