"""A session of training: exact resume of a Python program."""
import atexit
import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator

from ratoon import _core, _generators, _tracked
from ratoon._arguments import end_of, values_of, whole_numbers
from ratoon._endings import TakenSignals, ending_of, may_be_loss
from ratoon._errors import RatoonError

__all__ = ["Session"]


class Session:
    """One run of a program that may be ended at any time and goes on exactly where it was.

    >>> import tempfile, ratoon
    >>> folder = tempfile.mkdtemp()
    >>> def count(total):
    ...     with ratoon.Session(save_folder=folder, run_name="count", save_every="10st") as session:
    ...         state = {"sum": 0}
    ...         session.track(state=state)
    ...         for step in session.steps(total):
    ...             state["sum"] += step
    ...         return step, state["sum"]
    >>> count(20)
    (19, 190)
    >>> count(30)                                  # another start: it goes on with step 20
    (29, 435)

    Options are those of docs/reference/options.md, with '_' for '-'. Variables of the environment, which the operator and
    `ratoon run` set, outweigh them; the program's own command line is not read.

    The with statement completes the run, if its loop has ended by itself or after finish(). When the process has to end
    (notice, Ctrl-C, another world), the session saves and raises SystemExit with the exit code that tells the launcher
    whether to start it again. One session a process at a time, on one thread.
    """

    def __init__(self, **options):
        check_free()
        values = values_of(options)
        self._signals = TakenSignals(values)
        try:
            self._begin_attempt(_core.Session(values))
        except BaseException:
            self._signals.give_back()
            raise

    @classmethod
    def _of_train(cls, core: "_core.Session", signals: "TakenSignals", first_draws: "_generators.FirstDraws") -> "Session":
        """The session of an attempt of train()."""
        session = cls.__new__(cls)
        session._signals = signals
        session._begin_attempt(core, first_draws)
        return session

    def _begin_attempt(self, core: "_core.Session", first_draws: "_generators.FirstDraws | None" = None) -> None:
        global _open_session
        _open_session = self
        self._core = core
        self._is_of_train = first_draws is not None
        self._first_draws = first_draws
        self._has_coordinator = bool(os.environ.get("RATOON_COORDINATOR_URL"))
        self._process = os.getpid()
        self._streams = []
        self._own_generators = {}
        self._facts = {}  # once the session is closed
        self._loop = None
        self._small_group = None
        _generators.seed_all(core.seed)
        core.track_state("generators", _generators.Generators())

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, kind, error, traceback) -> bool:
        try:
            if error is None:
                self.complete()
            elif isinstance(error, RatoonError):
                _core.say(str(error))
                raise SystemExit(error.exit_code) from error
            elif not isinstance(error, SystemExit):
                self._explain(error)
        finally:
            self.close()
        return False

    def track(self, **objects) -> None:
        """Adds objects to every checkpoint, under their names, and restores them when the steps begin.

        Modules, optimizers, schedules and generators of PyTorch, arrays of numpy, dicts, lists, a Stream, a
        ratoon.torch.DataLoader, and all that has state_dict() and load_state_dict(). The shared random numbers of Python,
        numpy and PyTorch are tracked always. State that only pickle could store is refused, and so is a tensor of a module or
        an array of numpy that changes its type or shape during the run.
        """
        for name, value in objects.items():
            stream = _tracked.stream_of(value)
            if stream is not None:
                self._streams.append(stream)
                if len(self._streams) == 1:
                    self._core.follow(stream)
            if stream is not None and _tracked.is_stream_alone(value):
                self._core.track_stream(name, stream)
                continue
            adapter, has_weights = _tracked.adapter_of(name, value)
            if isinstance(adapter, _generators.OwnGenerator):
                self._own_generators[name] = (value, adapter)
            (self._core.track_weights if has_weights else self._core.track_state)(name, adapter)

    def stream(self, **options) -> "_core.Stream":
        """A ratoon.Stream with these options, but with seed and global_batch of the job, where it gives them."""
        options["global_batch"], options["seed"] = self._core.stream_options(options["global_batch"], options.get("seed", 0))
        return _core.Stream(**options)

    def data_loader(self, dataset, *, global_batch: int, seed: int = 0, **arguments):
        """A ratoon.torch.DataLoader for this rank, with seed and global_batch of the job, where it gives them."""
        import ratoon.torch
        global_batch, seed = self._core.stream_options(global_batch, seed)
        return ratoon.torch.DataLoader(dataset, global_batch=global_batch, seed=seed, rank=self.rank,
                                       world_size=self.world_size, **arguments)

    def steps(self, steps: int | str | None = None, *, epochs: int | None = None) -> Iterator[int]:
        """The numbers of the steps that are left of the run: of so many, of an amount such as "90ep", "5000st" or "12h",
        or of so many epochs of the first Stream or DataLoader that is tracked. Each turn of the loop ends a step."""
        self._begin(end_of(steps, epochs))
        return self._steps()

    def batches(self, loader, steps: int | str | None = None, *, epochs: int | None = None) -> Iterator:
        """The batches that are left of the run, one a step. `loader` is a ratoon.torch.DataLoader that is tracked, and the
        epochs of the run are those of this loader."""
        stream = _tracked.stream_of(loader)
        if stream is None or stream is loader:
            raise RatoonError("batches() takes a ratoon.torch.DataLoader, whose position can be saved")
        if not any(stream is tracked for tracked in self._streams):
            raise RatoonError("batches() was given a loader that is not tracked, so a resumed run would begin it anew: call "
                              "session.track(loader=loader) first")
        self._check_place(loader)
        self._begin(end_of(steps, epochs), stream)
        return self._batches(loader)

    def _check_place(self, loader) -> None:
        if (loader.rank, loader.world_size) != (self.rank, self.world_size):
            raise RatoonError(f"batches() was given a loader of rank {loader.rank} of {loader.world_size}, and this process is "
                              f"rank {self.rank} of {self.world_size}: make the loader with session.data_loader(), in train() "
                              "within the training function")

    def _begin(self, until: str | None, followed: "_core.Stream | None" = None) -> None:
        if self._loop is not None:
            raise RatoonError("a session has one loop over its steps, and this is a second one")
        self._loop = until
        if followed is not None:
            self._core.follow(followed)
        self._core.resume(until)
        if self._is_of_train:
            self._first_draws.begin_steps(self._core.rank, bool(self._core.resumes_at), self._own_generators)

    def _steps(self) -> Iterator[int]:
        while not self._core.is_over():
            yield self._core.steps_done
            if not self.step_done():
                return

    def _batches(self, loader) -> Iterator:
        while not self._core.is_over():
            batches = iter(loader)
            while True:
                with self.phase("data"):
                    batch = next(batches, _NO_BATCH)
                if batch is _NO_BATCH:
                    break
                yield batch
                if not self.step_done():
                    return

    def resume(self, steps: int | str | None = None, *, epochs: int | None = None) -> None:
        """Restores what is tracked, for a loop of the program's own, which calls step_done()."""
        self._begin(end_of(steps, epochs))

    def step_done(self) -> bool:
        """Ends a step: counts, saves and commits. Returns whether there is another one. Call finish() and save(), and
        change tracked objects, before step_done(): a process that resumes from this step begins with the next one."""
        self._tell_of_swallowed("ended a step")
        self._agree()
        return self._core.step_done()

    @property
    def is_over(self) -> bool:
        """Whether the run is at its end."""
        return self._core.is_over()

    def complete(self) -> None:
        """Saves what is not saved yet and completes the run. Leaving the with statement calls it."""
        self._core.complete()

    def finish(self, reason: str) -> None:
        """Ends the run early, for example because the loss no longer falls. The next step is the last one if the run may
        have several ranks, as under `ratoon run`; else this step is. Let the loop end by itself."""
        self._core.finish(reason)

    def save(self, keep: str = "") -> None:
        """Saves this step when it ends, beside save_every. With a reason the checkpoint is kept for good."""
        self._core.save(keep)

    def unpin(self, step: int) -> None:
        """Removes the pin of the checkpoint of this step, as `ratoon checkpoint list` shows the step, with the commit of the
        next checkpoint. The run then removes the checkpoint like any other. One rank may call it for all ranks."""
        self._core.unpin(step)

    def on_epoch_begin(self, act: Callable[[int], object]) -> None:
        """Calls `act` with the number of each epoch, from 0, before the first step whose batch begins in the epoch. A resumed
        run repeats the call only if this step was lost. A further call of on_epoch_begin() replaces `act`."""
        self._core.on_epoch_begin(act)

    def on_epoch_end(self, act: Callable[[int], object]) -> None:
        """Calls `act` with the number of each epoch after the epoch's last step and before this step is saved, so that the
        checkpoint has the changes that `act` makes. For validation, save_best() and values of an epoch."""
        self._core.on_epoch_end(act)

    def save_best(self, name: str, value: float, keep: int = 1, is_lower_better: bool = True) -> bool:
        """Saves and pins this step when it ends if `value` is among the `keep` best ones of this name; the pin of a
        checkpoint that no longer is goes. All ranks call it in the same step, and the value of rank 0 counts. Returns
        whether the step is saved."""
        return self._core.save_best(name, float(value), keep, is_lower_better)

    def report(self, name: str, value: float, samples: int = 1) -> None:
        """A value of this step, for the history, the progress bar ("loss") and /metrics."""
        self._core.report(name, float(value), samples)

    def sum(self, *numbers: float, whole: bool = False) -> float | list[float] | int | list[int]:
        """Sums of numbers over all ranks. All ranks call it in the same order, with equally many numbers. With `whole=True` on
        all ranks the numbers are whole numbers of 64 bits, and their sums are exact ints; otherwise the sums are floats, which
        are exact up to 2**53. For counts and measures: gradients have average_gradients()."""
        if whole:
            sums = self._core.sum_integers(whole_numbers(numbers))
        else:
            sums = self._core.sum([float(number) for number in numbers])
        return sums[0] if len(sums) == 1 else sums

    def mean(self, name: str, value: float, samples: int) -> float:
        """The mean over the samples of all ranks, of which this rank has `samples` with the mean `value`. It is reported,
        too. All ranks call it."""
        return self._core.mean(name, float(value), samples)

    @contextlib.contextmanager
    def phase(self, phase: str):
        """Time of a step that is no computing: "data", "validation", "collective". For hang detection and the ledger."""
        if phase not in ("data", "validation", "collective"):
            raise RatoonError(f"there is no phase '{phase}': give 'data', 'validation' or 'collective'")
        self._core.enter(phase)
        is_unfinished = True
        try:
            yield
            is_unfinished = False
        finally:
            self._core.leave_phase(is_unfinished)

    def still_alive(self) -> None:
        """This step takes longer than others and does not hang: its time is measured anew from here."""
        self._core.still_alive()

    def seed_of(self, name: str) -> int:
        """A seed for a generator of this name on this rank, from seed, name, rank and the step where this start begins."""
        return self._core.seed_of(name)

    def average_gradients(self, module, samples: int | None = None) -> None:
        """Replaces each gradient of a module of PyTorch by its mean over all ranks, weighted by `samples` where ranks have
        unequal numbers. Needs torch.distributed in a world of several ranks: ratoon.torch.init_process_group()."""
        import ratoon.torch
        ratoon.torch.average_gradients(self, module, samples)

    attempt = property(lambda self: self._fact("attempt"), doc="The number of this start within the run, from 1.")
    rank = property(lambda self: self._fact("rank"), doc="This process's number among the ranks, from 0.")
    world_size = property(lambda self: self._fact("world_size"), doc="How many ranks there are.")
    local_rank = property(lambda self: self._fact("local_rank"), doc="The rank within the member (the pod, or the ranks of "
                          "torchrun on this machine); it chooses the device if this process sees those of all ranks.")
    local_size = property(lambda self: self._fact("local_size"), doc="How many ranks the member has.")
    resumes_at = property(lambda self: self._fact("resumes_at") or None,
                          doc="The step of the checkpoint that is restored when the steps begin; None: there is none.")
    steps_done = property(lambda self: self._fact("steps_done"), doc="Steps whose results are in the tracked state.")
    seed = property(lambda self: self._fact("seed"), doc="The run's seed: 0, unless it was given.")

    def _fact(self, name: str) -> int:
        return self._facts[name] if name in self._facts else getattr(self._core, name)

    def close(self) -> None:
        """Ends the session's threads. A run that is not complete goes on with the next start."""
        global _open_session
        if _open_session is not self or self._process != os.getpid():
            return
        _open_session = None
        with contextlib.suppress(RatoonError):
            self._facts = {name: getattr(self._core, name) for name in _FACTS}
        self._core.close()
        self._streams, self._own_generators = [], {}
        if not self._is_of_train:
            self._signals.give_back()

    def _explain(self, error: BaseException) -> None:
        """Ends the attempt if a change of the world explains the error: by SystemExit, and in train() by Interrupted."""
        self._leave_if_lost(error)
        _core.say(ending_of(error))

    def _leave_if_lost(self, error: BaseException) -> None:
        if self._is_of_train:
            self._core.check()
        if not getattr(error, "_ratoon_is_explained", False):
            self._core.explain(ending_of(error), may_be_loss=may_be_loss(error))
            with contextlib.suppress(AttributeError):
                error._ratoon_is_explained = True

    def _tell_of_swallowed(self, act: str) -> None:
        """Interrupted is raised again by the session itself, which cannot know that the program caught it by mistake."""
        if self._core.is_interrupted:
            _core.say(f"the training function caught ratoon.Interrupted and {act}: let it pass, by 'except Exception' instead of "
                      "'except BaseException', or by 'raise' at the end of the handler")

    @contextlib.contextmanager
    def _collective(self):
        """For calls that fail if another rank is lost."""
        with self.phase("collective"):
            try:
                yield
            except Exception as error:
                self._leave_if_lost(error)
                raise

    def _end_run_here(self, reason: str) -> bool:
        """step_done() of the last step of the run, which all ranks know to be that."""
        self.finish(reason)
        self._agree(_core.FINISH)
        return self._core.step_done()

    def _agree(self, decided: int = 0) -> None:
        """Exchanges the requests of all ranks, once a step. A program whose world may have several ranks does so in a
        world of one, too: a request takes effect in the same step in each world."""
        torch = sys.modules.get("torch")
        has_group = torch is not None and torch.distributed.is_available() and torch.distributed.is_initialized()
        if self._core.world_size == 1:
            if has_group or decided or self._has_coordinator:
                self._core.agree(self._core.requests() | decided, self._core.numbers())
            return None
        if not has_group:
            return self._core.agree_over_board()
        import ratoon.torch
        with self._collective():
            ratoon.torch.agree(self, decided)


_open_session: Session | None = None
_NO_BATCH = object()
_FACTS = ("attempt", "rank", "world_size", "local_rank", "local_size", "resumes_at", "steps_done", "seed")


def check_free() -> None:
    """Refuses a second session."""
    if _open_session is not None:
        raise RatoonError("this process has a Session already: close it first, by leaving its with statement")
    if threading.current_thread() is not threading.main_thread():
        raise RatoonError("a Session is made on the main thread: Python ignores SystemExit, by which it ends the process, "
                          "on other threads")


@atexit.register
def _close_open_session() -> None:
    if _open_session is not None:
        _open_session.close()
