"""training_test with twenty trials of each loss: so many are a measurement, and each has its goal in seconds."""

import os

os.environ.setdefault("RATOON_TRIALS", "20")
os.environ.setdefault("RATOON_STEPS", "2700")

import sys  # noqa: E402
import unittest  # noqa: E402

import lab as laboratory  # noqa: E402
from training_test import Training  # noqa: E402

__all__ = ["Training"]

if __name__ == "__main__":
    if missing := laboratory.what_is_missing():
        print(f"SKIPPED: {missing}")
        sys.exit(77)
    unittest.main(failfast=True)
