"""What needs PyTorch: a DataLoader whose position is a Stream's, gradients of several ranks, tensors of checkpoints."""
import contextlib
import hashlib
import random
import signal
import struct
import sys
from collections.abc import Iterator

from ratoon._errors import RatoonError

try:
    import torch
    import torch.distributed
    import torch.utils.data
except ModuleNotFoundError as error:
    if error.name != "torch":  # PyTorch is installed, and a module that it needs is not
        raise
    raise RatoonError("ratoon.torch needs PyTorch, which is not installed: pip install torch") from None

from ratoon import _core
from ratoon._generators import words_for_numpy
from ratoon._mds import MdsDataset
from ratoon._process_group import init_process_group
from ratoon._tensor import Tensor

__all__ = ["DataLoader", "average_gradients", "init_process_group", "tensor"]

_DECIDED = {"batch_size": "global_batch is the batch of all ranks", "shuffle": "the Stream has the order",
            "sampler": "the Stream has the order", "batch_sampler": "the Stream has the order",
            "drop_last": "epoch_end says it", "generator": "the Stream has the order",
            "in_order": "batches come in the order of the Stream"}


def tensor(value: Tensor) -> torch.Tensor:
    """A tensor of a checkpoint as one of PyTorch, over the same memory; bfloat16 and float8 included.

    >>> import ratoon, ratoon.torch
    >>> ratoon.torch.tensor(ratoon.Tensor("bfloat16", (2,), bytearray(b"\\x80?\\x00@")))
    tensor([1., 2.], dtype=torch.bfloat16)
    """
    name = "uint8" if value.dtype in ("bytes", "text") else value.dtype
    dtype = getattr(torch, name, None)
    if not isinstance(dtype, torch.dtype):
        raise RatoonError(f"PyTorch {torch.__version__} has no tensors of type {value.dtype}")
    if len(value.data) == 0:
        return torch.empty(value.shape, dtype=dtype)
    return torch.frombuffer(value.data, dtype=dtype).reshape(value.shape)


def _seed_of(seed: int, epoch: int, sample: int, purpose: bytes) -> int:
    key = hashlib.blake2b(struct.pack("<QQQ", seed, epoch, sample), digest_size=8, person=b"ratoon " + purpose)
    return int.from_bytes(key.digest(), "little")


@contextlib.contextmanager
def _random_numbers_kept():
    """In this process: worker processes have random numbers of their own, which nothing else draws."""
    if torch.utils.data.get_worker_info() is not None:
        yield
        return
    numpy = sys.modules.get("numpy")
    states = random.getstate(), torch.get_rng_state(), numpy and numpy.random.get_state()
    try:
        yield
    finally:
        random.setstate(states[0])
        torch.set_rng_state(states[1])
        if numpy:
            numpy.random.set_state(states[2])


def _seed_all(seed: int) -> None:
    random.seed(seed)
    torch.default_generator.manual_seed(seed)
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed(words_for_numpy(seed))


def _is_plain_mds(dataset) -> bool:
    """Whether reading a sample of this data set draws nothing. A subclass may draw."""
    return isinstance(dataset, MdsDataset) and not (dataset._overrides("__getitem__") or dataset._overrides("__getitems__"))


_STORAGE = 84


class _StorageError(RatoonError):
    """A RatoonError of a worker. PyTorch makes the error again in the program's process, from its type and its text alone, so
    the type has the exit code. The default, 82, would say that a store that is away is a mistake of the program."""

    def __init__(self, sentence: str, exit_code: int = _STORAGE):
        super().__init__(sentence, exit_code)


