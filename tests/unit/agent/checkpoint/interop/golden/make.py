"""Makes the files beside it with PyTorch 2.11.0 and safetensors 0.8.0, and expected.json: what every tensor and value
in them is, from what was put in, not from what was stored. large.json is the outline of a file of over 4 GiB that
torch.save wrote: every piece but the zeros of its one large record.

    python3 -m venv peers && peers/bin/pip install torch==2.11.0 numpy safetensors==0.8.0
    peers/bin/python3 tests/unit/agent/checkpoint/interop/golden/make.py [FOLDER]
"""
import collections
import hashlib
import io
import json
import pathlib
import sys
import zipfile
import zlib

import safetensors.torch
import torch

TYPES = ("uint8 int8 uint16 int16 uint32 int32 uint64 int64 float16 float32 float64 bool bfloat16 float8_e4m3fn "
         "float8_e5m2 complex64").split()


def bytes_of(tensor):
    tensor = tensor.detach().resolve_conj().resolve_neg().contiguous()
    if tensor.numel() == 0:
        return b""
    return bytes(tensor.reshape(-1).view(torch.uint8).tolist())


def said(tensor):
    data = bytes_of(tensor)
    what = {"hex": data.hex()} if len(data) <= 512 else {"sha256": hashlib.sha256(data).hexdigest()}
    return {"type": str(tensor.dtype).removeprefix("torch."), "shape": list(tensor.shape), **what}


def filled(kind, *shape):
    """Every byte differs, and a bool is 0 or 1."""
    dtype = getattr(torch, kind)
    count = torch.Size(shape).numel() * dtype.itemsize
    raw = torch.arange(7, 7 + 3 * count, 3, dtype=torch.int64).to(torch.uint8)
    return (raw % 2 if kind == "bool" else raw).view(dtype).reshape(shape)


def every_type():
    tensors = {kind: filled(kind, 2, 3) for kind in TYPES}
    tensors.update({f"{kind}.zero_dim": filled(kind) for kind in TYPES})
    tensors.update({f"{kind}.empty": torch.empty(3, 0, 2, dtype=getattr(torch, kind)) for kind in TYPES})
    return tensors


def plain():
    """What our writer must make byte for byte."""
    return {
        "every": every_type(),
        "one": {"layer.weight": filled("float32", 2, 3)},
        "none": {},
        "names": {name: filled("int16", 3) for name in ("a b", "grün.猫🙂", 'q"\\\n\x01\x7f\u2028', "", "x" * 300)},
        "shapes": {"five": filled("uint8", 1, 2, 3, 2, 1), "long": filled("int8", 70000), "wide": filled("int64", 300),
                   "empty": torch.empty(0, 4)},
    }


def pickle_sum(count):
    """Of the pickle of so many tensors t0, t1, ..: Python writes items of a dictionary in batches of 1000."""
    file = io.BytesIO()
    torch.save({f"t{i}": filled("uint8", 1) for i in range(count)}, file)
    with zipfile.ZipFile(file) as stored:
        return zlib.crc32(stored.read("archive/data.pkl"))


def views():
    base = filled("float32", 4, 6)
    shared = filled("int32", 10)
    return {
        "transposed": base.t(), "rows": base[1:3], "columns": base[:, 2:5], "every_other": base[::2, ::3],
        "permuted": filled("uint8", 2, 3, 4, 5).permute(2, 0, 3, 1), "expanded": filled("float64", 3, 1).expand(3, 4),
        "diagonal": base[:, :4].diagonal(), "shared.all": shared, "shared.tail": shared[7:], "shared.again": shared,
        "one_wide": filled("int16", 5, 1, 2)[:, :, 1:], "new_type": filled("uint16", 3, 4).t(), "last": base[3, 5],
    }


def module_state():
    torch.manual_seed(1)
    module = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    optimizer = torch.optim.AdamW(module.parameters(), lr=0.125)
    module(torch.ones(4, 3)).sum().backward()
    optimizer.step()
    return {"model": module.state_dict(), "optimizer": optimizer.state_dict(), "step": 3, "done": False, "name": "grün",
            "parameter": torch.nn.Parameter(torch.ones(2)), "size": torch.Size([2, 3]), "nothing": None,
            "numbers": [0, 255, 256, 65535, 65536, -1, -128, 2**31 - 1, -(2**31), 2**31, 2**63 - 1, -(2**63), 0.5,
                        float("inf")],
            "pair": (1, (2, [])), "ordered": collections.OrderedDict(z=1, a=torch.tensor(True))}


def leaves(value, name=""):
    below = lambda key: f"{name}.{key}" if name else str(key)
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, below(key))
    elif isinstance(value, (list, tuple)):
        for i, inner in enumerate(value):
            yield from leaves(inner, below(i))
    elif isinstance(value, torch.Tensor):
        yield name, said(value)
    else:
        yield name, {"value": str(value) if isinstance(value, float) else value}


