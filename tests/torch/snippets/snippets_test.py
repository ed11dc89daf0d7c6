"""Every snippet of README, docs/train and the public headers is compiled and runs through one loss and one resize, but those that
not_run.txt names, with the reason."""
import collections
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from snippets import HERE, all_snippets, changed, directives, filled, selected, snippets_of

BIN = pathlib.Path(os.environ["RATOON_BUILD_DIR"]) / "bin"
REASON = re.compile(r"list|(?:cloud|gpu|library)(?:: .+)?")


def run_in_frames(snippets):
    """{(file, snippet)}"""
    return {(name, selected(snippets, name, text, f"{frame}:{at}")) for frame in sorted((HERE / "frames").glob("*.cpp.in"))
            for at, name, text, _ in directives(frame.read_text())}


def not_run(snippets):
    """{(file, snippet): reason}"""
    lines = [line for line in (HERE / "not_run.txt").read_text().splitlines() if not line.startswith("#")]
    found = [re.fullmatch(r"(\S+) : (.+) \| (.+)", line) for line in lines]
    return {(match[1], selected(snippets, match[1], match[2], "not_run.txt")): match[3] for match in found}


class Snippets(unittest.TestCase):
    def test_every_snippet_runs_or_says_why_not(self):
        snippets = all_snippets()
        run, excused = run_in_frames(snippets), not_run(snippets)
        every = {(name, text) for name, of_file in snippets.items() for text in of_file}
        self.assertEqual(run & set(excused), set(), "not_run.txt names snippets that run: remove these lines")
        self.assertEqual(every - run - set(excused), set(),
                         "these snippets do not run: put each into a frame in tests/torch/snippets/frames, or into not_run.txt "
                         "with the reason why its code cannot run")
        for snippet, reason in excused.items():
            self.assertRegex(reason, f"^(?:{REASON.pattern})$", snippet)
        kinds = collections.Counter(reason.partition(":")[0] for reason in excused.values())
        print(f"{len(every)} snippets: {len(run)} run, {len(excused)} do not: {dict(kinds)}")

    def test_all_run_through_a_loss_and_a_resize(self):
        with tempfile.TemporaryDirectory(prefix="ratoon-snippets-") as folder:
            done = subprocess.run([BIN / "run_snippets", folder], text=True, capture_output=True, timeout=600)
            print(done.stdout)
            logs = "".join(f"{log.relative_to(folder)}:\n{log.read_text()[-3000:]}\n"
                           for line in done.stdout.splitlines() if " failed: " in line
                           for log in sorted((pathlib.Path(folder) / line.split()[0]).glob("*.log")))
            self.assertEqual(done.returncode, 0, f"{done.stdout}{done.stderr}{logs}")
        self.assertGreater(len(done.stdout.splitlines()), 30)

    def test_snippets_of_pages_and_headers_are_found(self):
        self.assertEqual(snippets_of("a.md", "text\n```cpp\nint a;\n```\n```\nno code\n```\n"), ["int a;\n"])
        header = "// A class.\n//\n//   int a;\n//\n//     int b;\n//\n// More.\n  //   int c;\nint d;\n"
        self.assertEqual(snippets_of("a.h", header), ["int a;\n\n  int b;\n", "int c;\n"])

    def test_a_frame_holds_the_changed_text(self):
        text = "int a;\n#include <a>\n\nint b;\n...;\nint c;\n"
        self.assertEqual(changed(text, ["paragraph 2", "int => long"], "a"), "long b;\n...;\nlong c;\n")
        self.assertEqual(changed(text, ["line 1"], "a"), "int a;")
        with self.assertRaisesRegex(SystemExit, "does not contain 'double'"):
            changed(text, ["double => int"], "a")
        code = filled("frame", "  //! snippet a.h : int a\nint d;\n", {"a.h": [text]})
        split = filled("frame", "//! snippet a.h : int a\n//!   | int => long\nint d;\n", {"a.h": [text]})
        self.assertIn("long a;", split)
        self.assertIn('#line 2 "frame"\n\nint d;', split, "the lines of the frame keep their numbers")
        self.assertEqual([line for line in code.splitlines() if line], ['#line 1 "a.h"', "int a;", "int b;", "int c;",
                                                                        '#line 2 "frame"', "int d;"])
        with self.assertRaisesRegex(SystemExit, "0 snippets of a.h have the text 'int e'"):
            filled("frame", "//! snippet a.h : int e\n", {"a.h": [text]})
        with self.assertRaisesRegex(SystemExit, "2 snippets of a.h have the text 'int c'"):
            filled("frame", "//! snippet a.h : int c\n", {"a.h": [text, f"int d;\n{text}"]})


if __name__ == "__main__":
    unittest.main()