class _Samples(torch.utils.data.Dataset):
    """The data set, asked for (epoch, sample)."""

    def __init__(self, dataset, seed: int, seeds_samples: bool):
        self.dataset, self.seed = dataset, seed
        self.first = (0, 0)  # of the batch that was read last
        self._seeds_samples = seeds_samples and not _is_plain_mds(dataset)

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitems__(self, keys):
        self.first = keys[0]
        try:
            return self._read(keys)
        except RatoonError as error:
            if torch.utils.data.get_worker_info() is None or type(error) is not RatoonError or error.exit_code != _STORAGE:
                raise
            raise _StorageError(str(error)) from error

    def _read(self, keys):
        if not self._seeds_samples:
            samples = [sample for _, sample in keys]
            if hasattr(self.dataset, "__getitems__"):
                return self.dataset.__getitems__(samples)
            return [self.dataset[sample] for sample in samples]
        with _random_numbers_kept():
            return [self._seeded(epoch, sample) for epoch, sample in keys]

    def _seeded(self, epoch: int, sample: int):
        _seed_all(_seed_of(self.seed, epoch, sample, b"sample"))
        return self.dataset[sample]


class _Collate:
    """The program's collate_fn. A worker gets it in one pickle with the samples, so that it knows the batch that they read."""

    def __init__(self, samples: _Samples, of_program):
        self._samples, self._of_program = samples, of_program

    def __call__(self, batch):
        with _random_numbers_kept():
            _seed_all(_seed_of(self._samples.seed, *self._samples.first, b"collate"))
            return self._of_program(batch)


class _Batches:
    """This rank's part of each batch from the cursor to the end of the epoch that the cursor is in."""

    def __init__(self, stream: "_core.Stream", rank: int, world_size: int):
        self._stream, self._rank, self._world_size = stream, rank, world_size

    def __len__(self) -> int:
        epoch = self._stream.epoch
        return self._stream.batches_until_epoch(epoch + 1) - self._stream.batches_until_epoch(epoch)

    def _numbers(self) -> range:
        return range(self._stream.batches, self._stream.batches_until_epoch(self._stream.epoch + 1))

    def check_shares(self) -> None:
        """On all ranks, before they take a batch: if only the ranks without samples failed, the others would wait for them."""
        numbers = self._numbers()
        for number in (numbers[0], numbers[-1]):  # the batches between them are as large as the first one
            size = len(self._stream.batch(number))
            if size < self._world_size:
                raise RatoonError(f"batch {number} has {size} samples, and each of the {self._world_size} ranks needs one: give "
                                  "the loader epoch_end='carry' or 'drop', or a larger global_batch. If the run has begun, "
                                  "call stream.accept(order=True) for the former, or stream.accept(global_batch=True), on the "
                                  "loader's stream before the session restores it")

    def __iter__(self) -> Iterator[list[tuple[int, int]]]:
        for number in self._numbers():
            share = _core.share_of(self._stream.batch(number), self._rank, self._world_size)
            yield [(slot.epoch, slot.sample) for slot in self._stream.slots(share)]


class _WorkerInit:
    """A notice and Ctrl-C reach all processes of a group. Workers go on, so that the step that is saved gets its batch. Slurm
    gives notice by a signal that the user chooses. A second SIGTERM ends a worker: PyTorch sends it to workers that do not
    end by themselves."""

    def __init__(self, of_program):
        self._of_program = of_program

    def __call__(self, worker: int) -> None:
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
            signal.signal(number, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, lambda number, frame: signal.signal(number, signal.SIG_DFL))
        if self._of_program is not None:
            self._of_program(worker)


def _place_in_world() -> tuple[int, int]:
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return torch.distributed.get_rank(), torch.distributed.get_world_size()
    return 0, 1


