"""LossScaler does what torch.amp.GradScaler does, order for order: scales, gradients, steps that are left out and what is
refused, of random sequences with two optimizers and tied weights. The original runs beside a model of it where the peers'
environment is installed (scripts/bench --peers makes it); elsewhere the model runs alone."""
import os
import pathlib
import random
import subprocess
import unittest

import grad_scaler_model

PROBE = pathlib.Path(os.environ["RATOON_BUILD_DIR"]) / "bin" / "loss_scaler_probe"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "ratoon"
SEQUENCES = 1000
ORDERS = 40  # of a sequence


def find_original():
    """A Python that has torch, or nothing."""
    for stamp in sorted(CACHE.glob("peers-*/.ratoon-complete")):
        python = stamp.parent / "bin" / "python3"
        if subprocess.run([python, "-c", "import torch"], capture_output=True).returncode == 0:
            return python
    return None


def drawn_value(draw):
    if draw.random() < 0.06:
        return draw.choice(["inf", "-inf", "nan"])
    return repr(draw.choice([-1, 1]) * draw.random() * 2.0 ** draw.randrange(-30, 40))


def drawn_gradient(draw):
    parameter = draw.randrange(4)
    if draw.random() < 0.15:
        return f"none {parameter}"
    return f"grad {parameter} {drawn_value(draw)} {drawn_value(draw)}"


def drawn_steps(draw):
    """What a program does in a step, and in one sequence of two something that it should not."""
    orders = [drawn_gradient(draw) for _ in range(draw.randrange(1, 6))]
    orders.append(f"scale {drawn_value(draw)}")
    calls = [f"{call} {optimizer}" for optimizer in (0, 1) for call in ("unscale", "step") if draw.random() < 0.7]
    if draw.random() < 0.2:
        draw.shuffle(calls)
    orders += calls
    if draw.random() < 0.85:
        orders.append("update")
    if draw.random() < 0.2:
        orders.insert(draw.randrange(len(orders)), draw.choice(["unscale 0", "step 1", "update"]))
    return orders


def drawn_sequence(seed):
    draw = random.Random(seed)
    first = 2.0 ** draw.randrange(-20, 126) if draw.random() < 0.8 else draw.random() * 1000
    growth, backoff = draw.choice([(2, 0.5), (1.7, 0.3), (2.0, 0.9), (1.0001, 0.5)])
    yield f"new {first!r} {growth} {backoff} {draw.randrange(1, 5)}"
    count = 0
    while count < ORDERS:
        orders = drawn_steps(draw)
        count += len(orders)
        yield from orders


def compared(words):
    """Numbers by what they are, words as they are."""
    return [word if word in ("done", "refused", "-") else repr(float(word)) for word in map(str, words)]


def answers_of(program, lines):
    done = subprocess.run(program, input="\n".join(lines) + "\n", stdout=subprocess.PIPE, text=True, check=True)
    return [compared(line.split()) for line in done.stdout.splitlines()]


class LossScaler(unittest.TestCase):
    def test_does_what_grad_scaler_does(self):
        first = random.SystemRandom().randrange(1 << 40)
        lines = [line for i in range(SEQUENCES) for line in drawn_sequence(first + i)]
        expected = {"the model": [compared(answer) for answer in grad_scaler_model.answers(grad_scaler_model.Model, lines)]}
        original = find_original()
        if original:
            expected["torch.amp.GradScaler"] = answers_of([original, grad_scaler_model.__file__], lines)
        ours = answers_of([PROBE], lines)
        self.assertEqual(len(ours), len(lines))
        refused = sum(answer[0] == "refused" for answer in ours)
        for name, answers in expected.items():
            print(f"{len(lines)} orders in {SEQUENCES} sequences from seed {first} beside {name}, {refused} of them refused")
            begin = 0
            for i, line in enumerate(lines):
                begin = i if line.startswith("new") else begin
                if ours[i] != answers[i]:
                    orders = "\n  ".join(lines[begin:i + 1])
                    self.fail(f"after\n  {orders}\nLossScaler says {ours[i]}\n{name} says {answers[i]}")
        self.assertTrue(len(lines) / 100 < refused < len(lines) / 2, refused)


if __name__ == "__main__":
    unittest.main()
