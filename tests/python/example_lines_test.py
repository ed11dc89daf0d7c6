"""How many lines Ratoon adds to each program of examples/python: docs/train/python.md has these numbers."""
import ast
import difflib
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "examples/python"
ROW = re.compile(r"^\| \[(\w+)\.py\]\(\.\./\.\./examples/python/\1\.py\): .* "
                 r"\| \[plain_\1\.py\]\(\.\./\.\./examples/python/plain_\1\.py\) \| (\d+) \| (\d+) of (\d+) \|$", re.M)


def code_of(name):
    """Lines of code: comments, texts that document, empty lines and where a line begins are no part of what one adds."""
    text = (PROGRAMS / f"{name}.py").read_text()
    documented = [node.body[0] for node in ast.walk(ast.parse(text))
                  if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node) is not None]
    hidden = {number for node in documented for number in range(node.lineno, node.end_lineno + 1)}
    lines = [re.sub(r"(^|  )#.*", "", line).strip() for number, line in enumerate(text.splitlines(), 1) if number not in hidden]
    return [line for line in lines if line]


def difference(name):
    """Lines that are written or changed, lines of the twin that are gone or changed, and all lines of the twin."""
    plain = code_of(f"plain_{name}")
    marks = [line[0] for line in difflib.ndiff(plain, code_of(name))]
    return marks.count("+"), marks.count("-"), len(plain)


class Lines(unittest.TestCase):
    def test_the_page_has_the_numbers(self):
        told = {name: tuple(map(int, numbers)) for name, *numbers in ROW.findall((ROOT / "docs/train/python.md").read_text())}
        names = [path.stem.removeprefix("plain_") for path in sorted(PROGRAMS.glob("plain_*.py"))]
        self.assertEqual(told, {name: difference(name) for name in names})
        self.assertEqual({path.stem for path in PROGRAMS.glob("*.py")},
                         {*names, *(f"plain_{name}" for name in names), "write_mds"})

    def test_the_plain_ones_know_nothing_of_ratoon(self):
        for path in PROGRAMS.glob("plain_*.py"):
            self.assertNotIn("ratoon", path.read_text())

    def test_few_lines_are_added(self):
        for path in PROGRAMS.glob("plain_*.py"):
            written, gone, _ = difference(path.stem.removeprefix("plain_"))
            print(f"{path.stem}: {written} written or changed, {gone} gone")
            self.assertLessEqual(written, 26 if path.stem == "plain_hugging_face" else 10, path.stem)


if __name__ == "__main__":
    unittest.main(verbosity=2)
