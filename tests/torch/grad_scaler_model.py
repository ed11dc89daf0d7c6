"""torch.amp.GradScaler as its documentation and source describe it (PyTorch 2.11), over lists of numbers, and the original
behind the same orders. Run as a program it answers as loss_scaler_probe does, with the original, where torch is installed."""
import math
import struct
import sys

TYPES = ("float32", "bfloat16", "float64", "float32")  # of the parameters
PARAMETERS = ((0, 1), (2, 3))  # of each optimizer


def rounded(kind, value):
    """The nearest number of the type; ties go to the even one."""
    if kind == "float64" or math.isnan(value) or math.isinf(value):
        return value
    try:
        bits = struct.unpack("<I", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    if kind == "bfloat16":
        bits = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000
    return struct.unpack("<f", struct.pack("<I", bits))[0]




class Refused(Exception):
    pass


class Model:
    """READY, UNSCALED and STEPPED are GradScaler's stages; `found` is what its checks for infinities recorded."""

    def __init__(self, first, growth, backoff, interval):
        self.scale_now = rounded("float32", first)
        self.growth, self.backoff, self.interval = growth, backoff, interval
        self.tracker = 0
        self.gradients = [None] * len(TYPES)
        self.steps = [0, 0]
        self.clear()

    def clear(self):
        self.stages = ["READY", "READY"]
        self.found = [None, None]

    def set_gradient(self, parameter, values):
        self.gradients[parameter] = values and [rounded(TYPES[parameter], value) for value in values]

    def scale(self, value):
        return rounded("float32", rounded("float32", value) * self.scale_now)

    def unscale(self, optimizer):
        if self.stages[optimizer] != "READY":
            raise Refused
        self.stages[optimizer] = "UNSCALED"
        inverse = rounded("float32", 1 / self.scale_now) if self.scale_now else math.inf
        for parameter in PARAMETERS[optimizer]:
            if self.gradients[parameter] is None:
                continue
            values = self.gradients[parameter]
            is_bad = not all(math.isfinite(value) for value in values)
            self.found[optimizer] = bool(self.found[optimizer]) or is_bad
            kind = TYPES[parameter]
            products = [rounded("float32" if kind != "float64" else kind, value * inverse) for value in values]
            self.gradients[parameter] = [rounded(kind, value) for value in products]

    def step(self, optimizer):
        if self.stages[optimizer] == "STEPPED":
            raise Refused
        if self.stages[optimizer] == "READY":
            self.unscale(optimizer)
        if self.found[optimizer] is None:
            raise Refused
        self.steps[optimizer] += not self.found[optimizer]
        self.stages[optimizer] = "STEPPED"
        return float(not self.found[optimizer])

    def update(self):
        found = [each for each in self.found if each is not None]
        if not found:
            raise Refused
        if any(found):
            self.scale_now = rounded("float32", self.scale_now * self.backoff)
            self.tracker = 0
        else:
            self.tracker += 1
            if self.tracker == self.interval:
                larger = rounded("float32", self.scale_now * self.growth)
                self.scale_now = larger if math.isfinite(larger) else self.scale_now
                self.tracker = 0
        self.clear()


class Original:
    """The same over torch.amp.GradScaler."""

    def __init__(self, first, growth, backoff, interval):
        import torch  # pylint: disable=import-outside-toplevel

        class Counter(torch.optim.Optimizer):
            steps = 0

            def step(self):  # pylint: disable=arguments-differ
                self.steps += 1

        self.torch = torch
        self.parameters = [torch.zeros(2, dtype=getattr(torch, kind)).requires_grad_() for kind in TYPES]
        self.optimizers = [Counter([self.parameters[i] for i in own], {}) for own in PARAMETERS]
        self.scaler = torch.amp.GradScaler("cpu", first, growth, backoff, interval)
        self.scaler.scale(torch.zeros(1))  # it makes its scale when it is asked for the first time

    def guarded(self, act, *arguments):
        try:
            return act(*arguments)
        except (RuntimeError, AssertionError):
            raise Refused from None

    @property
    def scale_now(self):
        return self.scaler.get_scale()

    @property
    def steps(self):
        return [optimizer.steps for optimizer in self.optimizers]

    @property
    def gradients(self):
        return [p.grad if p.grad is None else p.grad.double().tolist() for p in self.parameters]

    def set_gradient(self, parameter, values):
        to = self.parameters[parameter]
        to.grad = values and self.torch.tensor(values, dtype=self.torch.float64).to(to.dtype)

    def scale(self, value):
        return self.scaler.scale(self.torch.tensor([value], dtype=self.torch.float32)).item()

    def unscale(self, optimizer):
        self.guarded(self.scaler.unscale_, self.optimizers[optimizer])

    def step(self, optimizer):
        before = self.optimizers[optimizer].steps
        self.guarded(self.scaler.step, self.optimizers[optimizer])
        return float(self.optimizers[optimizer].steps - before)

    def update(self):
        self.guarded(self.scaler.update)


def act(scaler, words):
    order = words[0]
    if order == "grad":
        return scaler.set_gradient(int(words[1]), [float(word) for word in words[2:]])
    if order == "none":
        return scaler.set_gradient(int(words[1]), None)
    if order == "scale":
        return scaler.scale(float(words[1]))
    if order == "update":
        return scaler.update()
    return getattr(scaler, order)(int(words[1]))


def answers(kind, lines):
    """One list of words a line, as the probe prints them."""
    scaler = None
    for line in lines:
        words = line.split()
        outcome, number = "done", 0.0
        if words[0] == "new":
            scaler = kind(*map(float, words[1:4]), int(words[4]))
        else:
            try:
                number = act(scaler, words) or 0.0
            except Refused:
                outcome = "refused"
        gradients = [value for each in scaler.gradients for value in (each or ["-", "-"])]
        yield [outcome, number, scaler.scale_now, *scaler.steps, *gradients]


if __name__ == "__main__":
    for answer in answers(Original, sys.stdin.read().splitlines()):
        print(*answer)
