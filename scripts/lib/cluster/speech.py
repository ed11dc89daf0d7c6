"""How the commands speak: progress on standard output, one sentence with what to do next on standard error."""
import sys
import time

BEGAN = time.monotonic()


class Stop(Exception):
    """Ends the command with the fault, the next command, and the exit code."""

    def __init__(self, sentence, next_step, code=1):
        super().__init__(f"{sentence}. Next: {next_step}")
        self.code = code


def say(text):
    try:
        print(f"cluster: {text}", flush=True)
    except BrokenPipeError:
        pass  # the reader of the progress is gone: that is no reason to leave a cluster half made


def say_timed(text):
    say(f"{text}, after {time.monotonic() - BEGAN:.1f} s")


def complain(text):
    print(f"cluster: {text}", file=sys.stderr, flush=True)
