"""failing_calls_test with fifty thousand draws, beyond those that are looked at by day: each part makes its share of them."""

import os

from failing_calls import first_seed

DRAWS = 50_000
SHARE = DRAWS // int(os.environ.get("RATOON_PARTS", 1))

os.environ.setdefault("RATOON_FIRST_SEED", str(first_seed() + SHARE * int(os.environ.get("RATOON_PART", 0))))
os.environ.setdefault("RATOON_SEEDS", str(SHARE))
os.environ.setdefault("RATOON_DRAWS_AT_ONCE", "96")

from failing_calls_test import FailingCalls  # noqa: E402

import unittest  # noqa: E402

__all__ = ["FailingCalls"]

if __name__ == "__main__":
    unittest.main()
