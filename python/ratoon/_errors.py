"""The exceptions of the package."""


class RatoonError(Exception):
    """What went wrong, in a sentence that says what to do, and the exit code that a trainer would end with.

    82 is a mistake of the call or its surroundings, which the same call would meet again; 83 says that checkpoints
    are there and none is good; 84 that a disk or store refuses.

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

    def __str__(self) -> str:
        return self.args[0]


class Interrupted(BaseException):
    """The world changed: the function of ratoon.train() is left, and called again. Let it pass. `except Exception` does not
    catch it; a handler of BaseException ends with `raise`."""
