"""raw_buffers_test with 100 disturbances."""

import os
import unittest

os.environ["RATOON_DISTURBANCES"] = os.environ.get("RATOON_DISTURBANCES", "100")

from raw_buffers_test import RawBuffers  # noqa: E402

__all__ = ["RawBuffers"]

if __name__ == "__main__":
    unittest.main()
