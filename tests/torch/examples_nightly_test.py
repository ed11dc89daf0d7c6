"""examples_test with 100 disturbances of each example."""
import os
import unittest

os.environ["RATOON_DISTURBANCES"] = os.environ.get("RATOON_DISTURBANCES", "100")

from examples_test import Examples  # noqa: E402

__all__ = ["Examples"]

if __name__ == "__main__":
    unittest.main()
