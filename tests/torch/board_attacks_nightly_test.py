"""Strangers at the board of rank 0, in a real world of three ranks: without the secret, with what was recorded of a rank, in
floods, and with a member's secret beyond its bounds. The run meets at the board again while all of that goes on, loses nothing,
and ends with the bits of one that was left alone."""

import os
import pathlib
import re
import resource
import socket
import struct
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
from board_strangers import (CHALLENGE, CHECK, DONE, HELD, MARK, OVER, PROVE, REFUSED, SET, Door, Flood, Line,  # noqa: E402
                             Member, decode, encode)
from local_run import LocalRun, keep_figures, wait_until  # noqa: E402

RANKS = 3
STEPS_OF_A_WINDOW = 200
WINDOWS = 3  # with the flood, and as many without
STEPS = 4 * WINDOWS * STEPS_OF_A_WINDOW
SHARE_SECONDS = 3
# Generous: what a loaded machine adds is in it.
SHARE_OF_A_CORE = 0.4
TIMES_A_STEP = 3
GROWTH_KIB = 256 << 10

LINE = re.compile(r"^attempt (\d+) rank (\d+) step (\d+) at (\S+)$", re.M)
WEIGHTS = re.compile(r"^weights (\w+)$", re.M)

# Member 1 reaches the coordinator through this test, which so hears what it is told.
THROUGH_THE_DOOR = """if [ "$RATOON_INDEX" = 1 ] && [ -n "$TEST_DOOR" ]; then
  echo "$RATOON_COORDINATOR_URL" > "$TEST_URL.partial"
  mv "$TEST_URL.partial" "$TEST_URL"
  export RATOON_COORDINATOR_URL=$TEST_DOOR
fi
exec board_probe "$@"
"""


class AttackedRun(LocalRun):
    def __init__(self, is_attacked):
        command = ["sh", "-c", THROUGH_THE_DOOR, "sh", str(STEPS), "--hang-after", "1h"]
        super().__init__("board", {"numNodes": RANKS}, command)
        self.url = self.root / "url"
        self.door = Door(self.url) if is_attacked else None
        if is_attacked:
            self.gate.environment |= {"TEST_DOOR": self.door.url, "TEST_URL": str(self.url)}

    def times(self, attempt, rank=0):
        """{step: when it was made}"""
        return {int(step): float(at) for text in self.logs().values()
                for a, r, step, at in LINE.findall(text) if (int(a), int(r)) == (attempt, rank)}

    def step_seconds(self, attempt, steps):
        """Lets so many steps pass, and returns what one of them took."""
        first = max(self.times(attempt), default=-1) + 1
        last = first + steps - 1
        self.let_pass(last + 1)
        times = wait_until(lambda: (found := self.times(attempt)) and last in found and found, f"step {last}")
        return (times[last] - times[first]) / (steps - 1) if steps > 1 else 0

    def pid_of_rank_0(self, attempt):
        name = next(name for name, text in self.logs().items() if re.search(rf"^attempt {attempt} rank 0 ", text, re.M))
        return next(member["pids"][0] for member in self.status()["members"] if member["name"] == name)

    def weights(self):
        return [digest for text in self.logs().values() for digest in WEIGHTS.findall(text)]

    def close(self):
        super().close()
        if self.door:
            self.door.close()


def processor_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def share_of_a_core(pid):
    before, began = processor_seconds(pid), time.monotonic()
    time.sleep(SHARE_SECONDS)
    return (processor_seconds(pid) - before) / (time.monotonic() - began)


