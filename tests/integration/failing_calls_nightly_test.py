"""failing_calls_test with fifty thousand draws, beyond those that are looked at by day."""

import os

os.environ.setdefault("RATOON_SEEDS", "50000")
os.environ.setdefault("RATOON_DRAWS_AT_ONCE", "96")

from failing_calls_test import FailingCalls  # noqa: E402

import unittest  # noqa: E402

__all__ = ["FailingCalls"]

if __name__ == "__main__":
    unittest.main()
