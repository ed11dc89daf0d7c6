"""Writes pack.safetensors and foreign.safetensors beside itself, or into the folder it is given: the tensors of
tests/support/sample_pack.h as a pack of format 2, and as safetensors' own writer leaves them.

    python3 -m venv env && env/bin/pip install safetensors==0.8.0 xxhash==4.1.0
    env/bin/python make.py [FOLDER]

The header's text is safetensors' own but for __metadata__, which it writes in any order, and the spaces at the end.
"""
import ctypes
import json
import pathlib
import sys

from check import digests
from safetensors import TensorSpec, serialize

# name, type, shape, box
TENSORS = [
    ("bool", "bool", [3, 5], None), ("uint8", "uint8", [7], None), ("int8", "int8", [7], None),
    ("float8_e5m2", "float8_e5m2", [9], None), ("float8_e4m3fn", "float8_e4m3fn", [9], None),
    ("int16", "int16", [3], None), ("uint16", "uint16", [3], None), ("float16", "float16", [2, 3], None),
    ("bfloat16", "bfloat16", [2, 3], None), ("int32", "int32", [1, 1, 2], None), ("uint32", "uint32", [2], None),
    ("float32", "float32", [100, 90], None), ("complex64", "complex64", [5], None), ("float64", "float64", [], None),
    ("int64", "int64", [2], None), ("uint64", "uint64", [2], None), ("bytes", "uint8", [11], None),
    ('text "\\/\b\f\n\r\t\x01\x1f\x7f \u00e9\u20ac\U0001f331', "uint8", [13], None),
    ("empty", "float32", [0, 3], None), ("also empty", "int64", [4, 0], None),
    ("part", "float32", [2, 16], "4,0 of 8,16"), ('another "part"', "int8", [3], "5 of 9"),
]
WIDTHS = {"bool": 1, "uint8": 1, "int8": 1, "float8_e5m2": 1, "float8_e4m3fn": 1, "int16": 2, "uint16": 2, "float16": 2,
          "bfloat16": 2, "int32": 4, "uint32": 4, "float32": 4, "complex64": 8, "float64": 8, "int64": 8, "uint64": 8}


def sample_bytes(number, kind, shape):
    count = WIDTHS[kind]
    for size in shape:
        count *= size
    mask = 1 if kind == "bool" else 0xFF
    return bytes((i * 7 + i // 251 + number * 31) & mask for i in range(count))


def main(folder):
    keep = []
    tensors = {}
    for number, (name, kind, shape, _) in enumerate(TENSORS):
        data = sample_bytes(number, kind, shape)
        keep.append(ctypes.create_string_buffer(data, max(len(data), 1)))
        tensors[name] = TensorSpec(dtype=kind, shape=shape, data_ptr=ctypes.addressof(keep[-1]), data_len=len(data))
    foreign = serialize(tensors, metadata={"format": "pt"})
    (folder / "foreign.safetensors").write_bytes(foreign)

    begin = 8 + int.from_bytes(foreign[:8], "little")
    header = json.loads(foreign[8:begin])
    del header["__metadata__"]
    data = foreign[begin:]
    metadata = digests(data, [data[slice(*entry["data_offsets"])] for entry in header.values()])
    metadata.update({f"ratoon.box.{name}": box for name, _, _, box in TENSORS if box})
    entries = foreign[8:begin].rstrip(b" ").partition(b'{"__metadata__":{"format":"pt"}')[2]
    text = b'{"__metadata__":' + json.dumps(metadata, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()
    text += entries
    text += b" " * (-(8 + len(text)) % 4096)
    (folder / "pack.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + data)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent)
