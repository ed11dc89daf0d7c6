"""The same as attempts_test.py, over as many attempts as a month of reclaimed nodes brings."""
import unittest

import attempts_test


class ManyAttempts(attempts_test.Attempts):
    ATTEMPTS = 200


if __name__ == "__main__":
    unittest.main()
