#!/usr/bin/env python3
"""A second implementation of docs/reference/stream.md, written from its text, and the vectors that it computes.

  stream_vectors.py > stream_vectors.json

It is slow and plain on purpose: batches are walked one by one, a window of shards is laid out sample by sample.
vectors_test.cpp compares the library with the numbers, vectors_test.py the numbers with this program.
"""
import json
import math

WORD = (1 << 64) - 1
BLOCK = 65536


def splitmix64(x):
    x = (x + 0x9E3779B97F4A7C15) & WORD
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & WORD
    return x ^ (x >> 31)


def mix(h, word):
    return splitmix64(h ^ word)


def text_hash(seed, text):
    data = text if isinstance(text, bytes) else text.encode()
    h = splitmix64(seed)
    for start in range(0, len(data), 8):
        h = mix(h, int.from_bytes(data[start:start + 8], "little"))
    return mix(h, len(data))


def as_text(body):
    return json.dumps(body, sort_keys=True, separators=(",", ":"))


def high(x, radix):
    return (x * radix) >> 64


def permutation(n, key, place):
    a = math.isqrt(n - 1) + 1
    b = -(-n // a)
    rounds = 24 if n < 65536 else 12
    value = place
    while True:
        upper, lower = divmod(value, a)
        for i in range(rounds):
            round_key = mix(key, i)
            if i % 2 == 0:
                lower = (lower + high(splitmix64(upper ^ round_key), a)) % a
            else:
                upper = (upper + high(splitmix64(lower ^ round_key), b)) % b
        value = upper * a + lower
        if value < n:
            return value


def blocks(shards, window, key, place):
    first_samples = [sum(shards[:i]) for i in range(len(shards))]
    order = [permutation(len(shards), text_hash(key, "shards"), i) for i in range(len(shards))]
    for v in range(0, len(shards), window):
        laid = [first_samples[s] + i for s in order[v:v + window] for i in range(shards[s])]
        if place < len(laid):
            return laid[permutation(len(laid), mix(text_hash(key, "window"), v // window), place)]
        place -= len(laid)
    raise IndexError


class Stream:
    def __init__(self, options):
        self.options = options
        self.sources = options["sources"]
        self.seed = options["seed"]
        self.segments = [{"batch": 0, "from": 0, "global_batch": options["global_batch"], "start": 0}]
        self.cursor = self.batches = self.digest = self.asked = 0
        weights = [source["weight"] for source in self.sources]
        self.mixtures = [(0, weights, [0] * len(weights))]  # origin, weights, draws before
        self.cached = {}

    def block(self, origin, weights, number):
        start = origin + number * BLOCK
        if (start, tuple(weights)) not in self.cached:
            entries = [i for i, weight in enumerate(weights) for _ in range(weight)]
            key = mix(text_hash(self.seed, "ratoon mixture 1"), start)
            for j in range(BLOCK - 1, 0, -1):
                k = high(mix(key, j), j + 1)
                entries[j], entries[k] = entries[k], entries[j]
            self.cached[start, tuple(weights)] = entries
        return self.cached[start, tuple(weights)]

    def draws_before(self, slot, mixture):
        """How often each source was drawn before a slot of a mixture, and from which one it draws."""
        origin, weights, base = mixture
        number, index = divmod(slot - origin, BLOCK)
        entries = self.block(origin, weights, number)
        draws = [base[i] + number * weights[i] for i in range(len(weights))]
        for entry in entries[:index]:
            draws[entry] += 1
        return draws, entries[index]

    def slot(self, number):
        if len(self.sources) == 1:
            source, draw = 0, number
        else:
            mixture = [m for m in self.mixtures if m[0] <= number][-1]
            draws, source = self.draws_before(number, mixture)
            draw = draws[source]
        of = self.sources[source]
        epoch, place = divmod(draw, of["samples"])
        key = mix(text_hash(text_hash(self.seed, "ratoon permutation 1"), of["name"]), epoch)
        if self.options["order"] == "feistel-1":
            sample = permutation(of["samples"], key, place)
        elif self.options["order"] == "blocks-1":
            sample = blocks(of["shards"], self.options["window_shards"], key, place)
        else:
            sample = place
        return [number, epoch, source, sample]

    def change_segment(self):
        """Settles the last segment's start anew."""
        segment = self.segments[-1]
        segment.pop("asked", None)
        segment["start"] = self.settled(self.asked)
        usual = segment["from"] if self.settled(segment["from"]) == segment["start"] else segment["start"]
        if self.asked != usual:
            segment["asked"] = self.asked
        self.cursor = segment["start"]

    def settled(self, slot):
        samples = self.sources[0]["samples"]
        left = samples - slot % samples
        return slot + left if self.options["epoch_end"] == "drop" and left < self.batch_size() else slot

    def batch_size(self):
        return self.segments[-1]["global_batch"]

    def advance(self, batches):
        samples = self.sources[0]["samples"]
        for _ in range(batches):
            end = self.cursor + self.batch_size()
            if self.options["epoch_end"] == "short":
                end = min(end, self.cursor - self.cursor % samples + samples)
            for number in range(self.cursor, end):
                _, _, source, sample = self.slot(number)
                self.digest = mix(self.digest, sample ^ ((source * 0x9E3779B97F4A7C15) & WORD))
            self.cursor = self.settled(end)
            self.batches += 1

    def segment(self):
        """The segment that a change is written to."""
        if self.segments[-1]["batch"] != self.batches:
            self.segments.append({"batch": self.batches, "from": self.cursor,
                                  "global_batch": self.batch_size(), "start": self.cursor})
            self.asked = self.cursor
        return self.segments[-1]

    def change_global_batch(self, size):
        self.segment()["global_batch"] = size
        self.change_segment()
        if len(self.segments) == 1:
            self.segments[0]["from"] = self.cursor
        elif self.asked == self.cursor == self.segments[-1]["from"] and size == self.segments[-2]["global_batch"] \
                and "weights" not in self.segments[-1]:
            self.segments.pop()

    def change_weights(self, weights):
        segment = self.segment()
        segment["weights"] = weights
        draws, _ = self.draws_before(segment["start"], self.mixtures[-1])
        self.mixtures.append((segment["start"], weights, draws))

    def skip_to(self, slot):
        self.segments.append({"batch": self.batches, "from": self.cursor,
                              "global_batch": self.batch_size(), "start": slot})
        self.asked = slot
        self.change_segment()

    def state(self):
        digest = 0
        for source in self.sources:
            shards = source["shards"] if self.options["order"] == "blocks-1" else []
            digest = mix(text_hash(digest, source["name"]), source["samples"])
            digest = mix(digest, len(shards))
            for i in range(len(shards)):
                digest = mix(digest, sum(shards[:i]))
        body = {
            "batches": self.batches, "cursor": self.cursor, "digest": f"{self.digest:016x}", "format": 2,
            "order": self.options["order"], "epoch_end": self.options["epoch_end"], "seed": self.seed,
            "global_batch": self.options["global_batch"], "segments": self.segments,
            "sources": {"digest": f"{digest:016x}", "names": [s["name"] for s in self.sources],
                        "samples": [s["samples"] for s in self.sources],
                        "weights": [s["weight"] for s in self.sources]}}
        if self.options["order"] == "blocks-1":
            body["window_shards"] = self.options["window_shards"]
        body["state_digest"] = f"{text_hash(0, as_text(body)):016x}"
        return as_text(body)


def source(name, samples, weight=BLOCK, shards=()):
    return {"name": name, "samples": samples, "weight": weight, "shards": list(shards)}


def options(sources, global_batch=4, seed=0, order="feistel-1", window_shards=0, epoch_end="carry"):
    return {"sources": sources, "global_batch": global_batch, "seed": seed, "order": order,
            "window_shards": window_shards, "epoch_end": epoch_end}


MIX = [source("web", 1000003, 32768), source("books", 300, 19661), source("code", 70000, 13107)]
SHARDS = [7, 0, 12, 1, 30, 5, 5, 64, 2, 9]
MANY_SHARDS = [100 + 37 * i % 50 for i in range(300)]

# What the stream is made of, what is done to it, and which slots to look at afterwards.
CASES = [
    (options([source("", 10)]), [("advance", 6)], range(30)),
    (options([source("digits", 60000)], 96, 17), [("advance", 3)], [0, 59999, 60000, 10**9, 2**62 - 1]),
    (options([source("x", 65535)], 5, 2**64 - 1), [("advance", 2)], [0, 65534, 65535, 10**12]),
    (options([source("x", 65536)], 5, 1), [("advance", 2)], [0, 65535, 65536, 10**12]),
    (options([source("all", 2**62)], 3, 42), [("advance", 1)], [0, 1, 2**61, 2**62 - 1]),
    (options([source("in order", 5)], 4, 3, "in-order-1"), [("advance", 3)], range(12)),
    (options([source("s", 10)], 4, 1, epoch_end="short"), [("advance", 7)], range(25)),
    (options([source("s", 10)], 4, 1, epoch_end="drop"), [("advance", 5), ("change_global_batch", 3), ("advance", 4)], []),
    (options([source("s", 100)], 10, 2, epoch_end="drop"),
     [("advance", 9), ("change_global_batch", 30), ("change_global_batch", 4), ("advance", 2), ("change_global_batch", 9),
      ("change_global_batch", 4), ("skip_to", 198), ("change_global_batch", 20), ("change_global_batch", 2),
      ("advance", 3), ("skip_to", 295), ("change_global_batch", 6)], []),
    (options([source("s", 1000)], 10, 2), [("advance", 7), ("change_global_batch", 64), ("advance", 2),
                                          ("skip_to", 950), ("advance", 3)], []),
    (options([source("b", sum(SHARDS), shards=SHARDS)], 7, 9, "blocks-1", 3), [("advance", 40)], range(0, 300, 3)),
    (options([source("b", sum(SHARDS), shards=SHARDS)], 7, 9, "blocks-1", 1), [("advance", 4)], range(0, 300, 7)),
    (options([source("b", sum(MANY_SHARDS), shards=MANY_SHARDS)], 7, 9, "blocks-1", 16), [("advance", 2)],
     [0, 1, sum(MANY_SHARDS) - 1, 5 * 10**9]),
    (options(MIX, 64, 3), [("advance", 4)], [*range(40), 65535, 65536, 10 * BLOCK + 17, 10**12]),
    (options(MIX, 64, 3), [("advance", 4), ("change_weights", [0, 16384, 49152]), ("advance", 3), ("skip_to", 700),
                           ("advance", 2), ("change_weights", [21846, 21845, 21845]), ("advance", 3)],
     [0, 255, 256, 447, 448, 600, 700, 827, 828, 10**6]),
    (options(MIX, 64, 3), [("advance", 4), ("skip_to", 400), ("change_weights", [16384, 49152, 0]), ("advance", 5),
                           ("change_weights", [65534, 1, 1]), ("skip_to", 1000), ("advance", 2)],
     [255, 256, 399, 400, 719, 720, 999, 1000, 1127, 10**6]),
    (options([source("a", 50, 65536), source("never", 8, 0)], 9, 5), [("advance", 8)], range(60)),
    (options([source("b", sum(SHARDS), 60000, SHARDS), source("c", 9, 5536, [4, 5])], 20, 9, "blocks-1", 2),
     [("advance", 10)], range(0, 400, 11)),
]


def vectors():
    found = []
    for case, changes, slots in CASES:
        stream = Stream(case)
        for name, argument in changes:
            getattr(stream, name)(argument)
        found.append({"options": case, "changes": changes, "state": stream.state(),
                      "slots": [stream.slot(number) for number in slots]})
    return found


if __name__ == "__main__":
    print("[" + ",\n".join(json.dumps(vector) for vector in vectors()) + "]")
