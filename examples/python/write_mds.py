"""Writes the files that mds.py and plain_mds.py read, with MosaicML Streaming's own writer."""
import numpy
from streaming import MDSWriter

if __name__ == "__main__":
    draws = numpy.random.default_rng(1)
    centres = draws.standard_normal((10, 64), dtype=numpy.float32)
    columns = {"point": "ndarray:float32:64", "label": "int"}
    with MDSWriter(out="points", columns=columns, compression="zstd", hashes=["xxh64"], size_limit=1 << 17) as out:
        for label in draws.integers(10, size=4096):
            out.write({"point": centres[label] + 3 * draws.standard_normal(64, dtype=numpy.float32), "label": int(label)})
