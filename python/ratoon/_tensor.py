"""Arrays: numpy's where numpy is there, else memory that is typed and has a shape."""
import dataclasses
import math
import sys

from ratoon._errors import RatoonError

# Of Python's struct, for memoryview; what is not here has no letter.
_LETTERS = {"uint8": "B", "int8": "b", "uint16": "H", "int16": "h", "uint32": "I", "int32": "i", "uint64": "Q",
            "int64": "q", "float16": "e", "float32": "f", "float64": "d", "bool": "?"}
_NUMPY_ONLY = {"complex64"}
_NAMES = {letter: name for name, letter in _LETTERS.items()} | {"L": "uint64", "l": "int64", "c": "int8"}


def _numpy():
    try:
        import numpy
    except ImportError:
        return None
    return numpy


def make_array(dtype: str, shape: tuple[int, ...], data):
    """A numpy array over `data` or, without numpy, a memoryview with the type and shape. No byte is copied."""
    numpy = _numpy()
    if dtype in ("bytes", "text"):
        dtype = "uint8"
    if numpy is not None and (dtype in _LETTERS or dtype in _NUMPY_ONLY):
        if len(data) == 0:
            return numpy.empty(shape, dtype)
        return numpy.frombuffer(data, dtype).reshape(shape)
    if dtype not in _LETTERS:
        raise RatoonError(f"neither numpy nor Python has numbers of type {dtype}: take the bytes, Tensor.data, or "
                          "ratoon.torch.tensor(), which makes a tensor of PyTorch")
    view = memoryview(data).cast("B")
    if math.prod(shape) == 0:  # memoryview has no shapes without an element
        return view.cast(_LETTERS[dtype])
    return view.cast(_LETTERS[dtype], shape)


def describe(value) -> tuple[str, tuple[int, ...], object]:
    """(type, shape, buffer) of an array: a numpy array, a memoryview, anything with Python's buffer protocol."""
    if hasattr(value, "__array__") and (numpy := _numpy()) is not None:
        value = numpy.ascontiguousarray(value).reshape(numpy.shape(value))
        if value.dtype.byteorder == (">" if sys.byteorder == "little" else "<"):
            value = value.astype(value.dtype.newbyteorder("="))
        return value.dtype.name, value.shape, value.reshape(-1).view("uint8")
    view = memoryview(value)
    name = _NAMES.get(view.format.lstrip("@=<"))
    if name is None:
        raise RatoonError(f"an array of the format '{view.format}' cannot be stored: give a numpy array, or one of "
                          + ", ".join(sorted(_LETTERS)))
    return name, tuple(view.shape), view.tobytes()


@dataclasses.dataclass(frozen=True, eq=False)
class Tensor:
    """A tensor of a checkpoint: `dtype` by its name, `shape`, and `data`, its bytes in rows.

    >>> import ratoon
    >>> tensor = ratoon.Tensor("int16", (2, 2), bytearray(8))
    >>> tensor.array().tolist()
    [[0, 0], [0, 0]]
    """

    dtype: str
    shape: tuple[int, ...]
    data: "memoryview | bytearray"

    def array(self):
        """A numpy array or, without numpy, a memoryview; over the same memory. bfloat16 and float8 have neither."""
        return make_array(self.dtype, self.shape, self.data)

    def __array__(self, dtype=None, copy=None):
        array = self.array()
        if isinstance(array, memoryview):
            raise RatoonError("numpy is not installed")
        if dtype is not None and array.dtype != dtype:
            return array.astype(dtype)
        return array.copy() if copy else array

    def __bytes__(self) -> bytes:
        return bytes(self.data)

    def __repr__(self) -> str:
        return f"Tensor({self.dtype!r}, {self.shape!r}, {len(self.data)} bytes)"
