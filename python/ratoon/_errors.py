"""The exceptions of the package, and how a process ends after one that no code catches."""
import sys
import traceback


class RatoonError(Exception):
    """What went wrong, in a sentence that says what to do, and the exit code that a trainer would end with.

    82 is a mistake of the call or its surroundings, which the same call would meet again; 83 says that checkpoints
    are there and none is good; 84 that a disk or store refuses. The process ends with this code if the program does not
    catch the error.

    >>> import ratoon
    >>> try:
    ...     ratoon.Stream(samples=0, global_batch=4)
    ... except ratoon.RatoonError as error:
    ...     print(error.exit_code)
    82
    """

    def __init__(self, sentence: str, exit_code: int = 82):
        super().__init__(sentence, exit_code)
        self.exit_code = exit_code
        if not isinstance(sys.excepthook, _ExitHook):
            sys.excepthook = _ExitHook(sys.excepthook)

    def __str__(self) -> str:
        return self.args[0]


class Interrupted(BaseException):
    """The world changed: the function of ratoon.train() is left, and called again. Let it pass. `except Exception` does not
    catch it; a handler of BaseException ends with `raise`."""


class _ExitHook:
    """A sys.excepthook that shows an error as the replaced hook does. If the error is a RatoonError and leaves the program
    uncaught, the process ends with the exit code of the error; Python alone would end it with 1.

    A RatoonError installs the hook when it is made. A program may install another hook after the import of the package, and
    torch.distributed.init_process_group() does. A program without a RatoonError keeps its own hook.
    """

    def __init__(self, replaced):
        self._replaced = replaced

    def __call__(self, kind, error, trace) -> None:
        self._replaced(kind, error, trace)
        if isinstance(error, RatoonError) and self._ends_process(error):
            _release_variables(error)
            raise SystemExit(error.exit_code if error.exit_code & 0xFF else 1)  # the system reports the lowest byte alone

    def _ends_process(self, error: RatoonError) -> bool:
        """Whether the interpreter itself called this hook, and ends next. A program may show a caught error by the hook and
        go on, and an interactive interpreter goes on. Another hook that calls this one may have more to do."""
        is_interactive = hasattr(sys, "ps1") or bool(sys.flags.inspect)
        return sys.excepthook is self and getattr(sys, "last_value", None) is error and not is_interactive


def _release_variables(error: RatoonError) -> None:
    """The interpreter ends within its call of the hook and never releases the error. Without this function, the variables in
    the frames of the error would stay, too, and bytes that are still in the buffer of an open file would be lost."""
    traceback.clear_frames(error.__traceback__)
    if error.__traceback__ is not None:
        error.__traceback__.tb_next = None
    error.__cause__ = error.__context__ = None
    # The outermost frame keeps the program's global variables. At its end, the interpreter clears those of modules that exist.
    error._main = sys.modules.get("__main__")
