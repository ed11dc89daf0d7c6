"""Values of Python as JSON and named arrays, and back: what a checkpoint stores of a state_dict(), without pickle."""
import collections
import ctypes
import sys
from collections.abc import Iterator

from ratoon._errors import RatoonError

_VERSION = 1
_TAG = "type"  # of the JSON objects that stand for values which JSON does not have


class Array:
    """An array whose bytes a checkpoint has: `address` is that of memory that `owner` keeps."""

    def __init__(self, dtype: str, shape: tuple[int, ...], address: int, nbytes: int, owner):
        self.dtype, self.shape, self.address, self.nbytes, self.owner = dtype, tuple(shape), address, nbytes, owner


def torch_of(value):
    """The module torch if `value` is a tensor of it."""
    torch = sys.modules.get("torch")
    return torch if torch is not None and isinstance(value, torch.Tensor) else None


def numpy_of(value):
    """The module numpy if `value` is a plain array of it. A subclass, such as a masked array, has more than its numbers."""
    numpy = sys.modules.get("numpy")
    return numpy if numpy is not None and type(value) in (numpy.ndarray, numpy.memmap) else None


def check_memory(tensor) -> None:
    if tensor.numel() and not tensor.data_ptr():
        raise RatoonError(f"a {type(tensor).__name__} has no memory of its own, as the parts of a model that FSDP or tensor "
                          "parallelism divides: save it by torch.distributed.checkpoint with ratoon.dcp.Writer")


def array_of_tensor(tensor) -> Array:
    """Of a tensor of PyTorch. Its own memory where that is dense and on the CPU, otherwise a copy."""
    torch = sys.modules["torch"]
    if tensor.layout != torch.strided or tensor.is_quantized:
        raise RatoonError(f"tensors of layout {tensor.layout} or with quantized values cannot be saved: convert it first")
    plain = tensor.detach().resolve_conj().resolve_neg().cpu().contiguous()
    check_memory(plain)
    return Array(str(plain.dtype).removeprefix("torch."), plain.shape, plain.data_ptr(),
                 plain.numel() * plain.element_size(), plain)


def array_of_numpy(array) -> Array:
    numpy = sys.modules["numpy"]
    plain = numpy.ascontiguousarray(array).reshape(array.shape)
    if plain.dtype.byteorder == (">" if sys.byteorder == "little" else "<"):
        plain = plain.astype(plain.dtype.newbyteorder("="))
    return Array(plain.dtype.name, plain.shape, plain.ctypes.data, plain.nbytes, plain)


def memory_of(size: int) -> tuple[bytearray, object, int]:
    """Bytes, what keeps them where they are, and where that is."""
    data = bytearray(size)
    if not size:
        return data, data, 0
    pinned = (ctypes.c_char * size).from_buffer(data)
    return data, pinned, ctypes.addressof(pinned)


def array_of_bytes(data) -> Array:
    kept, pinned, address = memory_of(len(data))
    kept[:] = data
    return Array("uint8", (len(kept), ), address, len(kept), (kept, pinned))


class Encoder:
    """Makes the layout of a value, and collects its arrays by name."""

    def __init__(self):
        self.arrays: dict[str, Array] = {}

    def layout(self, value, path: tuple = ()) -> dict:
        return {"version": _VERSION, "value": self._encode(value, path)}

    def _add(self, path: tuple, array: Array) -> str:
        name = ".".join(map(str, path)).encode(errors="backslashreplace").decode() or "value"
        unique, number = name, 1
        while unique in self.arrays or unique.startswith(":"):
            number += 1
            unique = f"{name}~{number}".lstrip(":")
        self.arrays[unique] = array
        return unique

    def _encode(self, value, path):
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return {_TAG: "float", "value": value.hex()}
        if type(value) is complex:
            return {_TAG: "complex", "value": [value.real.hex(), value.imag.hex()]}
        if type(value) is list:
            return [self._encode(item, (*path, at)) for at, item in enumerate(value)]
        if type(value) in _SEQUENCES.values() or type(value) in _TABLES.values():
            return self._encode_container(value, path)
        return self._encode_object(value, path)

    def _encode_container(self, value, path):
        for name, kind in _TABLES.items():
            if type(value) is kind:
                items = [[self._encode(key, (*path, "key")), self._encode(item, (*path, key))]
                         for key, item in value.items()]
                return {_TAG: name, "items": items}
        name = next(name for name, kind in _SEQUENCES.items() if type(value) is kind)
        items = sorted(value, key=repr) if isinstance(value, (set, frozenset)) else value
        encoded = {_TAG: name, "items": [self._encode(item, (*path, at)) for at, item in enumerate(items)]}
        if isinstance(value, collections.deque):
            encoded["maxlen"] = value.maxlen
        return encoded

    def _encode_object(self, value, path):
        if isinstance(value, (bytes, bytearray)):
            return {_TAG: type(value).__name__, "name": self._add(path, array_of_bytes(value))}
        if torch := torch_of(value):
            kind = "parameter" if isinstance(value, torch.nn.Parameter) else "tensor"
            try:
                array = array_of_tensor(value)
            except RatoonError as error:
                raise RatoonError(f"{_where(path)}: {error}") from None
            return {_TAG: kind, "name": self._add(path, array), "device": _name_of_device(torch, value.device),
                    "requires_grad": value.requires_grad}
        if numpy_of(value) is not None:
            self._refuse_objects(value, path)
            return {_TAG: "array", "name": self._add(path, array_of_numpy(value))}
        if (numpy := sys.modules.get("numpy")) is not None and isinstance(value, numpy.generic):
            self._refuse_objects(value, path)
            return {_TAG: "scalar", "name": self._add(path, array_of_numpy(numpy.asarray(value)))}
        if (torch := sys.modules.get("torch")) is not None:
            if isinstance(value, torch.Size):
                return {_TAG: "torch.Size", "items": list(value)}
            if isinstance(value, (torch.dtype, torch.device)):
                return {_TAG: f"torch.{type(value).__name__}", "value": str(value).removeprefix("torch.")}
        raise RatoonError(f"{_where(path)} is of type {type(value).__module__}.{type(value).__qualname__}, which only "
                          "pickle could store, and pickle runs code when it loads: leave it out of state_dict(), or put "
                          "numbers, texts, lists, dicts and arrays in its place")

    @staticmethod
    def _refuse_objects(value, path):
        if value.dtype.hasobject or value.dtype.names or value.dtype.kind not in "biufc" or value.dtype.name not in _NUMPY:
            raise RatoonError(f"{_where(path)} is an array of {value.dtype}, which checkpoints do not have: convert it to "
                              "a type of numbers")


