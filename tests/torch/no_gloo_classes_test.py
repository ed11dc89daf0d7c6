"""Gloo's headers may be older than its code inside LibTorch. So our objects must define none of its classes: a virtual
table that is laid out by the one and used by the other calls the wrong functions."""
import os
import pathlib
import subprocess
import unittest

BUILD = pathlib.Path(os.environ["RATOON_BUILD_DIR"])


def tables_of_gloo(nm_output):
    """The virtual tables and type records that an object defines and Gloo's classes own."""
    found = []
    for line in nm_output.splitlines():
        kind, _, name = line.partition(" ")
        is_table = name.startswith(("vtable for ", "typeinfo for ", "VTT for "))
        owner = name.partition(" for ")[2]
        if is_table and kind != "U" and (owner.startswith("gloo::") or "GlooStore" in owner):
            found.append(name)
    return found


class NoGlooClasses(unittest.TestCase):
    def test_our_library_defines_none(self):
        library = BUILD / "agent" / "src" / "torch" / "libratoon_agent_torch.a"
        done = subprocess.run(["nm", "--demangle", "--format=posix", "--portability", library],
                              stdout=subprocess.PIPE, text=True, check=True)
        # name, kind, value, size: demangled names hold spaces, kinds are one letter
        lines = []
        for line in done.stdout.splitlines():
            words = line.split(" ")
            kinds = [i for i, word in enumerate(words) if len(word) == 1 and i > 0]
            if kinds:
                lines.append(f"{words[kinds[-1]]} {' '.join(words[:kinds[-1]])}")
        text = "\n".join(lines)
        self.assertIn("ratoon::connect_with_gloo", text, "nm shows our own functions")
        self.assertEqual(tables_of_gloo(text), [])

    def test_one_would_be_seen(self):
        self.assertEqual(tables_of_gloo("V vtable for gloo::Context\nU vtable for gloo::Context\n"
                                        "V vtable for c10d::ProcessGroupGloo::GlooStore\nT ratoon::gloo()"),
                         ["vtable for gloo::Context", "vtable for c10d::ProcessGroupGloo::GlooStore"])


if __name__ == "__main__":
    unittest.main()
