"""Each place in the agent that waits: waits.txt says for what, and what ends it. A wait that nothing ends hangs a trainer."""
import re
import unittest

from repository import ROOT, Complaint, Repository, TidyTest

TABLE = "tests/tidy/waits.txt"
WAIT = re.compile(r"\b(?:sleep_for|sleep_until|pause_for|epoll_wait|waitpid)\s*\(|::poll\s*\("
                  r"|(?:\.|->)(?:wait|wait_for|wait_until)\s*\(|\bthread\w*\.join\s*\(")


def read_table(text):
    """{file: (number of waits, for what, until when)}, and the lines that are none."""
    rows, wrong = {}, []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) != 4 or not cells[1].isdigit() or not all(cells):
            wrong.append(number)
        else:
            rows[cells[0]] = (int(cells[1]), *cells[2:])
    return rows, wrong


def complaints(files, text):
    rows, wrong = read_table(text)
    for number in wrong:
        yield Complaint(f"{TABLE}:{number}", "is no row", "write: file | number of waits | for what | until when")
    sources = {path: file for path, file in files.items() if path.startswith("agent/src/") and file.is_cpp}
    found = {path: len(WAIT.findall(file.code)) for path, file in sources.items()}
    for path, count in found.items():
        listed = rows.get(path, (0,))[0]
        if count != listed:
            yield Complaint(path, f"waits in {count} places, and {TABLE} knows {listed}",
                            "give each a stop or a deadline, or say in docs that it has no limit; then correct the row")
    for path in rows.keys() - {path for path, count in found.items() if count}:
        yield Complaint(TABLE, f"has a row for {path}, where nothing waits", "remove it")


class WaitsTest(TidyTest):
    @classmethod
    def setUpClass(cls):
        cls.repository = Repository.from_git()

    def test_each_wait_has_an_end_that_is_written_down(self):
        self.expect_none(list(complaints(self.repository.files, (ROOT / TABLE).read_text())))


if __name__ == "__main__":
    unittest.main()
