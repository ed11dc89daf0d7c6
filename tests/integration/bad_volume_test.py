"""Real volumes that are full, read-only or somebody else's: a run says what, where and what to do, ends with the code that is
promised, and what was saved before stands. Needs root, for a volume of its own in a mount namespace."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BIN = pathlib.Path(os.environ["RATOON_BUILD_DIR"]) / "bin"
NOBODY = 65534
# `again` repeats a command for a minute: on a busy machine others may have the device or the file system for a moment.
BEFORE = ("again() { for try in $(seq 300); do \"$@\" && return; sleep 0.2; done; return 1; }; "
          "mount_image() { true </dev/loop-control && again mount -o loop image $VOLUME/disk; }; "
          "mount -t tmpfs -o size=1m,mode=0755 none $VOLUME || exit 77; ")
TRAIN = "--pause-ms 0 --save-every 10 --save-folder $VOLUME/runs --run-name counter"
JOB = """apiVersion: ratoon.dev/v1alpha1
kind: TrainingJob
metadata: {name: full}
spec:
  numNodes: 2
  roles:
    - name: worker
      template: {spec: {containers: [{name: trainer, command: [counter, --pause-ms, "5", --steps, "1000000"]}]}}
  checkpointPolicy: {intervalSteps: 10}
  restartPolicy: {maxLossesWithoutStep: 1, backoffSeconds: 0}
