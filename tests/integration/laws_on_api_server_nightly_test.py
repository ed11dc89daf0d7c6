"""laws_on_api_server_test with a thousand worlds, beyond those that are looked at by day."""

import os

os.environ["RATOON_SEEDS"] = "1000"
os.environ.setdefault("RATOON_FIRST_SEED", "1001")  # a night has its own

from laws_on_api_server_test import RealServer, main  # noqa: E402

__all__ = ["RealServer"]

if __name__ == "__main__":
    main()
