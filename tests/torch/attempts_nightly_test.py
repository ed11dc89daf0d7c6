"""The same as attempts_test.py, over as many attempts as a month of reclaimed nodes brings."""
import unittest

import attempts_test


class ManyAttempts(attempts_test.Attempts):
    ATTEMPTS = 200

    def test_connections_that_are_reset_cost_no_process(self):
        """No rank is lost: after 20 s without news both join the next world, in the same processes."""
        for output in attempts_test.outputs_of(2, "reset"):
            self.assertEqual([found[0] for found in attempts_test.LINE.findall(output)], ["1", "2"], output)
            self.assertIn("no lost process was reported for 20 s", output)


if __name__ == "__main__":
    unittest.main()
