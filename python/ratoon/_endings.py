"""What ends an attempt from outside: signals, and errors that come of a lost rank."""
import os
import signal

__all__ = ["TakenSignals", "ending_of", "may_be_loss"]


class TakenSignals:
    """Python's own handler of Ctrl-C would raise KeyboardInterrupt within a step; the session saves the step and leaves
    instead."""

    def __init__(self, values: dict[str, str]):
        self._interrupt = None
        self.are_taken = os.environ.get("RATOON_SIGNALS", values.get("signals")) != "false"
        if self.are_taken and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._interrupt = signal.signal(signal.SIGINT, signal.SIG_DFL)

    def give_back(self) -> None:
        if self._interrupt is not None:
            signal.signal(signal.SIGINT, self._interrupt)


def ending_of(error: BaseException) -> str:
    return f"the program threw {type(error).__name__}: {error}".rstrip(": ")


def may_be_loss(error: BaseException | None) -> bool:
    """Whether an exception may come of a peer or a worker that is gone."""
    seen = set()  # causes may form a circle
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if isinstance(error, (ConnectionError, TimeoutError)) or type(error).__name__.startswith("Dist"):
            return True
        text = str(error).lower()
        if isinstance(error, RuntimeError) and any(word in text for word in _WORDS_OF_COLLECTIVES):
            return True
        error = error.__cause__ or error.__context__
    return False


_WORDS_OF_COLLECTIVES = ("gloo", "nccl", "connection", "peer", "socket", "store", "timed out", "broken pipe",
                         "dataloader worker")
