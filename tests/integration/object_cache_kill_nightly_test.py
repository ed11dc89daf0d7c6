"""object_cache_kill_test with 1,000 kills instead of 50."""

import os
import sys
import unittest

os.environ["RATOON_KILLS"] = os.environ.get("RATOON_KILLS", "1000")

from object_cache_kill_test import SharedCache, missing_programs  # noqa: E402

__all__ = ["SharedCache"]

if __name__ == "__main__":
    if missing := missing_programs():
        print(f"SKIPPED: {', '.join(missing)} not found; scripts/setup --only test builds them (needs Go 1.25)")
        sys.exit(77)
    unittest.main()
