"""How a session saves and restores objects of Python: adapters with save(writer) and load(reader), one a kind of object.

An adapter is asked for its state when a step is saved, and gets it back before the first step.
"""
import collections.abc
import ctypes
import json
import random
import sys

from ratoon._core import Stream
from ratoon._errors import RatoonError
from ratoon._layout import Array, Decoder, Encoder, array_of_numpy, array_of_tensor, check_memory, memory_of, numpy_of, torch_of

_LAYOUT = ":layout"  # arrays of a state have no name that begins with ':'


def put(out, name: str, array: Array) -> None:
    if array.dtype not in SIZES:
        out.refuse(f"checkpoints have no tensors of type {array.dtype}, which {name or 'it'} is: convert it")
    out.tensor(name, array.dtype, list(array.shape), array.address, array.nbytes, array.owner)


SIZES = {"bytes": 1, "text": 1, "uint8": 1, "int8": 1, "bool": 1, "float8_e4m3fn": 1, "float8_e5m2": 1, "uint16": 2,
         "int16": 2, "float16": 2, "bfloat16": 2, "uint32": 4, "int32": 4, "float32": 4, "uint64": 8, "int64": 8,
         "float64": 8, "complex64": 8}


def read(reader, name: str) -> tuple[str, list[int], bytearray]:
    """Asks for a tensor of any type and shape; its bytes are there once all objects are read."""
    dtype, shape = reader.find(name)
    size = SIZES[dtype]
    for length in shape:
        size *= length
    data, pinned, address = memory_of(size)
    reader.tensor(name, dtype, shape, address, size, pinned)
    return dtype, shape, data


class State:
    """The state of an object as `get` returns it; `put` takes it back."""

    def __init__(self, get, put):
        self.get, self.put = get, put

    def save(self, out) -> None:
        encoder = Encoder()
        try:
            layout = json.dumps(encoder.layout(self.get()))
        except RatoonError as error:
            out.refuse(str(error))
        for name, array in encoder.arrays.items():
            put(out, name, array)
        out.bytes(_LAYOUT, layout.encode())

    def load(self, reader) -> None:
        arrays = {name: read(reader, name) for name in reader.names() if name != _LAYOUT}

        reader.bytes(_LAYOUT, lambda layout: self.put(Decoder(arrays.__getitem__).value(json.loads(layout))))


class Optimizer(State):
    """An optimizer of PyTorch, which changes memory of other tracked objects: a start without these is refused."""

    def __init__(self, optimizer):
        super().__init__(optimizer.state_dict, optimizer.load_state_dict)
        self._optimizer = optimizer

    def save(self, out) -> None:
        super().save(out)
        for group, options in enumerate(self._optimizer.param_groups):
            for number, parameter in enumerate(options["params"]):
                if not parameter.numel():
                    continue
                out.changes(f"parameter {number} of its group {group}, of shape {list(parameter.shape)}",
                            parameter.data_ptr(), parameter.numel() * parameter.element_size())


class Tensors:
    """Named tensors of PyTorch, filled in place: those of a module, or one of its own under the name ''."""

    def __init__(self, tensors, module=None):
        self._tensors, self._module = tensors, module

    def _are_in_place(self, tensors) -> bool:
        """Whether the module's state_dict() gives its own tensors. An overridden one may give copies."""
        own = {id(tensor) for tensor in [*self._module.parameters(), *self._module.buffers()]}
        return all(id(tensor) in own for tensor in tensors.values())

    def _load_by_state_dict(self, reader, tensors) -> None:
        torch = sys.modules["torch"]
        copies = {name: torch.empty(tensor.shape, dtype=tensor.dtype) for name, tensor in tensors.items()}
        for name, copy in copies.items():
            self._want(reader, name, copy)
        reader.at_end(lambda: self._module.load_state_dict(copies))

    def save(self, out) -> None:
        for name, tensor in self._tensors().items():
            try:
                array = array_of_tensor(tensor)
            except RatoonError as error:
                out.refuse(f"{name}: {error}")
            put(out, name, array)
            if tensor.numel():
                out.lies_at(tensor.data_ptr(), tensor.numel() * tensor.element_size())

    def load(self, reader) -> None:
        tensors = self._tensors()
        if self._module is not None and not self._are_in_place(tensors):
            return self._load_by_state_dict(reader, tensors)
        for name in reader.names():
            if name not in tensors:
                reader.refuse(f'the program has no tensor "{name}", which the checkpoint has: it is of another model')
        for name, tensor in tensors.items():
            self._want(reader, name, tensor)

    @staticmethod
    def _want(reader, name: str, tensor) -> None:
        torch = sys.modules["torch"]
        try:
            check_memory(tensor)
        except RatoonError as error:
            reader.refuse(f"{name}: {error}")
        dtype, shape = str(tensor.dtype).removeprefix("torch."), list(tensor.shape)
        size = tensor.numel() * tensor.element_size()
        if tensor.device.type == "cpu" and tensor.is_contiguous() and not tensor.is_conj() and not tensor.is_neg():
            reader.tensor(name, dtype, shape, tensor.data_ptr(), size, tensor)
            return
        copy = torch.empty(shape, dtype=tensor.dtype)
        reader.tensor(name, dtype, shape, copy.data_ptr(), size, copy)

        def fill() -> None:
            with torch.no_grad():
                tensor.copy_(copy)

        reader.at_end(fill)


