"""object_cache_kill_test with 1,000 kills instead of 50."""

import os

os.environ["RATOON_KILLS"] = os.environ.get("RATOON_KILLS", "1000")

from object_cache_kill_test import SharedCache  # noqa: E402
from s3_server import run_tests  # noqa: E402

__all__ = ["SharedCache"]

if __name__ == "__main__":
    run_tests()
