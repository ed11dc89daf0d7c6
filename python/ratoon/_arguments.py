"""Arguments of a Session as the library reads them."""
import contextlib
import operator
import os

from ratoon._errors import RatoonError


def values_of(options: dict) -> dict[str, str]:
    """Options as the library reads them."""
    return {name: _text_of(name, value) for name, value in options.items() if value is not None}


def _text_of(name: str, value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(str(item) for item in value)
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    with contextlib.suppress(TypeError):
        return str(operator.index(value))
    raise RatoonError(f"{name} is a text, a number, a path, a list of these, or a bool, and not {type(value).__name__}")


def end_of(steps: int | str | None, epochs: int | None) -> str | None:
    if steps is not None and epochs is not None:
        raise RatoonError("a run ends after steps or after epochs: give one of them")
    if epochs is not None:
        return f"{epochs}ep"
    return steps if steps is None or isinstance(steps, str) else f"{operator.index(steps)}st"


def whole_numbers(numbers: tuple) -> list[int]:
    whole = []
    for number in numbers:
        try:
            whole.append(operator.index(number))
        except TypeError:
            raise RatoonError(f"sum(whole=True) takes whole numbers, and not {number!r}") from None
        if not -2**63 <= whole[-1] < 2**63:
            raise RatoonError(f"sum(whole=True) takes numbers from -2**63 to 2**63 - 1, and not {number}")
    return whole