class NumpyArray:
    """An array of numpy, filled in place."""

    def __init__(self, array):
        self._array = array

    def save(self, out) -> None:
        put(out, "", array_of_numpy(self._array))

    def load(self, reader) -> None:
        import numpy
        copy = numpy.empty(self._array.shape, self._array.dtype.newbyteorder("="))
        reader.tensor("", copy.dtype.name, list(copy.shape), copy.ctypes.data, copy.nbytes, copy)
        reader.at_end(lambda: numpy.copyto(self._array, copy))


class Generators:
    """The random numbers of Python, numpy and PyTorch that programs share: each rank goes on with its own."""

    def save(self, out) -> None:
        for name, generator in generators().items():
            out.bytes(f"generator:{name}", json.dumps(generator.get()).encode())

    def load(self, reader) -> None:
        if reader.is_for_weights_alone():
            return
        known = generators(also=[name.removeprefix("generator:") for name in reader.names()])
        for full in reader.names():
            generator = known.get(full.removeprefix("generator:"))
            seed = reader.new_seed(full)
            if generator is None:
                reader.refuse(f'the checkpoint has the state of "{full}", and its library cannot be imported here: install it')
            elif seed is not None:
                reader.after_all(lambda generator=generator, seed=seed: generator.seed(seed))
            else:
                texts: list[bytes] = []
                reader.bytes(full, texts.append)
                reader.after_all(lambda generator=generator, texts=texts: generator.put(json.loads(texts[0])))


class OwnGenerator:
    """A generator of the program. A rank that is new to the world begins it with a seed of its own."""

    def __init__(self, get, put, seed):
        self._state, self._seed = State(get, put), seed
        self.get, self.put = get, put

    def save(self, out) -> None:
        encoder = Encoder()
        layout = encoder.layout(self._state.get())
        arrays = {name: ctypes.string_at(array.address, array.nbytes).hex() for name, array in encoder.arrays.items()}
        kinds = {name: (array.dtype, array.shape) for name, array in encoder.arrays.items()}
        out.bytes(_OWN, json.dumps([layout, arrays, kinds]).encode())

    def load(self, reader) -> None:
        if reader.is_for_weights_alone():
            return
        seed = reader.new_seed(_OWN)
        if seed is not None:
            reader.after_all(lambda: self._seed(seed))
            return
        texts: list[bytes] = []
        reader.bytes(_OWN, texts.append)
        reader.after_all(lambda: self._put(json.loads(texts[0])))

    def _put(self, saved) -> None:
        layout, arrays, kinds = saved
        self._state.put(Decoder(lambda name: (*kinds[name], bytearray.fromhex(arrays[name]))).value(layout))


_OWN = "generator:own"


class FirstDraws:
    """The random numbers as they were when this process first began its steps. An attempt without a checkpoint goes on
    from there: the session puts back all other state of objects that outlive the training function."""

    def __init__(self):
        self._rank: int | None = None
        self._shared: dict = {}
        self._own: dict = {}

    def begin_steps(self, rank: int, has_checkpoint: bool, own: "dict[str, tuple[object, OwnGenerator]]") -> None:
        """`own`: the generators that the program tracks, with their adapters."""
        if has_checkpoint:
            self.__init__()
        elif self._rank is None:
            self._rank = rank
            self._shared = {name: generator.get() for name, generator in generators().items()}
            self._own = {name: (value, adapter.get()) for name, (value, adapter) in own.items()}
        else:
            self._put_back(rank, own)

    def _put_back(self, rank: int, own) -> None:
        # Another rank draws other numbers, and the function has seeded them anew.
        shared = generators() if rank == self._rank else {}
        for name in shared.keys() & self._shared.keys():
            shared[name].put(self._shared[name])
        for name, (value, adapter) in own.items():
            first, state = self._own.get(name, (None, None))
            if first is value:
                adapter.put(state)


class _Generator:
    def __init__(self, get, put, seed):
        self.get, self.put, self.seed = get, put, seed


def _put_python(state) -> None:
    random.setstate((state[0], tuple(state[1]), state[2]))


