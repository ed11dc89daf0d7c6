"""dataPolicy of a job: it reaches the trainer, and samples follow it in place of the program's own numbers."""

import shards_run
from local_run import BIN, LocalRun
from shards_run import Life, merge_ranks

SAID = {"seed": 5, "globalBatchSize": 40}


class DataPolicy(shards_run.Shards):
    def train_alone(self, *words):
        """What a process without a job saw, which was told the same by flags of its own."""
        code, output = shards_run.run(self.folder, self.data, "--epochs", 1, "--list", "--pause-ms", 0, *words)
        self.assertEqual(code, 0, output)
        return Life.of(output)[-1]

    def job(self, epochs, policy, members):
        command = [str(BIN / "shards"), str(self.data), "--epochs", str(epochs), "--list", "--pause-ms", "0"]
        run = LocalRun(job="shards", command=command, spec={"numNodes": members, "dataPolicy": policy})
        self.addCleanup(run.close)
        run.start()
        code, output = run.finish()
        return run, code, output

    def test_samples_follow_it_in_worlds_of_any_size(self):
        alone = self.train_alone("--batch", 40, "--seed", 5)
        for members in (1, 3):
            run, code, output = self.job(1, SAID, members)
            self.assertEqual(code, 0, output)
            lives = [Life.of(text)[-1] for text in run.logs().values()]
            self.assertEqual({life.done[2] for life in lives}, {alone.done[2]}, "the digest of what was taken")
            self.assertEqual(merge_ranks(lives).steps, alone.steps)

    def test_what_it_does_not_say_is_the_programs(self):
        alone = self.train_alone("--seed", 5)
        run, code, output = self.job(1, {"seed": 5}, 1)
        self.assertEqual(code, 0, output)
        ((life,),) = [Life.of(text) for text in run.logs().values()]
        self.assertEqual(life.steps, alone.steps)

    def test_a_run_does_not_go_on_with_other_ones(self):
        run, code, output = self.job(1, SAID, 1)
        self.assertEqual(code, 0, output)
        run.document["spec"]["roles"][0]["template"]["spec"]["containers"][0]["args"] = ["--epochs", "2"]
        for field, value, sentence in (("seed", 6, "the seed is 5, but in the program it is 6"),
                                       ("globalBatchSize", 50, "batch is 40, but in the program it is 50")):
            run.document["spec"]["dataPolicy"] = {**SAID, field: value}
            run.write_job()
            run.start()
            code, output = run.finish()
            self.assertEqual(code, 82, output)
            self.assertIn(sentence, output)
        run.document["spec"]["dataPolicy"] = SAID
        run.write_job()
        run.start()
        code, output = run.finish()
        self.assertEqual(code, 0, output)
        self.assertRegex(output, r"attempt \d+ trains with 1 process from step 25\n")

    def test_one_that_is_wrong_is_refused_before_anything_starts(self):
        for policy, sentence in (({"seed": -1}, "spec.dataPolicy.seed"),
                                 ({"globalBatchSize": 0}, "spec.dataPolicy.globalBatchSize"),
                                 ({"drop": True}, "spec.dataPolicy.drop is not a field of a TrainingJob")):
            run, code, output = self.job(1, policy, 1)
            self.assertEqual(code, 82, output)
            self.assertIn(sentence, output)


if __name__ == "__main__":
    shards_run.unittest.main()
