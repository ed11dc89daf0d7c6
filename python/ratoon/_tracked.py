"""How a session saves and restores objects of Python: adapters with save(writer) and load(reader), one a kind of object.

An adapter is asked for its state when a step is saved, and gets it back before the first step.
"""
import collections.abc
import json
import random
import struct
import sys

from ratoon._core import Stream
from ratoon._errors import RatoonError
from ratoon._generators import OwnGenerator
from ratoon._layout import (Array, Decoder, Encoder, array_of_bytes, array_of_numpy, array_of_tensor, check_memory, memory_of,
                            numpy_of, torch_of)

_LAYOUT = ":layout"  # arrays of a state have no name that begins with ':'
_GROUPS = ":groups"  # of an optimizer: how many parameters each group has


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


class FixedForms:
    """The arrays of an object that a start fills in place. The next start makes them in their first form, so a save of another
    form could not be loaded."""

    def __init__(self):
        self._first: dict[str, tuple] | None = None

    def check(self, out, arrays: dict[str, Array]) -> None:
        forms = {name: (array.dtype, array.shape) for name, array in arrays.items()}
        if self._first is None:
            self._first = forms
        for name in forms | self._first:
            now, first = forms.get(name), self._first.get(name)
            if now != first:
                out.refuse(f"{name or 'it'} {_change_between(first, now)}: the next start would make it as it was when the steps "
                           "began, and could not load this state; make it in its final form before the steps begin, or keep it "
                           "in a tracked dict, whose values may change their form")


def _change_between(first: tuple | None, now: tuple | None) -> str:
    if now is None:
        return "no longer exists"
    if first is None:
        return "did not exist when the steps began"
    (now_type, now_shape), (first_type, first_shape) = now, first
    return (f"is of type {now_type} and shape {list(now_shape)}, and was of type {first_type} and shape {list(first_shape)} when "
            "the steps began")


class State:
    """The state of an object as `get` returns it; `put` takes it back. Its tensors come back on `device`, if there is one."""

    def __init__(self, get, put, device: str | None = None):
        self.get, self.put, self._device = get, put, device

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
        arrays = {name: read(reader, name) for name in reader.names() if not name.startswith(":")}

        reader.bytes(_LAYOUT, lambda layout: self.put(Decoder(arrays.__getitem__, self._device).value(json.loads(layout))))


class Optimizer(State):
    """An optimizer of PyTorch, which changes memory of other tracked objects: a start without these is refused. Its
    load_state_dict() moves the state of each parameter to the parameter's device, which may not be that of the save."""

    def __init__(self, optimizer):
        super().__init__(optimizer.state_dict, self._put, "cpu")
        self._optimizer = optimizer

    def load(self, reader) -> None:
        if _GROUPS in reader.names():  # a checkpoint of an older version has no such array
            _, (saved, ) = reader.find(_GROUPS)  # the shape is known before any object is loaded
            if why := self._refusal_of(saved):
                reader.refuse(why)
        super().load(reader)

    def _refusal_of(self, saved: int) -> str:
        """Why a state with so many groups of parameters cannot be loaded, or ''."""
        own = len(self._optimizer.param_groups)
        if saved == own:
            return ""
        return (f"the checkpoint has {saved} groups of parameters, and the optimizer has {own}: before the steps begin, give the "
                "optimizer the groups that it had at the step session.resumes_at, for example by add_param_group()")

    def _put(self, state) -> None:
        groups = state.get("param_groups", self._optimizer.param_groups)  # an overridden state_dict() may lack them
        if why := self._refusal_of(len(groups)):
            raise RatoonError(why)
        for saved, own in zip(groups, self._optimizer.param_groups, strict=True):
            for name, value in saved.items():
                if torch_of(value) and torch_of(own.get(name)):  # such as a learning rate: load_state_dict() does not move it
                    saved[name] = value.to(own[name].device)
        self._optimizer.load_state_dict(state)
        keep_types(self._optimizer, state)

    def save(self, out) -> None:
        super().save(out)
        sizes = [len(options["params"]) for options in self._optimizer.param_groups]
        counts = array_of_bytes(struct.pack(f"={len(sizes)}q", *sizes))
        put(out, _GROUPS, Array("int64", (len(sizes), ), counts.address, counts.nbytes, counts.owner))
        for group, options in enumerate(self._optimizer.param_groups):
            for number, parameter in enumerate(options["params"]):
                if not parameter.numel():
                    continue
                out.changes(f"parameter {number} of its group {group}, of shape {list(parameter.shape)}",
                            parameter.data_ptr(), parameter.numel() * parameter.element_size())