class DataLoader(torch.utils.data.DataLoader):
    """A DataLoader of PyTorch whose order and position are those of a Stream: a resumed run sees the very batches that
    an unbroken one sees, whatever the number of workers.

    >>> import torch, ratoon.torch
    >>> data = torch.utils.data.TensorDataset(torch.arange(10))
    >>> loader = ratoon.torch.DataLoader(data, global_batch=4, seed=17)
    >>> batches = iter(loader)
    >>> _ = next(batches)
    >>> state = loader.state_dict()                # after the first batch
    >>> following = next(batches)
    >>> again = ratoon.torch.DataLoader(data, global_batch=4, seed=17, num_workers=1)
    >>> again.load_state_dict(state)
    >>> torch.equal(next(iter(again))[0], following[0])
    True

    A loop over it goes to the end of the epoch that the position is in, `epoch`; the batch that reaches over the end
    belongs to the epoch in which it begins. A batch counts as soon as it is handed out: take the state behind the step,
    before the next batch. The next loop goes on after a loop that was left, or after a load. If the body of a loop loads a
    state or changes the `stream`, the loop goes on from the new position, or ends if that is of another epoch.

    `global_batch` is the batch of all ranks; each takes its part. `rank` and `world_size` are those of
    torch.distributed, unless they are given. Session.batches() refuses a loader with those of another process. Instead of
    `global_batch`, `seed` and `epoch_end` a whole `stream` may be given. What the data set draws from Python's, numpy's or
    torch's random numbers while it reads a sample is a function of seed, epoch and sample; what `collate_fn` draws is a
    function of seed and the first sample of this rank's part. The program's own random numbers stay as they are.
    `seeds_samples=False` leaves all that out, for a data set and a collate_fn that draw nothing. All else goes to PyTorch's
    DataLoader.
    """

    def __init__(self, dataset, *, global_batch: int | None = None, seed: int = 0, source: str = "",
                 epoch_end: str = "carry", stream: "_core.Stream | None" = None, rank: int | None = None,
                 world_size: int | None = None, seeds_samples: bool = True, **arguments):
        for name in _DECIDED.keys() & arguments.keys():
            raise RatoonError(f"{name} is not an argument of ratoon.torch.DataLoader: {_DECIDED[name]}")
        if (stream is None) == (global_batch is None):
            raise RatoonError("a DataLoader takes either global_batch, with seed and epoch_end, or a stream")
        if stream is None:
            stream = _make_stream(dataset, global_batch, seed, source, epoch_end)
        if len(stream.accounts) != 1 or stream.epoch_slots != len(dataset):
            raise RatoonError(f"the stream is over {len(stream.accounts)} sources with {stream.epoch_slots} samples, and "
                              f"the data set is one with {len(dataset)}")
        if (rank is None) != (world_size is None):
            raise RatoonError("rank and world_size are given together, or neither")
        if rank is None:
            rank, world_size = _place_in_world()
        if not 0 <= rank < world_size:
            raise RatoonError(f"there is no rank {rank} in a world of {world_size}")
        self.stream = stream
        self.rank, self.world_size = rank, world_size
        if arguments.get("num_workers"):
            arguments["worker_init_fn"] = _WorkerInit(arguments.get("worker_init_fn"))
        samples = _Samples(dataset, stream.seed, seeds_samples)
        if seeds_samples and arguments.get("collate_fn") is not None:
            arguments["collate_fn"] = _Collate(samples, arguments["collate_fn"])
        # An iterator draws a number of its own at its begin: from a generator of its own, not the program's.
        super().__init__(samples, batch_sampler=_Batches(stream, rank, world_size), generator=torch.Generator(), **arguments)

    @property
    def epoch(self) -> int:
        """The epoch that the next batch is of."""
        return self.stream.epoch

    def __iter__(self):
        epoch = self.stream.epoch
        while self.stream.epoch == epoch:
            self.batch_sampler.check_shares()
            for batch in super().__iter__():
                self.stream.advance()
                position = self._position()
                yield batch
                if self._position() != position:  # batches that are read ahead are those of the former position
                    break

    def _position(self) -> tuple:
        """What decides on the batches that follow, beside the options of the stream."""
        return self.stream.cursor, self.stream.batches, self.stream.global_batch, self.stream.weights

    def state_dict(self) -> dict[str, str]:
        """The position behind the batch that was handed out last: a dict of one text, which needs no pickle."""
        return self.stream.state_dict()

    def load_state_dict(self, state: dict[str, str]) -> None:
        """The loop goes on from there. A state over another data set, seed or batch is refused."""
        self.stream.load_state_dict(state)


def _make_stream(dataset, global_batch: int, seed: int, source: str, epoch_end: str) -> "_core.Stream":
    if isinstance(dataset, MdsDataset) and not source:
        return _core.Stream(sources=[dataset.source()], global_batch=global_batch, seed=seed, epoch_end=epoch_end)
    return _core.Stream(samples=len(dataset), source=source, global_batch=global_batch, seed=seed, epoch_end=epoch_end)


