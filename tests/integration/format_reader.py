"""A reader of a run's folder, written from docs/reference/checkpoint.md alone, with nothing but Python's own library: proof
that the document says enough. Small states only, since every byte goes through Python.

    python3 format_reader.py FOLDER [RANK]      one line for each tensor of the newest sound checkpoint
"""
import json
import pathlib
import re
import sys

TYPES = {"U64": 8, "I64": 8, "F64": 8, "C64": 8, "F32": 4, "U32": 4, "I32": 4, "BF16": 2, "F16": 2, "U16": 2, "I16": 2,
         "F8_E4M3": 1, "F8_E5M2": 1, "I8": 1, "U8": 1, "BOOL": 1}
TABLE = list(TYPES)
FORMAT = 2
ROLLBACK_FORMAT = 1
BLOCK = 32768
HEADER_MAX = 100_000_000


class Damaged(Exception):
    """These bytes are not what was committed."""


class Refused(Exception):
    """Nothing is wrong with the bytes; this reader is not the one for them."""


# ---------------------------------------------------------------- sums: CRC32C, XXH3-128 with seed 0


def crc_table():
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        yield value


CRC = tuple(crc_table())


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ CRC[(crc ^ byte) & 0xFF]
    return f"{crc ^ 0xFFFFFFFF:08x}"


SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6"
    "813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931"
    "c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f"
    "95160428afd7fbcabb4b407e")
M64 = (1 << 64) - 1
P32 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
P64 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5


def word(data, at, size=8):
    return int.from_bytes(data[at:at + size], "little")


def fold(a, b):
    product = (a & M64) * (b & M64)
    return product & M64 ^ product >> 64


def mixed(h, first=37, factor=0x165667919E3779F9):
    h &= M64
    h = (h ^ h >> first) * factor & M64
    return h ^ h >> 32


def mixed_as_xxh64(h):
    h = (h ^ h >> 33) * P64[1] & M64
    h = (h ^ h >> 29) * P64[2] & M64
    return h ^ h >> 32


def flip(at):
    return word(SECRET, at) ^ word(SECRET, at + 8)


def short(data):
    n = len(data)
    if n == 0:
        return mixed_as_xxh64(flip(64)), mixed_as_xxh64(flip(80))
    if n <= 3:
        low = data[0] << 16 | data[n >> 1] << 24 | data[n - 1] | n << 8
        high = int.from_bytes(low.to_bytes(4, "little"), "big")
        high = (high << 13 | high >> 19) & 0xFFFFFFFF
        return (mixed_as_xxh64(low ^ word(SECRET, 0, 4) ^ word(SECRET, 4, 4)),
                mixed_as_xxh64(high ^ word(SECRET, 8, 4) ^ word(SECRET, 12, 4)))
    if n <= 8:
        product = ((word(data, 0, 4) | word(data, n - 4, 4) << 32) ^ flip(16)) * (P64[0] + (n << 2))
        low, high = product & M64, product >> 64
        high = high + (low << 1) & M64
        low ^= high >> 3
        low = (low ^ low >> 35) * 0x9FB21C651E98DF25 & M64
        return low ^ low >> 28, mixed(high)
    last = word(data, n - 8)
    product = (word(data, 0) ^ last ^ flip(32)) * P64[0]
    low = (product & M64) + (n - 1 << 54) & M64
    last ^= flip(48)
    high = (product >> 64) + last + (last & 0xFFFFFFFF) * (P32[1] - 1) & M64
    low ^= int.from_bytes(high.to_bytes(8, "little"), "big")
    product = low * P64[1]
    return mixed(product), mixed((product >> 64) + high * P64[1])