_TABLES = {"dict": dict, "OrderedDict": collections.OrderedDict, "Counter": collections.Counter}
_SEQUENCES = {"tuple": tuple, "set": set, "frozenset": frozenset, "deque": collections.deque}
_NUMPY = {"bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "float32",
          "float64", "complex64"}


def _where(path: tuple) -> str:
    return "its value" if not path else "its value [" + "][".join(map(repr, path)) + "]"


def _name_of_device(torch, device) -> str:
    """The current device has no number in a checkpoint: the next start may have another one, or fewer."""
    is_current = device.type == "cuda" and device.index == torch.cuda.current_device()
    return "cuda" if is_current else str(device)


def _device_of(torch, name: str) -> str:
    """The device of a tensor that was saved from the device `name`, which this process may lack."""
    kind, _, number = name.partition(":")
    if kind != "cuda":
        return name
    if not torch.cuda.is_available():
        return "cpu"
    exists = number and int(number) < torch.cuda.device_count()
    return name if exists else f"cuda:{torch.cuda.current_device()}"


def arrays_in(layout) -> Iterator[str]:
    """The names of the arrays that a layout needs."""
    if isinstance(layout, dict) and "name" in layout:
        yield layout["name"]
    for part in layout.values() if isinstance(layout, dict) else layout if isinstance(layout, list) else ():
        yield from arrays_in(part)


class Decoder:
    """Makes a value of its layout and its arrays, given by `take`: name -> (dtype, shape, bytearray). A `device` replaces those
    that the tensors were saved from."""

    def __init__(self, take, device: str | None = None):
        self._take, self._device = take, device

    def value(self, layout: dict):
        if layout.get("version") != _VERSION:
            raise RatoonError(f"the checkpoint has a state of version {layout.get('version')}, and this package reads "
                              f"version {_VERSION}: install the version of ratoon that saved it")
        return self._decode(layout["value"])

    def _decode(self, part):
        if isinstance(part, list):
            return [self._decode(item) for item in part]
        if not isinstance(part, dict):
            return part
        kind = part[_TAG]
        if kind == "float":
            return float.fromhex(part["value"])
        if kind == "complex":
            return complex(*map(float.fromhex, part["value"]))
        if kind in _TABLES:
            return _TABLES[kind]({self._decode(key): self._decode(item) for key, item in part["items"]})
        if kind == "deque":
            return collections.deque(map(self._decode, part["items"]), part["maxlen"])
        if kind in _SEQUENCES:
            return _SEQUENCES[kind](map(self._decode, part["items"]))
        return self._decode_object(kind, part)

    def _decode_object(self, kind, part):
        if kind in ("bytes", "bytearray"):
            data = self._take(part["name"])[2]
            return bytes(data) if kind == "bytes" else data
        if kind in ("array", "scalar"):
            import numpy
            dtype, shape, data = self._take(part["name"])
            array = numpy.frombuffer(data, dtype).reshape(shape) if data else numpy.empty(shape, dtype)
            return array if kind == "array" else array[()]
        import torch
        if kind == "torch.Size":
            return torch.Size(part["items"])
        if kind == "torch.dtype":
            return getattr(torch, part["value"])
        if kind == "torch.device":
            return torch.device(part["value"])
        return self._decode_tensor(torch, kind, part)

    def _decode_tensor(self, torch, kind, part):
        dtype, shape, data = self._take(part["name"])
        dtype = getattr(torch, dtype)
        tensor = torch.frombuffer(data, dtype=dtype).reshape(shape) if data else torch.empty(shape, dtype=dtype)
        tensor = tensor.to(self._device or _device_of(torch, part["device"]))
        if kind == "parameter":
            return torch.nn.Parameter(tensor, part["requires_grad"])
        return tensor.requires_grad_(part["requires_grad"])
