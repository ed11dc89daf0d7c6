"""train(): a training function that is called again in the same process when the world changes."""
import gc
import os
import sys
import traceback
from collections.abc import Callable

from ratoon import _core, _generators
from ratoon._arguments import values_of
from ratoon._endings import TakenSignals
from ratoon._errors import Interrupted, RatoonError
from ratoon._session import Session, check_free

__all__ = ["train"]


def train(function: Callable[[Session], object], **options) -> None:
    """Calls `function` with a Session, again after each change of the world, and completes the run when it returns.

    >>> import tempfile, ratoon
    >>> def add(session):
    ...     state = {"sum": 0}
    ...     session.track(state=state)
    ...     for step in session.steps(10):
    ...         state["sum"] += step
    ...     print(state["sum"])
    >>> ratoon.train(add, save_folder=tempfile.mkdtemp(), run_name="add")
    45

    When another process of the job is lost, replaced or told to leave, ratoon.Interrupted leaves the function at its call
    of the session, for example at the next step. What is tracked is put back to the newest checkpoint, and the function is
    called again, in the same process and with all that is imported. Let ratoon.Interrupted pass; `except Exception` does
    not catch it.
    """
    check_free()
    values = values_of(options)
    signals = TakenSignals(values)
    try:
        attempts = _Attempts(function, signals)
        code = _core.train(values, attempts.make)
    finally:
        signals.give_back()
    if code:
        raise SystemExit(code)
    attempts.raise_what_ended()


class _Attempts:
    """The calls of one training function."""

    def __init__(self, function: Callable[[Session], object], signals: TakenSignals):
        self._function, self._signals = function, signals
        self._first_draws = _generators.FirstDraws()
        self._process = os.getpid()
        self._is_first = True
        self._of_program: BaseException | None = None

    def make(self, core: "_core.Session") -> BaseException | None:
        """Makes one attempt. Returns the exception that ended it: one of Ratoon's, or the program's own."""
        self._of_program = None
        # An attempt whose function returned has left its group. Before the first attempt, a group is the program's own.
        refusal = None if self._is_first else _leave_process_group()
        self._is_first = False
        if refusal is not None:
            return refusal
        session = Session._of_train(core, self._signals, self._first_draws)
        try:
            ended = self._call(session)
            if isinstance(ended, SystemExit) and ended.code in (None, 0):
                self._of_program, ended = ended, None  # counts as a return: the session knows whether the run is at its end
            if ended is None:
                session._tell_of_swallowed("returned")
                return None
        finally:
            _end_watch()
            session.close()
        if isinstance(ended, RatoonError):
            return ended
        if not isinstance(ended, Interrupted):
            self._of_program = ended
            return ended
        _clear_frames(ended)
        gc.collect()
        return _leave_process_group() or ended

    def _call(self, session: Session) -> BaseException | None:
        ended = None
        try:
            self._function(session)
        except BaseException as error:
            ended = error
        if os.getpid() != self._process:
            _end_forked_child(ended)
        if ended is None or isinstance(ended, (Interrupted, RatoonError, SystemExit)):
            return ended
        try:
            session._explain(ended)
        except (Interrupted, RatoonError) as error:
            error.__context__ = ended  # its frames hold objects of the attempt, too
            return error
        return ended

    def raise_what_ended(self) -> None:
        if self._of_program is not None:
            raise self._of_program


def _clear_frames(error: BaseException) -> None:
    """Frees what the functions that an exception left still refer to: networks, loaders with their workers, and groups."""
    pending, seen = [error], set()
    while pending:
        one = pending.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        traceback.clear_frames(one.__traceback__)
        one.__traceback__ = None
        pending += [one.__cause__, one.__context__, *getattr(one, "exceptions", ())]
        one.__cause__ = one.__context__ = None


def _end_watch() -> None:
    if (group := sys.modules.get("ratoon._process_group")) is not None:
        group.end_watch()


def _leave_process_group() -> RatoonError | None:
    """Ends what an attempt has left of torch.distributed. Returns why this process cannot go on, if it cannot."""
    if (torch := sys.modules.get("torch")) is None:
        return None
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.empty_cache()
    if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
        return None
    import ratoon._process_group
    return ratoon._process_group.leave()


def _end_forked_child(ended: BaseException | None) -> None:
    """A process that the function forked has none of the session's threads, and cannot unwind as its parent would."""
    if ended is None:
        return  # the session says what is wrong, and ends the process
    code = 1
    if isinstance(ended, RatoonError) and ended.exit_code & 0xFF:  # the system reports the lowest byte alone
        code = ended.exit_code
    if isinstance(ended, SystemExit):
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    else:
        traceback.print_exception(ended)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)
