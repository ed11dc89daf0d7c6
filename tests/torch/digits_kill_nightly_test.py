"""digits_kill_test with 1,000 kills instead of 40."""
import os
import unittest

os.environ["RATOON_KILLS"] = os.environ.get("RATOON_KILLS", "1000")

from digits_kill_test import Kills  # noqa: E402

__all__ = ["Kills"]

if __name__ == "__main__":
    unittest.main()
