"""Names without pictures, folders of a size that a reader can hold, and one place for the name of a type: house.py."""
import sys
import unittest

import house
from repository import ROOT, Repository, TidyTest


class HouseTest(TidyTest):
    @classmethod
    def setUpClass(cls):
        cls.repository = Repository.from_git()

    def test_names_have_no_retired_word(self):
        self.expect_none(house.check_words(self.repository, house.read_words((ROOT / house.WORDS).read_text())))

    def test_folders_are_small(self):
        self.expect_none(house.check_folders(self.repository, house.read_large((ROOT / house.LARGE).read_text())))

    def test_the_name_of_a_type_stands_once(self):
        self.expect_none(house.check_types(self.repository))


class HouseSelfTest(unittest.TestCase):
    WORDS = house.read_words("# word | instead | folders\ndoor | session | cli operator\nwish | request | cli\n")

    def expect(self, complaints, *parts):
        text = "\n".join(map(str, complaints))
        for part in parts:
            self.assertIn(part, text)

    def words(self, path, text):
        return list(house.check_words(Repository({path: text}), self.WORDS, allowed={}))

    def test_retired_words(self):
        for name in ("door", "open_door", "door_", "OpenDoor", "kDoor", "doors", "DoorPlate"):
            with self.subTest(name):
                self.expect(self.words("cli/a.cpp", f"\nint {name};"), f"cli/a.cpp:2 has the retired word door in {name}",
                            "write session")
        self.expect(self.words("operator/core/door.h", ""), "operator/core/door.h has the retired word door in door")
        for path, text in (("agent/a.h", "int door;"), ("operator/a.h", "int wish;"), ("cli/a.h", "// door\nf(\"door\");"),
                           ("cli/a.h", "int outdoor, doorway, wished;")):
            self.assertEqual(self.words(path, text), [], (path, text))

    def test_words_that_are_allowed(self):
        def check(text):
            return list(house.check_words(Repository({"cli/a.h": text}), self.WORDS, allowed={"kDoor": "a variable's name"}))
        self.assertEqual(check("int kDoor;"), [])
        self.expect(check("int kOther;"), "allows kDoor, which is nowhere", "remove that")

    def test_folders(self):
        def check(count, large):
            return list(house.check_folders(Repository({f"cli/run/f{i}.h": "" for i in range(count)}), large))
        self.assertEqual(check(20, {}), [])
        self.assertEqual(check(21, {"cli/run": 21}), [])
        self.expect(check(21, {}), "cli/run holds 21 source files of 20", "folders by duty")
        self.expect(check(22, {"cli/run": 21}), "cli/run holds 22 source files of 21")
        self.expect(check(20, {"cli/run": 21}), "allows cli/run 21 source files, and it has 20", "--write")
        self.expect(check(1, {"cli/gone": 21}), "names cli/gone, where no source file is")
        self.assertEqual(house.read_large("# why\ncli/run 21\n"), {"cli/run": 21})

    def test_types(self):
        def check(a, b, twice=()):
            return list(house.check_types(Repository({"base/a.h": a, "cli/b.h": b}), twice))
        for one in ("struct A {};", "namespace n {\nenum class A { kOne };\n}", "class A final : B {\n};", "using A = int;",
                    "template <class T>\nconcept A = true;\nclass A {\n};"):
            with self.subTest(one):
                self.expect(check(one, "namespace m {\nstruct A {\n  int n;\n};\n}"), "cli/b.h has a type A, as base/a.h has")
                self.assertEqual(check(one, "struct A {};", {"A": "why"}), [])
        for one in ("struct A;", "struct B {\n  struct A {};\n  using A = int;\n};", "// struct A {};",
                    "void f() {\n  using A = int;\n}", "enum class B : int { kA };"):
            with self.subTest(one):
                self.assertEqual(check(one, "struct A {};"), [])
        self.expect(check("struct A {};", "", {"A": "why"}), "allows A to stand twice, which it does not")


if __name__ == "__main__":
    if "--write" in sys.argv:
        house.write_large(ROOT, Repository.from_git())
    else:
        unittest.main(verbosity=2)