def keep_types(optimizer, saved) -> None:
    """Gives the state of an optimizer, which has just loaded `saved`, the types in which it was saved. PyTorch's
    load_state_dict() casts each value to the type of its parameter, and a run that was not interrupted does not. An optimizer
    that saves another type than it uses shows the saved type in its state_dict(), and so it keeps the type that it uses."""
    _with_types_of(saved.get("state", {}), optimizer.state_dict().get("state", {}))


def _with_types_of(saved, loaded):
    """`loaded`, whose dicts are changed in place: those of a state_dict() are the optimizer's own."""
    if torch_of(saved) and torch_of(loaded):
        return loaded if loaded.dtype == saved.dtype else saved.to(loaded.device)
    if isinstance(saved, dict) and isinstance(loaded, dict):
        for key in saved.keys() & loaded.keys():
            loaded[key] = _with_types_of(saved[key], loaded[key])
    elif type(saved) is type(loaded) and type(saved) in (list, tuple):
        return type(saved)(map(_with_types_of, saved, loaded))
    return loaded


class Tensors:
    """Named tensors of PyTorch, filled in place: those of a module, or one of its own under the name ''."""

    def __init__(self, tensors, module=None):
        self._tensors, self._module = tensors, module
        self._forms = FixedForms()

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
        tensors, arrays = self._tensors(), {}
        for name, tensor in tensors.items():
            try:
                arrays[name] = array_of_tensor(tensor)
            except RatoonError as error:
                out.refuse(f"{name}: {error}")
            put(out, name, arrays[name])
        self._forms.check(out, arrays)
        for tensor in [*tensors.values(), *self._originals_of(tensors)]:
            if tensor.numel():
                out.lies_at(tensor.data_ptr(), _size_in_memory(tensor))

    def _originals_of(self, tensors) -> list:
        """The module's own tensors. An overridden state_dict() may give copies, and an optimizer changes the originals."""
        if self._module is None:
            return []
        named = dict(self._module.named_parameters(remove_duplicate=False))
        named.update(self._module.named_buffers(remove_duplicate=False))
        return [named[name] for name in tensors if name in named]

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
                _without_expanded_dimensions(tensor, tensor).copy_(_without_expanded_dimensions(copy, tensor))

        reader.at_end(fill)


def _without_expanded_dimensions(tensor, memory):
    """`tensor` with one element in each dimension that expand() made of `memory`. All elements of such a dimension are one
    in memory, and PyTorch refuses to write to them as to several."""
    for dimension, (length, stride) in enumerate(zip(memory.shape, memory.stride(), strict=True)):
        if stride == 0 and length > 1:
            tensor = tensor.narrow(dimension, 0, 1)
    return tensor


def _size_in_memory(tensor) -> int:
    """The bytes from the first to the last element: fewer than those of all elements where expand() made a dimension."""
    last = sum((length - 1) * stride for length, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return (last + 1) * tensor.element_size()


class NumpyArray:
    """An array of numpy, filled in place."""

    def __init__(self, array):
        self._array, self._forms = array, FixedForms()

    def save(self, out) -> None:
        array = array_of_numpy(self._array)
        put(out, "", array)
        self._forms.check(out, {"": array})

    def load(self, reader) -> None:
        import numpy
        copy = numpy.empty(self._array.shape, self._array.dtype.newbyteorder("="))
        reader.tensor("", copy.dtype.name, list(copy.shape), copy.ctypes.data, copy.nbytes, copy)
        reader.at_end(lambda: numpy.copyto(self._array, copy))


def stream_of(value):
    """The Stream that a tracked object moves, or nothing: the object itself, or that of a ratoon.torch.DataLoader."""
    if isinstance(value, Stream):
        return value
    loader = sys.modules.get("ratoon.torch")
    return value.stream if loader is not None and isinstance(value, loader.DataLoader) else None


def is_stream_alone(value) -> bool:
    """Whether the stream is the whole state of the object. A subclass of the loader may have more."""
    return isinstance(value, Stream) or type(value).state_dict is sys.modules["ratoon.torch"].DataLoader.state_dict


def _seed_numpy(generator, seed: int) -> None:
    generator.bit_generator.state = type(generator.bit_generator)(seed).state


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