class Evil:
    def __reduce__(self):
        return (print, ("executed",))


def refused():
    """Each with a word that must be in the refusal."""
    conjugate = filled("complex64", 2).conj()
    return {
        "executes": ({"evil": Evil()}, "__builtin__.print"),
        "tensor_subclass": (torch.nn.Linear(2, 2), "torch.nn.modules.linear.Linear"),
        "set": ({"set": {1}}, "__builtin__.set"),
        "bytes": ({"bytes": b"x"}, "_codecs.encode"),
        "dtype": ({"kind": torch.float32}, "'kind' is a type"),
        "device": ({"device": torch.device("cpu")}, "torch.device"),
        "conjugate": ({"c": conjugate}, "resolve_conj"),
        "complex128": ({"c": torch.ones(2, dtype=torch.complex128)}, "ComplexDoubleStorage"),
        "sparse": ({"s": torch.eye(2).to_sparse()}, "torch._utils._rebuild_sparse_tensor"),
        "big_number": ({"n": 2**64}, "over 64 bits"),
        "tuple_key": ({(1, 2): 3}, "neither a text nor a whole number"),
        "same_name": ({"a.b": 1, "a": {"b": 2}}, "'a.b'"),
        "storage": ({"s": torch.ones(2).untyped_storage()}, "bare storage"),
    }


def save(value, folder, name, **how):
    torch.save(value, folder / f"{name}.pt", **how)


def shared_twice():
    """2^26 values in a few bytes."""
    value = [0]
    for _ in range(26):
        value = [value, value]
    return value


def cyclic():
    inner = []
    inner.append(inner)
    return {"loop": inner}


class Outline:
    """Takes what torch.save writes and keeps the pieces of under 4 KiB."""
    def __init__(self):
        self.size, self.pieces = 0, []

    def write(self, data):
        if len(data) < 4096:
            self.pieces.append([self.size, bytes(data).hex()])
        self.size += len(data)
        return len(data)

    def flush(self):
        pass


def large(folder):
    outline = Outline()
    torch.save({"a": torch.ones(2), "large": torch.zeros(2**32 + 5, dtype=torch.uint8), "z": torch.ones(3),
                "nothing": torch.empty(0)}, outline)
    (folder / "large.json").write_text(json.dumps({"size": outline.size, "pieces": outline.pieces}) + "\n")


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent
    expected = {"plain": {}, "read": {}, "refused": {},
                "pickles": {count: pickle_sum(count) for count in (999, 1000, 1001, 2000)}}
    for name, tensors in plain().items():
        save(tensors, folder, name)
        (folder / f"{name}.safetensors").write_bytes(safetensors.torch.save(tensors))
        expected["plain"][name] = [{"name": key, **said(tensor)} for key, tensor in tensors.items()]
    for name, value in (("views", views()), ("state", module_state()), ("tensor", filled("int16", 3))):
        save(value, folder, name)
        expected["read"][name] = [{"name": key or "tensor", **what} for key, what in leaves(value)]
    (folder / "metadata.safetensors").write_bytes(
        safetensors.torch.save({"w": filled("float32", 2)}, {"format": "pt"}))

    bad = {**refused(), "cyclic": (cyclic(), "nested over 64 deep"), "bomb": (shared_twice(), "a million values"),
           "expanded": (torch.zeros(1).expand(2**30), "16 times")}
    for name, (value, word) in bad.items():
        save(value, folder, f"refused_{name}")
        expected["refused"][name] = word
    save({"w": torch.ones(2)}, folder, "refused_legacy", _use_new_zipfile_serialization=False)
    expected["refused"]["legacy"] = "torch.load(path, weights_only=True)"
    save({"w": torch.ones(2)}, folder, "refused_protocol", pickle_protocol=4)
    expected["refused"]["protocol"] = "protocol 4"
    torch.jit.save(torch.jit.script(torch.nn.Linear(1, 1)), str(folder / "refused_script.pt"))
    expected["refused"]["script"] = "torch.jit.save"
    torch.serialization.set_crc32_options(False)
    save({"w": torch.ones(2)}, folder, "refused_unsummed")
    torch.serialization.set_crc32_options(True)
    expected["refused"]["unsummed"] = "checksum"
    with zipfile.ZipFile(folder / "one.pt") as stored, \
            zipfile.ZipFile(folder / "refused_deflated.pt", "w", zipfile.ZIP_DEFLATED) as packed:
        for record in stored.infolist():
            packed.writestr(record.filename, stored.read(record))
    expected["refused"]["deflated"] = "compressed"
    with zipfile.ZipFile(folder / "one.pt") as stored, zipfile.ZipFile(folder / "rezipped.pt", "w") as again:
        for record in stored.infolist():
            again.writestr(record.filename, stored.read(record))
    expected["read"]["rezipped"] = expected["plain"]["one"]
    large(folder)
    (folder / "expected.json").write_text(json.dumps(expected, indent=0) + "\n")


main()
