"""Generators of random numbers: those that programs share, and those of a program."""
import ctypes
import json
import random
import sys

from ratoon._core import say
from ratoon._layout import Decoder, Encoder

_OWN = "generator:own"
_CUDA = "torch:cuda"


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
            if generator is None and full == f"generator:{_CUDA}":
                say("the checkpoint has the state of CUDA's random numbers, and PyTorch finds no CUDA device here: the run goes "
                    "on without this state")
            elif generator is None:
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
        self.get, self.put, self._seed = get, put, seed

    def save(self, out) -> None:
        encoder = Encoder()
        layout = encoder.layout(self.get())
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
        self.put(Decoder(lambda name: (*kinds[name], bytearray.fromhex(arrays[name]))).value(layout))


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
            lambda seed: numpy.random.seed(words_for_numpy(seed)))
    if torch := sys.modules.get("torch"):
        found["torch"] = _Generator(lambda: torch.get_rng_state().tolist(), lambda state: torch.set_rng_state(
            torch.tensor(state, dtype=torch.uint8)), torch.default_generator.manual_seed)
        if torch.cuda.is_available() and (torch.cuda.is_initialized() or _CUDA in also):
            found[_CUDA] = _Generator(lambda: torch.cuda.get_rng_state().tolist(), lambda state: torch.cuda.set_rng_state(
                torch.tensor(state, dtype=torch.uint8)), torch.cuda.manual_seed)
    return found


def words_for_numpy(seed: int) -> tuple[int, int]:
    """The high word first: numpy has the algorithm of Python's random, which takes the low word first, and from the same words
    both would draw the same numbers."""
    return seed >> 32, seed & 0xFFFFFFFF


def _numpy_state(numpy) -> list:
    name, keys, *rest = numpy.random.get_state()
    return [name, keys.tolist(), *rest]


def seed_all(seed: int) -> None:
    """Begins the random numbers that programs share, on all ranks alike."""
    for name, generator in generators().items():
        if name != _CUDA:
            generator.seed(seed)
    if (torch := sys.modules.get("torch")) is not None:
        torch.manual_seed(seed)  # of all devices
