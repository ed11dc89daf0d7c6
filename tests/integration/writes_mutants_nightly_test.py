"""Mutants of what stands between a decision and the API server: with one rule of it broken, the laws over a server that is in
the way must turn red, and say with which seed."""

import unittest

from api_server import missing_programs
from laws_on_api_server_test import start_server
from mutants import MutantTest, of_laws

LAWS = ("writes_laws_test", "WritesLaws.HoldOverAServerThatIsInTheWay")

# what is broken: (file, pattern, instead)
MUTANTS = {
    "a lease that is not looked at before a write": (
        "runtime/api_server/api_client.cpp", r'request\.method == "GET" \|\| fence_->is_open\(now\)',
        "fence_->is_open(now) || true"),
    "a deletion that names no UID": ("kube/request.cpp", r'json preconditions = \{\{"uid", uid\}\};',
                                     "json preconditions = json::object();"),
    "a deletion of a pod that names no version": (
        "runtime/jobs/cluster.cpp", r"action\.uid, grace, version\)", 'action.uid, grace, "")'),
    "a pod that changed is not looked at": (
        "runtime/jobs/cluster.cpp", r"return reread_pod\(seen\.job, action\);", "return reply.error();"),
    "a status that names no version": (
        "kube/request.cpp", r'\{"metadata", \{\{"resourceVersion", resource_version\}\}\}, ', ""),
    "a job that is deleted by its name alone": (
        "runtime/jobs/cluster.cpp", r"kGraceSeconds, job\.meta\.resource_version\)", "kGraceSeconds)"),
    "'already exists' taken as a failure": (
        "runtime/jobs/cluster.cpp", r"if \(!made && made\.error\(\)\.kind\(\) == ErrorKind::kAlreadyExists\) return [^;]*;", ""),
    "a pod under another name each time": (
        "kube/pods/member_pod.cpp", r'return \{\{"name", member\.name\},',
        'static int made = 0; return {{"name", member.name + "-" + std::to_string(++made)},'),
    "what exists already is not read": (
        "runtime/jobs/cluster.cpp", r"ErrorKind::kAlreadyExists\) return adopt_pod\([^;]*;",
        "ErrorKind::kAlreadyExists) return CreateOutcome::kMade;"),
    "a pod of ours that is not in the next view": ("runtime/jobs/cluster.cpp", r"parts_->cache\.put_written_pod\(\*made\);", ""),
    "members are told what is not stored": (
        "runtime/controller.cpp", r"if \(auto stored = store_status\(([^;]*)\); !stored\) return stored;",
        r"static_cast<void>(store_status(\1));"),
    "a forgotten requeue: the next look": ("runtime/controller.cpp", r"queue_\.add\(key, next_decision_time\([^;]*;", ""),
    "a forgotten requeue: the moment that a decision names": (
        "runtime/controller.cpp", r"decision\.wake_at\.value_or\(now \+ kDecisionIntervalMax\)", "now + kDecisionIntervalMax"),
    "a forgotten requeue: a pod that was made": (
        "runtime/controller.cpp", r"queue_\.add_now\(key_of\(job\)\);  // to note the pod's UID[^\n]*", ";"),
}
# What two jobs have to do with each other, judged by worlds of several.
OF_SEVERAL_JOBS = {
    "what is remembered of one job is told of another": (
        "runtime/controller.cpp", r"return memories_\[key\];", "static_cast<void>(key); return memories_[JobKey{}];"),
    "news of a node for one of the jobs on it": (
        "runtime/jobs/job_cache.cpp", r"if \(is_news\) touched = jobs_using_node\(node->name\);",
        "if (is_news) touched = jobs_using_node(node->name); "
        "while (touched.size() > 1) touched.erase(std::prev(touched.end()));"),
}
# What the server itself has a part in.
ON_A_REAL_SERVER = ["a deletion that names no UID", "a status that names no version", "'already exists' taken as a failure",
                    "a pod under another name each time", "members are told what is not stored"]


def mutants():
    return of_laws("operator/", MUTANTS, *LAWS)


class WritesMutants(MutantTest):
    def test_each_breaks_a_law(self):
        self.check_laws(mutants(), seeds=400)

    @unittest.skipIf(missing_programs("kubectl"), "scripts/setup --only test builds an API server")
    def test_some_break_one_over_a_real_server(self):
        some = [mutant for mutant in mutants() if mutant.what in ON_A_REAL_SERVER]
        self.assertEqual(len(some), len(ON_A_REAL_SERVER))
        self.check_laws(some, seeds=200, RATOON_API_SERVER=str(start_server(self)))

    def test_some_break_one_where_there_are_several_jobs(self):
        self.check_laws(of_laws("operator/", OF_SEVERAL_JOBS, LAWS[0], "WritesLaws.HoldForSeveralJobsOnTheSameNodes"), seeds=2000)

    def test_what_is_left_as_it_is_passes(self):
        self.check_sound([mutant for mutant in mutants() if mutant.source.endswith("/cluster.cpp")])


if __name__ == "__main__":
    unittest.main(verbosity=2)
