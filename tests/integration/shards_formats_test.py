"""A second program, written from docs/reference alone, says what the shards example consumes: which sample in which slot, what
augmentation draws for it, and the digests at the end."""

import hashlib
import json
import pathlib
import sys
import unittest

from shards_run import Life, Shards

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "unit" / "agent" / "data" / "order" / "vectors"))
from sample_random_vectors import SampleRandom  # noqa: E402
from stream_vectors import Stream, mix, options, source, text_hash  # noqa: E402


class Formats(Shards):
    def read_data(self):
        """(name of the source, samples of each shard, [(image, label)])"""
        index = json.loads((self.data / "index.json").read_text())["shards"]
        text, rows = "ratoon mds 1\n", []
        for name, encoding in (("image", "ndarray:uint8:16,16"), ("label", "int")):
            text += f"column\n{len(name)}:{name}\n{len(encoding)}:{encoding}\n"
        for shard in index:
            text += f"shard {shard['samples']} {shard['raw_data']['bytes']}\n"
            text += "".join(f"{name} {value}\n" for name, value in sorted(shard["raw_data"]["hashes"].items()))
            data = (self.data / shard["raw_data"]["basename"]).read_bytes()
            for i in range(shard["samples"]):
                at = int.from_bytes(data[4 + 4 * i:8 + 4 * i], "little")
                rows.append((data[at:at + 256], data[at + 256:at + 264]))
        return hashlib.sha256(text.encode()).hexdigest(), [shard["samples"] for shard in index], rows

    @staticmethod
    def augmented(image, chance):
        is_mirrored, brighter = chance.below(2) == 1, chance.below(33) - 16
        lines = [image[start:start + 16] for start in range(0, 256, 16)]
        pixels = b"".join(line[::-1] if is_mirrored else line for line in lines)
        return bytes(min(max(pixel + brighter, 0), 255) for pixel in pixels)

    def test_what_is_consumed_can_be_computed_elsewhere(self):
        name, shards, rows = self.read_data()
        stream = Stream(options([source(name, 1000, shards=shards)], 7, 17, "blocks-1", 16))
        [life], model = Life.of(self.unbroken), 0
        for step, listed in enumerate(life.steps):
            for place, shown in enumerate(listed):
                _, epoch, _, sample = stream.slot(7 * step + place)
                chance = SampleRandom(17, "augment", name, epoch, sample)
                digest = text_hash(text_hash(0, self.augmented(rows[sample][0], chance)), rows[sample][1])
                self.assertEqual(shown, f"{sample}:{digest >> 32:08x}", f"step {step}")
                model = mix(model, digest)
        stream.advance(len(life.steps))
        self.assertEqual(life.done, (str(len(life.steps)), str(stream.cursor), f"{stream.digest:016x}", f"{model:016x}"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
