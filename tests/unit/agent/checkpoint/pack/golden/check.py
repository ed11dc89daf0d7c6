"""Opens a pack of format 2 with safetensors and checks each word of docs/reference/checkpoint.md about it; prints what is
in it as JSON. Nothing here knows our code.

    check.py PACK
"""
import json
import pathlib
import sys

import safetensors
import xxhash

BLOCK = 32 * 1024


def crc32c(data):
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ table[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def digests(data, tensors):
    """What the metadata says of the data, and of the tensors' bytes in a row."""
    blocks = [data[at:at + BLOCK] for at in range(0, len(data), BLOCK)]
    return {"ratoon.crc32c": "".join(f"{crc32c(block):08x}" for block in blocks),
            "ratoon.format": "2",
            "ratoon.xxh3": "".join(xxhash.xxh3_128_hexdigest(tensor) for tensor in tensors)}


def check(path):
    raw = pathlib.Path(path).read_bytes()
    begin = 8 + int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:begin])
    metadata = header.pop("__metadata__")
    boxes = {key[len("ratoon.box."):]: metadata.pop(key) for key in list(metadata) if key.startswith("ratoon.box.")}
    places = sorted(header.values(), key=lambda entry: entry["data_offsets"])
    data = raw[begin:]
    expected = digests(data, [data[slice(*entry["data_offsets"])] for entry in places])
    if begin % 4096 or metadata != expected:
        sys.exit(f"{path}: metadata is {metadata}, and {expected} was expected; data begins at {begin}")
    if not boxes.keys() <= header.keys():
        sys.exit(f"{path}: boxes of tensors that are not there: {boxes.keys() - header.keys()}")
    found = {}
    for name, tensor in safetensors.deserialize(raw):
        if bytes(tensor["data"]) != data[slice(*header[name]["data_offsets"])]:
            sys.exit(f"{path}: safetensors reads other bytes of {name}")
        found[name] = {"dtype": tensor["dtype"], "shape": tensor["shape"], "box": boxes.get(name, ""),
                       "xxh3": xxhash.xxh3_128_hexdigest(bytes(tensor["data"]))}
    if found.keys() != header.keys():
        sys.exit(f"{path}: safetensors finds {sorted(found)}, and the header has {sorted(header)}")
    return found


if __name__ == "__main__":
    print(json.dumps(check(sys.argv[1]), sort_keys=True))
