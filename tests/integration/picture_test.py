"""The picture in README.md is what scripts/lib/draw_run.py makes of the recorded run and of the report as it is today."""
import os
import pathlib
import sys
import unittest
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts/lib"))

import draw_run  # noqa: E402

RATOON = pathlib.Path(os.environ["RATOON_BUILD_DIR"]) / "bin/ratoon"
MEND = "run python3 scripts/lib/draw_run.py BUILD/bin/ratoon, look at docs/run.svg in a browser, and commit it"


class Picture(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.page = draw_run.page_of(RATOON)

    def test_it_is_up_to_date(self):
        is_same = draw_run.picture(self.page) == draw_run.PICTURE.read_text()
        self.assertTrue(is_same, f"docs/run.svg is older than the report: {MEND}")

    def test_it_needs_nothing_else_and_shows_the_losses(self):
        text = draw_run.PICTURE.read_text()
        root = xml.etree.ElementTree.fromstring(text)
        self.assertEqual([name for name in ("var(", "url(", "href", "<script", "@import") if name in text], [])
        titles = [one.text for one in root.iter("{http://www.w3.org/2000/svg}title")]
        self.assertEqual(sum("ended by signal 9 at" in title for title in titles), 2)
        self.assertIn("attempt 2: made again by a later attempt", titles)
        self.assertIn("](docs/run.svg)", (ROOT / "README.md").read_text())

    def test_a_drawing_that_is_gone_is_named(self):
        with self.assertRaisesRegex(SystemExit, "the report has no drawing 'loss over time'"):
            draw_run.picture(self.page.replace("loss over time", "another"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
