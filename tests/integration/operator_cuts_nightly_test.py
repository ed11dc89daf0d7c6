"""operator_cuts_test with every cut instead of a sample, and a minute without an API server."""

import os

os.environ["RATOON_WHOLE"] = "1"

from operator_cuts_test import Cuts, main  # noqa: E402

__all__ = ["Cuts"]

if __name__ == "__main__":
    main()