def resident_kib(pid):
    return int(re.search(r"^VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text(), re.M)[1])


class BoardAttacks(unittest.TestCase):
    def setUp(self):
        self.refused = 0

    def line(self, member, *said):
        line = Line(member.board)
        self.addCleanup(line.close)
        for data in said:
            line.say(data)
        return line

    def assert_refused(self, line, sentence):
        kind, words = line.hear() or self.fail(f"hung up on without '{sentence}'")
        self.assertEqual(kind, REFUSED, words)
        self.assertIn(sentence, words[0].decode())
        self.refused += 1

    def assert_hung_up(self, line):
        self.assertIsNone(line.hear())
        self.refused += 1

    def challenged(self, member, **hello):
        line = self.line(member, member.hello(**hello))
        kind, words = line.hear()
        self.assertEqual(kind, CHALLENGE, words)
        return line, words

    def proven(self, member):
        line, words = self.challenged(member)
        line.say(member.proof(words[0]))
        self.assertEqual(line.hear(), (DONE, []))
        return line

    def ask(self, line, member, op, *words):
        return line.say(encode(op, member.attempt, words)).hear()

    def attack_without_the_secret(self, member, recorded):
        not_made = f"is not made with the secret of attempt {member.attempt}"
        silent = self.line(member)
        unanswered, _ = self.challenged(member)
        line, (nonce, boards_proof) = self.challenged(member)
        self.assert_refused(line.say(member.proof(nonce, secret=b"w" * 64)), not_made)
        line, (nonce, boards_proof) = self.challenged(member)
        self.assert_refused(line.say(encode(PROVE, member.attempt, [boards_proof])), not_made)
        line, (nonce, _) = self.challenged(member)
        self.assert_refused(line.say(member.proof(nonce, rank=(member.rank + 1) % RANKS)), not_made)
        self.assert_refused(self.line(member, member.hello(rank=RANKS)), f"the run has {RANKS} ranks")

        hello, proof = recorded[:decode(recorded)[3]], recorded[decode(recorded)[3]:]
        proof = proof[:decode(proof)[3]]
        line = self.line(member, hello)
        self.assertEqual(line.hear()[0], CHALLENGE)
        self.assert_refused(line.say(proof), not_made)
        self.assert_hung_up(self.line(member, hello + proof))

        self.assert_hung_up(self.line(member, encode(SET, member.attempt, [b"key", b"value"])))
        self.assert_hung_up(self.line(member, encode(MARK, member.attempt, [b"mark"])))
        self.assert_hung_up(self.line(member, b"RTB1" + struct.pack("<I", 17 << 20) + b"x" * 600))
        self.assert_hung_up(self.line(member, b"RTB1" + struct.pack("<I", 600) + b"x" * 400))
        self.assert_hung_up(self.line(member, b"GET / HTTP/1.1\r\n\r\n"))
        early = self.line(member, member.hello(attempt=member.attempt + 1), encode(MARK, member.attempt + 1, [b"mark"]))
        drip = self.line(member)
        drip.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in member.hello():
            drip.say(bytes([byte]))
            time.sleep(0.05)  # or several of them are read at once
        for line in (early, drip, silent, unanswered):
            self.assert_hung_up(line)

    def attack_with_a_members_secret(self, member):
        """A member that does as it likes takes what is its own, and nobody else's."""
        line = self.proven(member)
        other = (member.rank + 1) % RANKS
        self.assert_refused(line.say(encode(SET, member.attempt, [b"mark %d" % other, b"x"])), "is a rank's mark")
        for op, words in ((SET, [b"large%d", b"v" * (8 << 20)]), (SET, [b"small%d", b""])):
            for number in range(1 << 17):
                kind, said = self.ask(line, member, op, words[0] % number, words[1])
                if kind != DONE:
                    break
            self.assertEqual((kind, said), (REFUSED, [b"the store is full: erase keys that are no longer needed"]))
            self.refused += 1
        self.assert_hung_up(self.proven(member).say(b"RTB1" + struct.pack("<I", 17 << 20)))
        self.assert_hung_up(self.proven(member).say(encode(SET, member.attempt + 1, [b"k", b"v"])))
        pipelined = self.proven(member).say(2 * encode(CHECK, member.attempt, [b"k"]))
        self.assert_hung_up(pipelined)
        held = []
        while True:
            one, (nonce, _) = self.challenged(member)
            kind, said = one.say(member.proof(nonce)).hear()
            if kind != DONE:
                break
            held.append(one)
        self.assertEqual(kind, REFUSED)
        self.assertIn(b"connections already", said[0])
        self.refused += 1

    def test_nothing_but_refusals_comes_of_them(self):
        alone = AttackedRun(is_attacked=False)
        self.addCleanup(alone.close)
        alone.start()
        run = AttackedRun(is_attacked=True)
        self.addCleanup(run.close)
        run.let_pass(STEPS_OF_A_WINDOW)
        run.start()
        run.step_seconds(1, 1)
        member = run.door.members[1]
        recorded = next(said for said in run.door.relays[1].said if said)
        pid = run.pid_of_rank_0(1)
        began_with = resident_kib(pid)
        self.attack_without_the_secret(member, recorded)
        shares, steps, hung_up = {True: [], False: []}, {True: [], False: []}, []
        for window in range(2 * WINDOWS):
            is_flooded = window % 2 == 1
            flood = Flood(member) if is_flooded else None
            before = flood.hung_up if flood else 0
            shares[is_flooded].append(share_of_a_core(pid))
            steps[is_flooded].append(run.step_seconds(1, STEPS_OF_A_WINDOW))
            if flood:
                hung_up.append(flood.hung_up - before)
                flood.close()
        self.attack_with_a_members_secret(member)
        grown = resident_kib(pid) - began_with

        # A rank is lost, and the next attempt meets in a flood; what was recorded of the last one is of no use.
        flood = Flood(member)
        self.addCleanup(flood.close)
        run.hurt(2)
        wait_until(lambda: run.times(2), "attempt 2 in the flood")
        late = Member(2, member.rank, b"", run.door.members[2].board)
        self.assert_refused_as_over(late, recorded)
        run.let_pass(STEPS)
        code, output = run.finish()
        self.assertEqual(code, 0, output + str(run.logs()))
        restarts = run.job_status()["restarts"]
        self.assertEqual((restarts["disruption"], restarts["application"], restarts["hung"], run.job_status()["attempt"]),
                         (1, 0, 0, 2), output)
        self.assertEqual(alone.finish()[0], 0, alone.output())
        self.assertEqual(len(run.weights()), RANKS)
        self.assertEqual(set(run.weights()), set(alone.weights()), "the bits of a run that was left alone")
        figures = {"refused": self.refused, "connections_held": HELD, "hung_up_on": hung_up, "rank_0_grown_kib": grown,
                   "share_of_a_core": {"alone": shares[False], "flooded": shares[True]},
                   "step_seconds": {"alone": steps[False], "flooded": steps[True]},
                   "step_ratio": min(steps[True]) / min(steps[False])}
        keep_figures(figures)
        print(f"{self.refused} refusals, each as it is to be")
        self.assertGreater(min(hung_up), 0, "each flood went on while it was measured")
        self.assertLess(min(shares[True]), SHARE_OF_A_CORE)
        self.assertLess(figures["step_ratio"], TIMES_A_STEP)
        self.assertLess(grown, GROWTH_KIB)

    def assert_refused_as_over(self, late, recorded):
        line = self.line(late, recorded[:decode(recorded)[3]])
        kind, words = line.hear()
        self.assertEqual((kind, words), (OVER, [b"2"]))
        self.refused += 1


if __name__ == "__main__":
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if hard < HELD + 100:
        print(f"SKIPPED: a process may open {hard} files, and the flood holds {HELD} connections")
        sys.exit(77)
    unittest.main()
