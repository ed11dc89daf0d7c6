"""Prints the vectors of sample_random_test.cpp, from the papers: Philox4x32-10 (Salmon et al., SC 2011), splitmix64 (Steele
et al., OOPSLA 2014), and the rules of docs/formats/stream.md. Shares no code with Ratoon.

    python3 sample_random.py
"""
M32, M64 = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF


def philox(key, counter):
    for _ in range(10):
        p0, p1 = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [(p1 >> 32) ^ counter[1] ^ key[0], p1 & M32, (p0 >> 32) ^ counter[3] ^ key[1], p0 & M32]
        key = [(key[0] + 0x9E3779B9) & M32, (key[1] + 0xBB67AE85) & M32]
    return counter


def splitmix64(x):
    x = (x + 0x9E3779B97F4A7C15) & M64
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & M64
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & M64
    return x ^ (x >> 31)


def hash64(seed, text):
    data, value = text.encode(), splitmix64(seed)
    for start in range(0, len(data), 8):
        value = splitmix64(value ^ int.from_bytes(data[start:start + 8], "little"))
    return splitmix64(value ^ len(data))


def draws(seed, purpose, source, epoch, sample, count):
    key = splitmix64(hash64(hash64(hash64(seed, "ratoon sample 1"), purpose), source) ^ (epoch >> 32))
    words = []
    for block in range((2 * count + 3) // 4):
        words += philox([key & M32, key >> 32], [sample & M32, sample >> 32, epoch & M32, block])
    return [words[2 * i] | words[2 * i + 1] << 32 for i in range(count)]


for case in [(17, "augment", "digits", 0, 0), (17, "augment", "digits", 3, 59999), (17, "val", "digits", 3, 59999),
             (17, "augment", "web", 3, 59999), (2**64 - 1, "augment", "", 2**32 + 1, 2**61)]:
    print(case, [f"0x{word:016x}" for word in draws(*case, 3)])
