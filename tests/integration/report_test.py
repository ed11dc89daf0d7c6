"""`ratoon report` on real runs: with losses, in progress, without `ratoon run`, and in a real browser where there is one."""

import csv
import io
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import unittest
import xml.etree.ElementTree as xml

from local_run import BIN, LocalRun, wait_until

BROWSER = shutil.which("chromium-headless-shell")


def varint(data, at):
    number = shift = 0
    while True:
        number |= (data[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 0x80:
            return number, at


def fields_of(message):
    """{number of the field: its content} of a message of protocol buffers."""
    fields, at = {}, 0
    while at < len(message):
        key, at = varint(message, at)
        size = {1: 8, 5: 4}.get(key & 7)
        if key & 7 == 0:
            fields[key >> 3], at = varint(message, at)
            continue
        if size is None:
            size, at = varint(message, at)
        fields[key >> 3], at = message[at:at + size], at + size
    return fields


def scalars_of(file):
    """{step: value of "sum"}, as TensorBoard shows an event file: a restart takes back the steps from its own on."""
    data, at, shown = pathlib.Path(file).read_bytes(), 0, {}
    while at + 8 <= len(data):
        (size,) = struct.unpack_from("<Q", data, at)
        if at + 12 + size + 4 > len(data):
            break  # it is being written
        event = fields_of(data[at + 12:at + 12 + size])
        at += 12 + size + 4
        step = event.get(2, 0)
        if 7 in event:
            shown = {known: value for known, value in shown.items() if known < step}
        elif 5 in event:
            value = fields_of(fields_of(event[5])[1])
            assert value[1] == b"sum" and step not in shown, (value, step)
            (shown[step],) = struct.unpack("<f", value[2])
    return shown


class Report(unittest.TestCase):
    def report(self, folder, *words, code=0):
        done = subprocess.run([BIN / "ratoon", "report", folder, *words], capture_output=True, text=True, timeout=180)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stderr if code else done.stdout

    def page(self, folder):
        """The page, read as strictly as XML is."""
        file = self.report(folder).strip()
        text = pathlib.Path(file).read_text()
        doctype, rest = text.split("\n", 1)
        self.assertEqual(doctype, "<!DOCTYPE html>")
        return file, text, xml.fromstring(rest)

    def lost_run(self):
        run = LocalRun(command=["gated_counter", "--steps", "500", "--pause-ms", "5"], held_at=495)
        self.addCleanup(run.close)
        run.start()
        run.wait_for_commit(20)
        run.hurt(1)
        wait_until(lambda: run.job_status()["attempt"] == 2 and run.job_status()["formed"], "attempt 2")
        run.let_pass(500)
        code, output = run.finish()
        self.assertEqual(code, 0, output)
        return run

    def test_a_run_with_a_loss(self):
        run = self.lost_run()
        file, text, page = self.page(run.folder)
        said = "".join(page.itertext())
        self.assertIn("completed", said)
        self.assertIn("counter-worker-1-i0, node-2", said)
        self.assertRegex(said, r"in 2 attempts\. 1 loss \(1 lost, 0 failed\); \d+ steps? made again; 1 recovery, within")
        self.assertEqual(len(page.findall(".//table")), 2, "recoveries and checkpoints")
        self.assertEqual(page.findall(".//script") + page.findall(".//link") + page.findall(".//img"), [])

        numbers = json.loads(self.report(run.folder, "--json"))
        self.assertGreater(numbers["account"]["useful"], 0)
        self.assertLess(sum(numbers["account"].values()), numbers["seconds"] + 0.5)
        (recovery,) = numbers["recoveries"]
        disruption = run.job_status()["lastDisruption"]
        self.assertAlmostEqual(recovery["total_seconds"], disruption["totalSeconds"], delta=0.004)
        self.assertEqual((recovery["member"], recovery["lost_steps"]), (disruption["member"], disruption["lostSteps"]))
        self.assertEqual([c["step"] for c in numbers["checkpoints"]], sorted({s for _, s in run.commits()}, reverse=True))
        self.assertEqual(numbers["step"], 500)

        rows = list(csv.DictReader(io.StringIO(self.report(run.folder, "--csv"), newline="")))
        kept = [int(row["step"]) for row in rows if row["kept"] == "1"]
        self.assertEqual(sorted(kept), list(range(1, 501)), "each step once")
        drawn = {path.get("class") for path in page.iter("path")}
        points = {point.get("class") for point in page.iter("circle")}  # of a line that has only one
        self.assertLessEqual({"curve", "rate", "lost", "save"}, drawn)
        is_any_undone = "curve undone" in drawn or "dot undone" in points
        self.assertEqual(is_any_undone, len(rows) > len(kept), "a loss right after a save undoes nothing")
        if BROWSER:
            self.look(file, text)

    def test_event_files_for_tensorboard_are_written_at_once_and_while_the_run_goes_on(self):
        run = LocalRun(command=["gated_counter", "--steps", "100", "--pause-ms", "5"], held_at=35,
                       spec={"checkpointPolicy": {"intervalSteps": 20}})
        self.addCleanup(run.close)
        run.start()
        wait_until(lambda: run.job_status()["progress"]["step"] == 35, "step 35")
        live = subprocess.Popen([BIN / "ratoon", "report", run.folder, "--tensorboard", run.root / "live", "--watch"],
                                stdout=subprocess.PIPE, text=True)
        self.addCleanup(live.kill)
        file = live.stdout.readline().strip()
        self.assertRegex(file, r"/live/events\.out\.tfevents\.\d+\.ratoon$")
        wait_until(lambda: max(scalars_of(file), default=0) >= 30, "the steps of the first attempt")
        run.hurt(1)
        run.let_pass(100)
        self.assertEqual(run.finish()[0], 0)
        self.assertEqual(live.communicate(timeout=180)[0], "")
        self.assertEqual(live.returncode, 0)
        rows = csv.DictReader(io.StringIO(self.report(run.folder, "--csv"), newline=""))
        kept = {int(row["step"]): float(row["value"]) for row in rows if row["kept"] == "1"}
        self.assertEqual(sorted(kept), list(range(1, 101)))
        self.assertEqual(scalars_of(file), kept, "sums of whole numbers are exact")
        again = self.report(run.folder, "--tensorboard", run.root / "again").strip()
        self.assertEqual(scalars_of(again), kept)

    def look(self, file, text):
        """In Chromium: nothing on the console, nothing loaded, and everything drawn."""
        picture = pathlib.Path(file).with_suffix(".png")
        done = subprocess.run(
            [BROWSER, "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--enable-logging=stderr", "--v=0",
             f"--user-data-dir={picture.parent / 'browser'}", "--window-size=1100,1500", f"--screenshot={picture}",
             pathlib.Path(file).resolve().as_uri()], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(re.findall(r".*(?:CONSOLE|ERR_|Refused to).*", done.stderr), [])
        self.assertGreater(picture.stat().st_size, 30_000, "an empty page is smaller")

    def test_a_run_in_progress_and_one_whose_runner_was_killed(self):
        run = LocalRun(command=["counter", "--steps", "100000", "--pause-ms", "10"])
        self.addCleanup(run.close)
        run.start()
        run.wait_for_commit(10)
        self.assertIn("in progress, or killed", self.page(run.folder)[1])
        run.process.kill()
        run.process.wait()
        with open(run.folder / "events.jsonl", "a") as events:
            events.write('{"kind":"st')
        run.document["spec"]["roles"][0]["template"]["spec"]["containers"][0]["command"][2] = "60"
        run.write_job()
        run.start()
        self.assertEqual(run.finish()[0], 0, run.output())
        numbers = json.loads(self.report(run.folder, "--json"))
        self.assertEqual(numbers["standing"], "completed")
        lines = (run.folder / "events.jsonl").read_text().splitlines()
        self.assertEqual(sum(line.startswith('{"events":1') for line in lines), 2, "two lives in one file, in lines of their own")

    def kill_and_repeat(self, run, command, saves):
        """Kills the program of 100 steps once it has a checkpoint, and runs it again to its end."""
        environment = {**os.environ, **run.gate.environment}
        run.let_pass(95)
        first = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
        self.addCleanup(first.wait)
        self.addCleanup(first.kill)
        wait_until(lambda: list(saves.glob("manifests/*.json")), "a checkpoint")
        first.kill()
        first.wait()
        run.let_pass(100)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=180, env=environment)

    def test_a_program_alone_that_was_killed(self):
        run = LocalRun()
        self.addCleanup(run.close)
        saves = run.root / "saves" / "alone"
        self.kill_and_repeat(run, [BIN / "gated_counter", "--save-folder", saves.parent, "--run-name", saves.name,
                                   "--save-every", "10", "--steps", "100"], saves)
        said = "".join(self.page(saves)[2].itertext())
        self.assertIn("The run has no events.jsonl", said)
        self.assertIn("in 2 attempts. 1 loss", said)

    def test_a_program_alone_that_reports_nothing(self):
        run = LocalRun()
        self.addCleanup(run.close)
        saves = run.root / "saves" / "quiet"
        self.kill_and_repeat(
            run, [BIN / "places_probe", "100", "10", "1", "--save-folder", saves.parent, "--run-name", saves.name], saves)
        said = "".join(self.page(saves)[2].itertext())
        self.assertIn("in 2 attempts. 1 loss", said)
        self.assertIn("The trainer reported no value", said)

    def test_what_no_part_of_it_foresaw_has_a_code_that_means_something(self):
        """No path can be made absolute where the working folder was removed."""
        run = LocalRun()
        self.addCleanup(run.close)
        subprocess.run([BIN / "counter", "--steps", "20", "--pause-ms", "1", "--save-folder", run.root, "--run-name", "alone"],
                       check=True, capture_output=True, timeout=180)
        gone = run.root / "alone" / "gone"
        gone.mkdir()
        done = subprocess.run(["sh", "-c", 'cd "$0" && rmdir "$0" && exec "$1" report .. -o "$2"', gone, BIN / "ratoon",
                               run.root / "report.html"], text=True, capture_output=True, timeout=180)
        self.assertEqual(done.returncode, 84, done.stderr)
        self.assertEqual(done.stderr, "ratoon: the file system reports an error for ..: No such file or directory; "
                                      "correct the cause and run the same command again\n")

    def test_a_pipe_or_a_link_to_one_is_written_and_not_replaced(self):
        run = LocalRun()
        self.addCleanup(run.close)
        subprocess.run([BIN / "counter", "--steps", "20", "--pause-ms", "1", "--save-folder", run.root, "--run-name", "alone"],
                       check=True, capture_output=True, timeout=180)
        pipe, link = run.root / "pipe", run.root / "link"
        os.mkfifo(pipe)
        link.symlink_to(pipe)
        for target in (pipe, link):
            with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE, text=True) as reader:
                self.report(run.root / "alone", "--json", "-o", target)
                self.assertEqual(json.loads(reader.communicate(timeout=60)[0])["step"], 20)
        self.assertTrue(pipe.is_fifo())
        self.assertTrue(link.is_symlink())

    def test_a_run_that_failed_says_what_its_trainer_printed_last(self):
        run = LocalRun(command=["sh", "-c", "echo begin; echo 'no <file>' >&2; exit 7"],
                       spec={"numNodes": 1, "restartPolicy": {"maxRestarts": 0}})
        self.addCleanup(run.close)
        run.start()
        self.assertEqual(run.finish()[0], 1, run.output())
        _, text, page = self.page(run.folder)
        self.assertIn("<pre>begin\nno &lt;file&gt;</pre>", text)
        said = "".join(page.itertext())
        self.assertRegex(said, r"The last failure\s*counter-worker-0-i0 on node-1 after [0-9.]+ s: exit code 7\s*"
                               r"begin\nno <file>")
        failure = json.loads(self.report(run.folder, "--json"))["last_failure"]
        self.assertEqual((failure["member"], failure["exit_code"], failure["last_lines"]),
                         ("counter-worker-0-i0", 7, ["begin", "no <file>"]))

    def test_a_run_that_saves_into_a_store_says_that_its_checkpoints_were_not_read(self):
        run = LocalRun(command=["true"], spec={"numNodes": 1, "restartPolicy": {"maxRestarts": 0}})
        self.addCleanup(run.close)
        run.start().finish()
        status = run.folder / "status.json"
        status.write_text(json.dumps({**json.loads(status.read_text()), "saves": "s3://bucket/runs/digits"}))
        said = "".join(self.page(run.folder)[2].itertext())
        self.assertIn("The run saves into s3://bucket/runs/digits, which was not read: a report of a folder uses no network. "
                      "For a report of the checkpoints: ratoon report s3://bucket/runs/digits", said)

    def test_folders_of_no_run(self):
        run = LocalRun()
        self.addCleanup(run.close)
        self.assertIn("is not a run's folder", self.report(run.root, code=82))
        self.assertRegex(self.report(run.root / "nowhere", code=82),
                         "nowhere': there is no such folder.*; name the folder of a run, or <save folder>/<run name>")
        self.assertIn("job.yaml is not a folder: give the folder of a run", self.report(run.job_file, code=82))


if __name__ == "__main__":
    unittest.main()