def middle(data):
    """17 to 240 bytes."""
    n = len(data)
    low, high = n * P64[0] & M64, 0

    def take(first, second, secret):
        nonlocal low, high
        for own, other in ((first, second), (second, first)):
            added = fold(word(data, own) ^ word(SECRET, secret), word(data, own + 8) ^ word(SECRET, secret + 8))
            low = (low + added & M64) ^ word(data, other) + word(data, other + 8) & M64
            low, high = high, low
            secret += 16

    if n <= 128:
        for i in range((n - 1) // 32, -1, -1):
            take(16 * i, n - 16 * (i + 1), 32 * i)
    else:
        for i in range(4):
            take(32 * i, 32 * i + 16, 32 * i)
        low, high = mixed(low), mixed(high)
        for i in range(4, n // 32):
            take(32 * i, 32 * i + 16, 3 + 32 * (i - 4))
        take(n - 16, n - 32, 136 - 17 - 16)
    return mixed(low + high), -mixed(low * P64[0] + high * P64[3] + n * P64[1]) & M64


def long(data):
    lanes = [P32[2], P64[0], P64[1], P64[2], P64[3], P32[1], P64[4], P32[0]]

    def stripe(at, secret):
        for i in range(8):
            value = word(data, at + 8 * i)
            key = value ^ word(SECRET, secret + 8 * i)
            lanes[i ^ 1] = lanes[i ^ 1] + value & M64
            lanes[i] = lanes[i] + (key & 0xFFFFFFFF) * (key >> 32) & M64

    def merged(secret, start):
        return mixed(start + sum(fold(lanes[i] ^ word(SECRET, secret + 8 * i),
                                      lanes[i + 1] ^ word(SECRET, secret + 8 * i + 8)) for i in range(0, 8, 2)))

    n = len(data)
    for number in range((n - 1) // 64):
        stripe(64 * number, number % 16 * 8)
        if number % 16 == 15:
            for i in range(8):
                lanes[i] = (lanes[i] ^ lanes[i] >> 47 ^ word(SECRET, 128 + 8 * i)) * P32[0] & M64
    stripe(n - 64, 192 - 64 - 7)
    return merged(11, n * P64[0]), merged(192 - 64 - 11, ~(n * P64[1]) & M64)


def xxh3(data):
    low, high = short(data) if len(data) <= 16 else middle(data) if len(data) <= 240 else long(data)
    return f"{high:016x}{low:016x}"


# ---------------------------------------------------------------- one pack


def need(fits, what):
    if not fits:
        raise Damaged(what)


def count(shape):
    product = 1
    for size in shape:
        product *= size
    return product


class Tensor:
    def __init__(self, name, dtype, shape, data, begin=None, whole=None):
        self.name, self.dtype, self.shape, self.data, self.begin, self.whole = name, dtype, shape, data, begin, whole


def numbers(text):
    need(re.fullmatch(r"((0|[1-9][0-9]*)(,(0|[1-9][0-9]*))*)?", text), f"'{text}' is no list of numbers")
    return [int(number) for number in text.split(",")] if text else []


def read_pack(path, record):
    """All tensors of a pack, each of them compared with its sums."""
    if not path.is_file() or path.is_symlink():
        raise Damaged(f"{path} is not there")
    file = path.read_bytes()
    need(len(file) == record["size_bytes"], f"{path} has another length")
    length = int.from_bytes(file[:8], "little")
    need(length <= HEADER_MAX and 8 + length <= len(file) and 8 + length == record["header_bytes"], f"{path}: header's length")
    header, data = file[:8 + length], file[8 + length:]
    need(xxh3(header) == record["header_digest"], f"{path} has another header")
    entries = json.loads(header[8:])
    metadata = entries.pop("__metadata__")
    if metadata.pop("ratoon.format") != str(FORMAT):
        raise Refused(f"{path} is of a format that this reader does not know")

    # An empty one lies before what begins where it does.
    order = sorted(entries, key=lambda name: (entries[name]["data_offsets"], TABLE.index(entries[name]["dtype"]),
                                              name.encode()))
    metadata.pop("ratoon.owner", None)
    crcs, hashes = metadata.pop("ratoon.crc32c"), metadata.pop("ratoon.xxh3")
    blocks = [crc32c(data[at:at + BLOCK]) for at in range(0, len(data), BLOCK)]
    need("".join(blocks) == crcs, f"{path}: a block is damaged")
    need(len(hashes) == 32 * len(order), f"{path}: a hash for each tensor")
    tensors, end = [], 0
    for i, name in enumerate(order):
        entry = entries[name]
        own_begin, own_end = entry["data_offsets"]
        need(own_begin == end and own_end - own_begin == count(entry["shape"]) * TYPES[entry["dtype"]], f"{path}: {name}")
        end = own_end
        tensor = Tensor(name, entry["dtype"], entry["shape"], data[own_begin:own_end])
        need(xxh3(tensor.data) == hashes[32 * i:32 * i + 32], f"{path}: {name} is damaged")
        box = metadata.pop("ratoon.box." + name, None)
        if box is not None:
            tensor.begin, tensor.whole = (numbers(side) for side in box.split(" of "))
        tensors.append(tensor)
    need(end == len(data) and not metadata, f"{path}: what nobody describes")
    return tensors


# ---------------------------------------------------------------- one checkpoint


def strides(shape):
    return [count(shape[i + 1:]) for i in range(len(shape))]


def put_in_place(whole, has_byte, part):
    """The rows of a part, each at its place in the bytes of the whole."""
    size = TYPES[part.dtype]
    row = part.shape[-1] if part.shape else 1
    steps = strides(part.whole)
    for number in range(count(part.shape[:-1]) if row else 0):
        at, rest = 0, number
        for d in range(len(part.shape) - 2, -1, -1):
            rest, place = divmod(rest, part.shape[d])
            at += (part.begin[d] + place) * steps[d]
        at = (at + (part.begin[-1] if part.begin else 0)) * size
        whole[at:at + row * size] = part.data[number * row * size:(number + 1) * row * size]
        has_byte[at:at + row * size] = b"\1" * (row * size)


def joined(name, parts):
    first = parts[0]
    need(all((part.dtype, part.whole) == (first.dtype, first.whole) for part in parts), f"the parts of {name} do not agree")
    whole = bytearray(count(first.whole) * TYPES[first.dtype])
    has_byte = bytearray(len(whole))
    for part in parts:
        put_in_place(whole, has_byte, part)
    need(all(has_byte), f"{name} is not all there")
    return Tensor(name, first.dtype, first.whole, bytes(whole))


def read_parts(folder, entry):
    """A tensor that was saved in parts, from its part files."""
    row, files = count(entry["shape"][1:]) * TYPES[entry["dtype"]], []
    for number, part in enumerate(entry["parts"]):
        begin = number * entry["rows_per_part"]
        rows = min(entry["rows_per_part"], entry["shape"][0] - begin)
        name = f"parts/a{part['attempt']:04}/s{part['step']:010}/{part['header_digest']}.safetensors"
        tensor, = read_pack(folder / name, part | {"size_bytes": part["header_bytes"] + rows * row})
        need(tensor.shape == [rows] + entry["shape"][1:] and tensor.dtype == entry["dtype"], f"{name}: another tensor")
        need(xxh3(tensor.data) == part["rows_digest"], f"{name}: other rows")
        files.append(tensor.data)
    data = b"".join(files)
    need(len(data) == entry["shape"][0] * row, f"{entry['name']} is not all there")
    return Tensor(entry["name"], entry["dtype"], entry["shape"], data)


class Checkpoint:
    def __init__(self, folder, manifest):
        self.attempt, self.step = manifest["attempt"], manifest["step"]
        self.own, parts = [], {}
        for rank, record in enumerate(manifest["packs"]):
            need(record["rank"] == rank, "the manifest's packs are in order")
            name = f"packs/a{self.attempt:04}/s{self.step:010}/r{rank:04}.safetensors"
            tensors = read_pack(folder / name, record)
            tensors += [read_parts(folder, entry) for entry in record.get("in_parts", [])]
            self.own.append({tensor.name: tensor for tensor in tensors if tensor.begin is None})
            for tensor in tensors:
                if tensor.begin is not None:
                    parts.setdefault(tensor.name, []).append(tensor)
        self.shared = {name: joined(name, found) for name, found in parts.items()}

    def of_rank(self, rank):
        """What rank `rank` of a world of any size goes on with."""
        return self.own[rank % len(self.own)] | self.shared


def read_sealed(path, known):
    text = path.read_bytes()
    line = b"crc32c:xxxxxxxx\n"
    body, last = text[:-len(line)], text[-len(line):]
    need(last.decode("ascii", "replace") == f"crc32c:{crc32c(body)}\n", f"{path} is damaged")
    value = json.loads(body)
    if value["format"] != known:
        raise Refused(f"{path} is of format {value['format']}, and this reader knows {known}")
    return value


def rollbacks_in_force(folder):
    in_force = []
    for path in sorted(folder.glob("rollbacks/a*.json"), key=lambda path: int(path.name[1:-5])):
        rollback = read_sealed(path, ROLLBACK_FORMAT)
        while in_force and rollback["to"]["attempt"] < in_force[-1]["attempt"]:
            in_force.pop()
        in_force.append(rollback)
    return in_force


def is_given_up(attempt, step, in_force):
    return any(attempt < by["attempt"] and
               ((attempt, step) > (by["to"]["attempt"], by["to"]["step"]) or step > by["to"]["step"]) for by in in_force)


def names_newest_first(folder):
    found = []
    for path in folder.iterdir() if folder.is_dir() else ():
        name = re.fullmatch(r"s([0-9]{10,})\.a([0-9]{4,})\.json", path.name)
        if name and path.is_file() and not path.is_symlink():
            attempt, step = int(name[2]), int(name[1])
            if path.name == f"s{step:010}.a{attempt:04}.json":
                found.append((attempt, step, path))
    return sorted(found, reverse=True)


def read_newest(folder):
    """The newest sound checkpoint and why newer ones were passed over; None where nothing was ever committed."""
    folder = pathlib.Path(folder)
    passed_over = []
    listed = names_newest_first(folder / "manifests")
    in_force = rollbacks_in_force(folder)
    for attempt, step, path in listed:
        if is_given_up(attempt, step, in_force):
            continue
        try:
            manifest = read_sealed(path, FORMAT)
            need((manifest["attempt"], manifest["step"]) == (attempt, step), f"{path} describes another checkpoint")
            return Checkpoint(folder, manifest), passed_over
        except Damaged as why:
            passed_over.append(str(why))
    if passed_over or names_newest_first(folder / "quarantine"):
        raise Damaged(f"there are checkpoints in {folder}, and none is good: " + "; ".join(passed_over))
    return None, passed_over


def main():
    checkpoint, passed_over = read_newest(sys.argv[1])
    for why in passed_over:
        print("passed over:", why, file=sys.stderr)
    if checkpoint is None:
        return print("nothing was ever committed")
    print(f"attempt {checkpoint.attempt} step {checkpoint.step}")
    for name, tensor in sorted(checkpoint.of_rank(int(sys.argv[2]) if len(sys.argv) > 2 else 0).items()):
        print(json.dumps(name), tensor.dtype, tensor.shape, len(tensor.data))


if __name__ == "__main__":
    main()
