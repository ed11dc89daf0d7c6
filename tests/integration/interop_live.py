"""Run by interop_nightly_test.py with the peers' Python: PROBE FOLDER SEED. Random states of every type are saved by
torch.save and safetensors, copied by the probe into either format, and loaded again by their own loaders."""
import pathlib
import random
import subprocess
import sys

import safetensors.torch
import torch

TYPES = ("uint8 int8 uint16 int16 uint32 int32 uint64 int64 float16 float32 float64 bool bfloat16 float8_e4m3fn "
         "float8_e5m2 complex64").split()


def raw(tensor):
    """Its bytes, row-major: NaN differs from itself, bytes do not."""
    tensor = tensor.detach().contiguous()
    return tensor.reshape(-1).view(torch.uint8).numpy().tobytes() if tensor.numel() else b""


def filled(chance, kind, shape):
    dtype = getattr(torch, kind)
    count = torch.Size(shape).numel() * dtype.itemsize
    data = torch.tensor([chance.randrange(256) for _ in range(count)], dtype=torch.uint8)
    return (data % 2 if kind == "bool" else data).view(dtype).reshape(shape)


def view_of(chance, tensor):
    how = chance.randrange(6)
    if how == 0 and tensor.dim() > 1:
        return tensor.permute(*chance.sample(range(tensor.dim()), tensor.dim()))
    if how == 1 and tensor.dim() > 0 and tensor.shape[0] > 1:
        return tensor[1:]
    if how == 2 and tensor.dim() > 0 and tensor.shape[-1] > 1:
        return tensor[..., ::2]
    if how == 3:
        return tensor.unsqueeze(0).expand(2, *tensor.shape)
    return tensor


def state(chance):
    tensors = {}
    for kind in TYPES:
        for i in range(4):
            shape = [chance.randrange(5) for _ in range(chance.randrange(5))]
            tensor = filled(chance, kind, shape)
            tensors[f"{kind}.{i}"] = view_of(chance, tensor)
            if chance.randrange(3) == 0:
                tensors[f"{kind}.{i}.shared"] = view_of(chance, tensor)
    return tensors


def nest(chance, tensors):
    """The same tensors in dictionaries, with names that flatten to the same."""
    if chance.randrange(2):
        return tensors
    nested = {}
    for name, tensor in tensors.items():
        kind, rest = name.split(".", 1)
        nested.setdefault(kind, {})[rest] = tensor
    return nested


def compare(expected, found, what):
    assert set(expected) == set(found), (what, set(expected) ^ set(found))
    for name, tensor in expected.items():
        other = found[name]
        assert (tensor.dtype, tensor.shape) == (other.dtype, other.shape), (what, name)
        assert raw(tensor) == raw(other), (what, name)


def main():
    probe, folder, seed = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3])
    chance = random.Random(seed)
    for turn in range(40):
        what = f"seed {seed}, turn {turn}"
        tensors = state(chance)
        torch.save(nest(chance, tensors), folder / "theirs.pt")
        plain = {name: tensor.clone(memory_format=torch.contiguous_format) for name, tensor in tensors.items()}
        safetensors.torch.save_file(plain, folder / "theirs.safetensors")
        for start in ("theirs.pt", "theirs.safetensors"):
            for end in ("ours.pt", "ours.safetensors"):
                done = subprocess.run([probe, folder / start, folder / end], stdout=subprocess.PIPE, text=True)
                assert done.returncode == 0, (what, start, end, done.stdout)
            compare(plain, torch.load(folder / "ours.pt", weights_only=True), (what, start))
            compare(plain, torch.load(folder / "ours.pt", weights_only=True, mmap=True), (what, start))
            compare(plain, safetensors.torch.load_file(folder / "ours.safetensors"), (what, start))
            assert (folder / "ours.safetensors").read_bytes() == (folder / "theirs.safetensors").read_bytes(), what


main()