def generators(also=()) -> dict[str, _Generator]:
    """Those of libraries that are imported. A checkpoint may have those of others, which the program imports later."""
    found = {"python": _Generator(random.getstate, _put_python, random.seed)}
    for library in ("numpy", "torch"):
        if library not in sys.modules and any(name.split(":")[0] == library for name in also):
            try:
                __import__(library)
            except ImportError:
                pass
    if numpy := sys.modules.get("numpy"):
        found["numpy"] = _Generator(lambda: _numpy_state(numpy), lambda state: numpy.random.set_state(
            (state[0], numpy.array(state[1], "uint32"), *state[2:])),
            lambda seed: numpy.random.seed((seed & 0xFFFFFFFF, seed >> 32)))
    if torch := sys.modules.get("torch"):
        found["torch"] = _Generator(lambda: torch.get_rng_state().tolist(), lambda state: torch.set_rng_state(
            torch.tensor(state, dtype=torch.uint8)), torch.default_generator.manual_seed)
        if torch.cuda.is_available() and torch.cuda.is_initialized():
            found["torch:cuda"] = _Generator(lambda: torch.cuda.get_rng_state().tolist(), lambda state:
                                             torch.cuda.set_rng_state(torch.tensor(state, dtype=torch.uint8)),
                                             torch.cuda.manual_seed)
    return found


def _seed_numpy(generator, seed: int) -> None:
    generator.bit_generator.state = type(generator.bit_generator)(seed).state


def _numpy_state(numpy) -> list:
    name, keys, *rest = numpy.random.get_state()
    return [name, keys.tolist(), *rest]


def seed_all(seed: int) -> None:
    """Begins the random numbers that programs share, on all ranks alike."""
    for name, generator in generators().items():
        if name != "torch:cuda":
            generator.seed(seed)
    if (torch := sys.modules.get("torch")) is not None:
        torch.manual_seed(seed)  # of all devices


def stream_of(value):
    """The Stream that a tracked object moves, or nothing: the object itself, or that of a ratoon.torch.DataLoader."""
    if isinstance(value, Stream):
        return value
    loader = sys.modules.get("ratoon.torch")
    return value.stream if loader is not None and isinstance(value, loader.DataLoader) else None


def is_stream_alone(value) -> bool:
    """Whether the stream is the whole state of the object. A subclass of the loader may have more."""
    return isinstance(value, Stream) or type(value).state_dict is sys.modules["ratoon.torch"].DataLoader.state_dict


def _fill_dict(value, state) -> None:
    value.clear()
    value.update(state)


def _fill_list(value, state) -> None:
    value[:] = state


def adapter_of(name: str, value):
    """(adapter, whether it has weights) of an object to track."""
    torch = sys.modules.get("torch")
    if torch is not None:
        if isinstance(value, torch.nn.Module):
            return Tensors(lambda: _tensors_of(name, value), value), True
        if isinstance(value, torch.optim.Optimizer):
            return Optimizer(value), False
        if isinstance(value, torch.Generator):
            return OwnGenerator(value.get_state, value.set_state, value.manual_seed), False
    if torch_of(value):
        return Tensors(lambda: {"": value}), True
    if numpy_of(value) is not None:
        return NumpyArray(value), False
    if isinstance(value, random.Random):
        return OwnGenerator(value.getstate, value.setstate, value.seed), False
    if hasattr(value, "bit_generator"):  # numpy.random.Generator
        return OwnGenerator(lambda: value.bit_generator.state, lambda state: setattr(value.bit_generator, "state", state),
                            lambda seed: _seed_numpy(value, seed)), False
    if callable(getattr(value, "state_dict", None)) and callable(getattr(value, "load_state_dict", None)):
        return State(value.state_dict, value.load_state_dict), False
    if type(value) is dict or isinstance(value, collections.abc.MutableMapping):
        return State(lambda: dict(value), lambda state: _fill_dict(value, state)), False
    if type(value) is list:
        return State(lambda: value, lambda state: _fill_list(value, state)), False
    if isinstance(value, (bool, int, float, complex, str, bytes, tuple, type(None))):
        raise RatoonError(f"'{name}' is a value of type {type(value).__name__}, which no restore can change in place: track "
                          f"a dict that holds it, for example progress = {{'{name}': {value!r}}}")
    raise RatoonError(f"'{name}' is of type {type(value).__module__}.{type(value).__qualname__}, which has no state_dict() "
                      "and load_state_dict(): give it both, or track a dict or list of its state")


def _tensors_of(name: str, module) -> dict:
    tensors = module.state_dict(keep_vars=True)
    for key, value in tensors.items():
        if not torch_of(value):
            raise RatoonError(f"tracked '{name}': {key} of its state_dict() is of type {type(value).__qualname__}, and a "
                              "module's state is tensors: track what holds that beside the module")
    return tensors