"""
FILL = "; dd if=/dev/zero of=$VOLUME/filler bs=1k 2>/dev/null; "


class Volumes(unittest.TestCase):
    def setUp(self):
        # Under /tmp, so that another user gets there.
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="ratoon-volume-"))
        self.addCleanup(shutil.rmtree, self.scratch)
        self.scratch.chmod(0o755)
        self.volume = self.scratch / "volume"
        self.volume.mkdir()
        for program in ("counter", "places_probe", "ratoon"):
            shutil.copy(BIN / program, self.scratch)

    def in_namespace(self, script):
        done = subprocess.run(["unshare", "--mount", "sh", "-c", BEFORE + script], capture_output=True, text=True, timeout=300,
                              env=os.environ | {"VOLUME": str(self.volume), "PATH": f"{self.scratch}:{os.environ['PATH']}"})
        return done.returncode, done.stdout, done.stderr

    def assert_says(self, said, *parts):
        lines = [line for line in said.splitlines() if all(part in line for part in parts)]
        self.assertTrue(lines, f"{parts} in none of: {said}")

    def test_a_full_volume_is_said_and_costs_nothing_that_was_saved(self):
        code, done, said = self.in_namespace(
            f"counter --steps 40 {TRAIN} {FILL} counter --steps 80 {TRAIN}; echo code $?; rm $VOLUME/filler; "
            f"ratoon checkpoint verify $VOLUME/runs/counter; counter --steps 80 {TRAIN}; find $VOLUME -name '*.tmp'")
        self.assertEqual(code, 0, said)
        self.assertIn("code 84", done)
        self.assertRegex(done, "code 84\nstep 40 of attempt 1: good")
        self.assertTrue(done.endswith("done: 80 steps, sum 3160\n"), done)
        self.assertRegex(done.split("code 84")[1], "attempt [23] rank 0 step 40 sum 780")
        self.assert_says(said, f"for {self.volume}/runs/counter/packs/", "No space left on device", "free space on that volume")

    def test_a_run_whose_disk_is_full_ends_and_goes_on_when_there_is_room(self):
        job = self.scratch / "job.yaml"
        job.write_text(JOB)
        run = f"ratoon run {job} --folder $VOLUME/run"
        code, done, said = self.in_namespace(
            f"({run}; echo code $?) >{self.scratch}/said 2>&1 & "
            "for i in $(seq 600); do "
            "[ -n \"$(ls $VOLUME/run/checkpoints/full/manifests 2>/dev/null)\" ] && break; sleep 0.1; done "
            f"{FILL} wait; rm $VOLUME/filler; ratoon checkpoint verify $VOLUME/run/checkpoints/full; "
            f"{run} -- --steps 400 --pause-ms 0; echo code $?; cat {self.scratch}/said >&2")
        self.assertEqual(code, 0, done + said)
        self.assertRegex(said, "(?m)^code 84$")
        self.assert_says(said, f"{self.volume}/run", "No space left on device")
        self.assertIn("nothing can be saved", said, "the run goes on until its trainers give up")
        self.assertRegex(done, r"step \d+ of attempt 1: good")
        self.assertNotRegex(done, r"(?i)damaged|quarantined")
        self.assertRegex(done, r"attempt \d+ trains with 2 processes from step [1-9]\d*\n(.*\n)*.*completed at step")
        self.assertTrue(done.endswith("code 0\n"), done)

    def test_a_limit_of_the_size_of_files_is_a_full_disk_and_not_the_end_by_a_signal(self):
        code, done, said = self.in_namespace(
            f"counter --steps 40 {TRAIN}; ulimit -f 1; counter --steps 100 {TRAIN}; echo code $?; "
            f"ratoon checkpoint export $VOLUME/runs/counter $VOLUME/a.pt; echo code $?; ls -A $VOLUME")
        self.assertEqual(code, 0, said)
        self.assertTrue(done.endswith("code 84\ncode 84\nruns\n"), done)
        self.assert_says(said, "for $VOLUME/runs/counter/packs/".replace("$VOLUME", str(self.volume)), "File too large")
        self.assert_says(said, f"{self.volume}/a.pt", "File too large")

    def test_a_folder_whose_manifests_are_gone_is_not_begun_anew(self):
        """As after a copy that was cut short."""
        runs = "$VOLUME/runs/counter"
        code, done, said = self.in_namespace(
            f"counter --steps 40 {TRAIN}; mv {runs}/manifests $VOLUME/kept; counter --steps 80 {TRAIN}; echo code $?; "
            f"ls {runs}/packs; rm -rf {runs}/manifests; mv $VOLUME/kept {runs}/manifests; counter --steps 80 {TRAIN}")
        self.assertEqual(code, 0, said)
        self.assertIn("code 83\na0001\n", done)
        self.assertTrue(done.endswith("done: 80 steps, sum 3160\n"), done)
        self.assert_says(said, f"{self.volume}/runs/counter/latest-rank0 leads to a checkpoint", "bring the manifests back")

    def test_a_folder_whose_manifests_and_links_are_gone_is_not_begun_anew(self):
        runs = "$VOLUME/runs/counter"
        code, done, said = self.in_namespace(
            f"counter --steps 40 {TRAIN}; rm -rf {runs}/manifests {runs}/latest-rank0; counter --steps 80 {TRAIN}; echo code $?; "
            f"ls {runs}/packs; mv {runs}/packs $VOLUME/kept; counter --steps 80 {TRAIN}")
        self.assertEqual(code, 0, said)
        self.assertIn("code 83\na0001\n", done)
        self.assertTrue(done.endswith("done: 80 steps, sum 3160\n"), done)
        self.assert_says(said, f"{self.volume}/runs/counter/packs has packs of checkpoints that were committed",
                         "bring the manifests back")

    def test_what_was_staged_for_a_run_that_is_gone_is_not_another_ones(self):
        """Slots in memory outlive the process that filled them, and are found by the path of the run's folder."""
        slots = self.scratch / "slots"
        train = f"counter --save-every 1 --save-folder $VOLUME/runs --run-name counter --staging-folder {slots}"
        code, done, said = self.in_namespace(
            f"mkdir {slots}; mount -t tmpfs -o size=8m none {slots} || exit 77; "
            "for round in 1 2 3 4 5; do "
            f"{train} --pause-ms 1 --steps 100000 >/dev/null 2>&1 & killed=$!; "
            "for i in $(seq 600); do [ -n \"$(ls $VOLUME/runs/counter/manifests 2>/dev/null)\" ] && break; sleep 0.05; done; "
            "kill -9 $killed; wait $killed; rm -rf $VOLUME/runs; "
            f"{train} --pause-ms 0 --steps 5 2>&1; rm -rf $VOLUME/runs; done")
        self.assertEqual(code, 0, said)
        self.assertEqual(done.count("attempt 1 rank 0 step 0 sum 0\n"), 5, done)
        self.assertEqual(done.count("done: 5 steps, sum 10\n"), 5, done)

    def test_a_volume_that_was_full_from_the_beginning(self):
        code, _, said = self.in_namespace(f"true {FILL} mkdir $VOLUME/runs; counter --steps 40 {TRAIN}")
        self.assertEqual(code, 84, said)
        self.assert_says(said, str(self.volume), "No space left on device", "free space on that volume")

    def test_a_read_only_volume(self):
        code, done, said = self.in_namespace(
            f"counter --steps 40 {TRAIN}; mount -o remount,ro $VOLUME; ratoon checkpoint verify $VOLUME/runs/counter && "
            f"counter --steps 80 {TRAIN}")
        self.assertEqual(code, 84, done + said)
        self.assertIn("step 40 of attempt 1: good", done, "who only looks needs no right to write")
        self.assert_says(said, f"{self.volume}/runs/counter/lock", "Read-only file system", "use a writable volume")
        code, _, said = self.in_namespace(f"mount -o remount,ro $VOLUME; counter --steps 80 {TRAIN}")
        self.assertEqual(code, 84, said)
        self.assert_says(said, f"creating folder {self.volume}/runs", "Read-only file system")

    def test_a_folder_of_another_user(self):
        as_nobody = f"setpriv --reuid {NOBODY} --clear-groups"
        code, done, said = self.in_namespace(
            f"counter --steps 40 {TRAIN}; chmod 0644 $VOLUME/runs/counter/lock; {as_nobody} counter --steps 80 {TRAIN}; "
            f"echo code $?; {as_nobody} counter --steps 80 {TRAIN}-new; echo code $?; "
            f"{as_nobody} ratoon checkpoint gc $VOLUME/runs/counter --keep 1 --delete; echo code $?; "
            f"ratoon checkpoint verify $VOLUME/runs/counter")
        self.assertEqual(code, 0, done + said)
        self.assertEqual(re.findall("code ([0-9]+)", done), ["84", "84", "84"], done + said)
        self.assert_says(said, f"{self.volume}/runs/counter/lock: Permission denied; user {NOBODY} must be able to write in")
        self.assert_says(said, f"creating folder {self.volume}/runs/counter-new: Permission denied; user {NOBODY} must be able")
        for step in (20, 30, 40):
            self.assertIn(f"step {step} of attempt 1: good", done, "nothing of another user is deleted")

    @unittest.skipIf(shutil.which("fsfreeze") is None or shutil.which("mkfs.ext4") is None, "fsfreeze or mkfs.ext4 is missing")
    def test_a_disk_that_hangs_at_the_start_is_said_and_not_waited_for(self):
        """A real one: a frozen ext4 answers no call that changes something, until it is thawed."""
        # The first run has the patience of all runs: on a busy machine a disk that does not hang may need a second.
        train = "counter --pause-ms 0 --save-every 10 --save-folder $VOLUME/disk/runs --run-name"
        code, done, said = self.in_namespace(
            f"cd {self.scratch}; dd if=/dev/zero of=image bs=1M count=16 2>/dev/null; mkfs.ext4 -q -F image; "
            f"mkdir $VOLUME/disk; mount_image || exit 77; {train} old --steps 20 || exit 1; "
            f"again fsfreeze -f $VOLUME/disk || exit 77; "
            f"({train} old --steps 40 --disk-timeout 1; echo code $?) >>old 2>&1 & "
            f"({train} new --steps 40 --disk-timeout 1; echo code $?) >>new 2>&1 & "
            "for i in $(seq 600); do grep -q 'not answered' old && grep -q 'not answered' new && break; sleep 0.1; done; "
            "echo thawed >>old; echo thawed >>new; fsfreeze -u $VOLUME/disk; wait; echo ==; cat old; echo ==; cat new")
        if code == 77:
            self.skipTest(f"no ext4 can be mounted and frozen here: {said}")
        self.assertEqual(code, 0, done + said)
        _, old, new = done.split("==\n")
        # What only reads is answered, and the run begins: then it cannot save.
        self.assertRegex(old, "(?s)the disk has not answered for 1 s \\(--disk-timeout\\).*thawed.*code 84")
        self.assertRegex(new, f"(?s)ratoon: opening {self.volume}/disk/runs/new: the disk has not answered for 1 s "
                              "\\(--disk-timeout\\); [^\n]*start again.*thawed.*code 84")


    def hang(self, *commands):
        """What each of the commands says and its exit code, on a disk (VOLUME/disk) that is frozen until all have said so."""
        started = " ".join(f"({command}; echo code $?) >>said{n} 2>&1 &" for n, command in enumerate(commands))
        all_have = " && ".join(f"grep -q 'not answered\\|are lost if the process ends' said{n}" for n in range(len(commands)))
        code, done, said = self.in_namespace(
            f"cd {self.scratch}; dd if=/dev/zero of=image bs=1M count=16 2>/dev/null; mkfs.ext4 -q -F image; "
            "mkdir $VOLUME/disk; mount_image || exit 77; "
            f"counter --steps 20 --pause-ms 0 --save-every 10 --save-folder $VOLUME/disk/runs --run-name old || exit 1; "
            f"again fsfreeze -f $VOLUME/disk || exit 77; {started} "
            f"for i in $(seq 600); do {all_have} && break; sleep 0.1; done; "
            f"fsfreeze -u $VOLUME/disk; wait; for i in $(seq 0 {len(commands) - 1}); do echo ==; cat said$i; done")
        if code == 77:
            self.skipTest(f"no ext4 can be mounted and frozen here: {said}")
        self.assertEqual(code, 0, done + said)
        return done.split("==\n")[1:]

    @unittest.skipIf(shutil.which("fsfreeze") is None or shutil.which("mkfs.ext4") is None, "fsfreeze or mkfs.ext4 is missing")
    def test_a_disk_that_hangs_beside_the_one_where_checkpoints_are(self):
        probe = "places_probe 100 20 1 --disk-timeout 1 --save-folder $VOLUME/runs --run-name"
        ranks = "RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=2 TORCHELASTIC_RUN_ID=x MASTER_ADDR=127.0.0.1 MASTER_PORT=1"
        weights, staging, store, group = self.hang(
            f"{probe} w --final-weights $VOLUME/disk/w.safetensors", f"{probe} s --staging-folder $VOLUME/disk",
            f"{probe} c --stores file://$VOLUME/disk/copies",
            f"{ranks} counter --steps 40 --disk-timeout 1 --save-folder $VOLUME/disk/runs --run-name old")
        hung = "the disk has not answered for 1 s \\(--disk-timeout\\)"
        disk = f"{self.volume}/disk"
        # The training is done all the same, and its last checkpoint is elsewhere.
        file = f"{disk}/w.safetensors"
        self.assertRegex(weights, f"(?s)the weights could not be written to {file}: creating {file}: {hung}.*code 0")
        self.assertRegex(staging, f"(?s){disk} is not in a memory file system such as [^\n]*own memory and are lost.*code 0")
        self.assertRegex(store, f"(?s){disk}/copies/c/[^\n]*: {hung}.*code 84")
        self.assertRegex(group, f"(?s)(locking|meeting in) {disk}/runs/old: {hung}.*code 84")


    @unittest.skipIf(shutil.which("fsfreeze") is None or shutil.which("mkfs.ext4") is None, "fsfreeze or mkfs.ext4 is missing")
    def test_a_copy_that_hangs_keeps_nobody_from_leaving(self):
        code, done, said = self.in_namespace(
            f"cd {self.scratch}; dd if=/dev/zero of=image bs=1M count=16 2>/dev/null; mkfs.ext4 -q -F image; "
            "mkdir $VOLUME/disk; mount_image || exit 77; "
            "echo 50 >gate; export TEST_STEP_GATE=$PWD/gate; "
            "places_probe 100 20 1 --disk-timeout 1 --save-folder $VOLUME/runs --run-name c --stores file://$VOLUME/disk "
            ">said 2>&1 & pid=$!; for i in $(seq 600); do grep -q 'begins at' said && break; sleep 0.1; done; "
            "again fsfreeze -f $VOLUME/disk || exit 77; echo 100 >gate; "
            # Its threads end once the kernel lets them, and it is gone but for those.
            "for i in $(seq 600); do grep -q 'State:.Z' /proc/$pid/status && echo left && break; sleep 0.1; done; "
            "fsfreeze -u $VOLUME/disk; wait $pid; echo code $?; cat said")
        if code == 77:
            self.skipTest(f"no ext4 can be mounted and frozen here: {said}")
        self.assertRegex(done, f"(?s)^left\ncode 0\n.*is not in file://{self.volume}/disk/c/ after 1 s")


if __name__ == "__main__":
    probe = subprocess.run(["unshare", "--mount", "sh", "-c", "mount -t tmpfs -o size=1m none /mnt"], capture_output=True) \
        if shutil.which("unshare") and shutil.which("setpriv") else None
    if probe is None or probe.returncode != 0:
        print("SKIPPED: no volume can be mounted here (that takes root, unshare and setpriv)")
        sys.exit(77)
    unittest.main(verbosity=2)