def _need_group(session) -> None:
    if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
        raise RatoonError(f"average_gradients() in a world of {session.world_size} ranks needs torch.distributed: call "
                          "ratoon.torch.init_process_group(session) first")
    if torch.distributed.get_world_size() != session.world_size:
        raise RatoonError(f"torch.distributed has {torch.distributed.get_world_size()} ranks, and the session "
                          f"{session.world_size}: call ratoon.torch.init_process_group(session), which takes its ranks")


_BUCKET_ELEMENTS = 4 << 20


def average_gradients(session, module: torch.nn.Module, samples: int | None = None) -> None:
    """Behind Session.average_gradients()."""
    if session.world_size == 1:
        return
    _need_group(session)
    with session._collective(), torch.no_grad():
        weight = 1.0 / session.world_size
        if samples is not None:
            total = torch.tensor([samples], dtype=torch.int64)
            torch.distributed.all_reduce(total, group=_small_group(session))
            if not int(total):
                raise RatoonError("average_gradients() got no samples of any rank in this step: one rank needs some")
            weight = samples / int(total)
        used = _used_on_any_rank(session, module)
        for bucket in _buckets_of(used):
            _average(bucket, weight)


def _used_on_any_rank(session, module: torch.nn.Module) -> list[torch.nn.Parameter]:
    """The parameters that have a gradient somewhere. The others keep none: an optimizer leaves them alone."""
    parameters = [parameter for parameter in module.parameters() if parameter.requires_grad]
    counts = torch.tensor([parameter.grad is not None for parameter in parameters], dtype=torch.int32)
    torch.distributed.all_reduce(counts, group=_small_group(session))
    return [parameter for parameter, count in zip(parameters, counts.tolist(), strict=True) if count]


def _buckets_of(parameters: list[torch.nn.Parameter]) -> Iterator[list[torch.nn.Parameter]]:
    """Parameters of one type and device each, in the same order on all ranks."""
    bucket, kind, elements = [], None, 0
    for parameter in parameters:
        if bucket and (kind != (parameter.dtype, parameter.device) or elements >= _BUCKET_ELEMENTS):
            yield bucket
            bucket, elements = [], 0
        kind = (parameter.dtype, parameter.device)
        bucket.append(parameter)
        elements += parameter.numel()
    if bucket:
        yield bucket


def _average(bucket: list[torch.nn.Parameter], weight: float) -> None:
    for parameter in bucket:
        if parameter.grad is None:  # other ranks may have one
            parameter.grad = torch.zeros_like(parameter)
    flat = torch.cat([parameter.grad.reshape(-1) for parameter in bucket])
    # The mean of no samples is not a number, and 0 times NaN is NaN.
    flat = flat.mul_(weight) if weight else flat.zero_()
    torch.distributed.all_reduce(flat)
    begin = 0
    for parameter in bucket:
        parameter.grad.copy_(flat[begin:begin + parameter.numel()].view_as(parameter.grad))
        begin += parameter.numel()


def _small_group(session):
    """A group for a few numbers of the CPU."""
    if session._small_group is None:
        is_for_cpu = torch.distributed.get_backend() == "gloo"
        session._small_group = torch.distributed.group.WORLD if is_for_cpu else torch.distributed.new_group(backend="gloo")
    return session._small_group


_REQUEST_BITS = 32


def agree(session, decided: int = 0) -> None:
    """Once a step: what any rank asks for happens on all ranks, and reported values become means. All ranks have decided
    on the same requests already, if on any."""
    core = session._core
    requests = core.requests()
    own = [float(requests >> bit & 1) for bit in range(_REQUEST_BITS)]
    numbers = torch.tensor(own + list(core.numbers()), dtype=torch.float32)
    torch.distributed.all_reduce(numbers, group=_small_group(session))
    sums = numbers.tolist()
    asked = sum(1 << bit for bit in range(_REQUEST_BITS) if sums[bit] > 0)
    core.agree(asked | decided, sums[_REQUEST_BITS:])
