"""A type that track() cannot save ends in one readable error of the compiler, and types that it can save in none."""
import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = """
#include <map>
#include <string>
#include <unordered_map>
#include <vector>
#include <ratoon/train.h>
struct Agent {};
void track(ratoon::Session& session) {
  %s object{};
  session.track("object", object);
}
"""


class UntrackableTypes(unittest.TestCase):
    def errors(self, kind):
        with tempfile.TemporaryDirectory(prefix="ratoon-types-") as folder:
            source = pathlib.Path(folder) / "program.cpp"
            source.write_text(PROGRAM % kind)
            done = subprocess.run([os.environ.get("CXX", "c++"), "-std=c++20", "-fsyntax-only", f"-I{ROOT}/agent/include",
                                   f"-I{ROOT}/base/include", source], capture_output=True, text=True, errors="replace")
        return [line for line in done.stderr.splitlines() if "error:" in line]

    def test_one_error_says_what_to_do(self):
        for kind in ("Agent", "Agent*", "std::unordered_map<std::string, int>"):
            with self.subTest(kind):
                errors = self.errors(kind)
                self.assertEqual(len(errors), 1, errors)
                self.assertIn("Session::track() does not know this type: include <ratoon/torch.h>", errors[0])

    def test_values_of_the_standard_library_compile(self):
        self.assertEqual(self.errors("std::map<std::string, std::vector<float>>"), [])


if __name__ == "__main__":
    unittest.main()
