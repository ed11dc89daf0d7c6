#!/usr/bin/env python3
"""A second implementation of the random numbers of a sample, written from docs/reference/stream.md, and the vectors that it
computes.

  sample_random_vectors.py > sample_random_vectors.json

sample_random_test.cpp compares the library with the numbers, vectors_test.py the numbers with this program.
"""
import json

from stream_vectors import mix, text_hash

WORD32 = (1 << 32) - 1


def philox(key, counter):
    """Philox4x32-10 of Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3" (SC 2011)."""
    k0, k1 = key
    c0, c1, c2, c3 = counter
    for _ in range(10):
        first, second = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (second >> 32) ^ c1 ^ k0, second & WORD32, (first >> 32) ^ c3 ^ k1, first & WORD32
        k0, k1 = (k0 + 0x9E3779B9) & WORD32, (k1 + 0xBB67AE85) & WORD32
    return c0, c1, c2, c3


class SampleRandom:
    def __init__(self, seed, purpose, source, epoch, sample):
        self.key = mix(text_hash(text_hash(text_hash(seed, "ratoon sample 1"), purpose), source), epoch >> 32)
        self.epoch, self.sample, self.taken = epoch, sample, 0

    def word(self):
        counter = (self.sample & WORD32, self.sample >> 32, self.epoch & WORD32, self.taken // 4)
        word = philox((self.key & WORD32, self.key >> 32), counter)[self.taken % 4]
        self.taken += 1
        return word

    def number(self):
        low = self.word()
        return low | self.word() << 32

    def below(self, n):
        while True:
            product = self.number() * n
            if product % 2**64 >= 2**64 % n:
                return product >> 64

    def unit(self):
        return (self.number() >> 11) / 2**53


# What is drawn, one after the other: words of 32 bits, numbers of 64, numbers below n, numbers in [0, 1).
PLAIN = [["number", None]] * 3
MIXED = [["word", None], ["number", None], ["below", 10], ["unit", None], ["word", None], ["below", 1],
         ["below", 6_000_000_000], ["unit", None], ["number", None], ["word", None]]
REFUSED = [["below", 2**63 + 1]] * 12 + [["below", 3 * 2**62]] * 6  # every second number, or fourth, is drawn again

# Seed, purpose, source, epoch of the source, sample.
CASES = [
    ((17, "augment", "digits", 0, 0), PLAIN),
    ((17, "augment", "digits", 3, 59999), PLAIN),
    ((17, "val", "digits", 3, 59999), PLAIN),
    ((17, "augment", "web", 3, 59999), PLAIN),
    ((2**64 - 1, "augment", "", 2**32 + 1, 2**61), PLAIN),
    ((0, "", "", 2**62 // 3, 2), PLAIN),
    ((5, "a purpose of more than eight bytes", "größe", 2**32 - 1, 2**32), MIXED),
    ((17, "augment", "digits", 1, 7), MIXED * 3),
    ((1, "augment", "digits", 1, 7), REFUSED),
]


def vectors():
    found = []
    for case, draws in CASES:
        random = SampleRandom(*case)
        drawn = [getattr(random, kind)(*([n] if n else [])) for kind, n in draws]
        found.append({"of": case, "draws": draws, "drawn": drawn, "words": random.taken})
    return found


if __name__ == "__main__":
    print("[" + ",\n".join(json.dumps(vector) for vector in vectors()) + "]")
