"""Mutants of the operator's copy of the cluster: with one rule of it broken, the laws over a simulated API server must turn
red, and say with which seed."""

import unittest

from mutants import MutantTest, of_laws

RUNTIME = "operator/runtime/"
LAWS = ("copy_laws_test", "CopyLaws.HoldOverAServerThatMisbehaves")

# what is broken: (file, pattern, instead)
MUTANTS = {
    "a repeated event brings back what is gone": ("api_server/reflector.cpp", r"return number != 0 && number <= [^;]*;",
        "return false;"),
    "an event that cannot be read is skipped": (
        "api_server/reflector.cpp", r"resource_version_\.clear\(\);  // the event is lost[^\n]*", ""),
    "an expired watch goes on": (
        "api_server/reflector.cpp", r"      if \(failure\.is_expired\(\)\) resource_version_\.clear\(\);\n", ""),
    "a watch from the last item instead of the list": (
        "api_server/list_objects.cpp", r"(if \(continue_token\.empty\(\)\) return) [^;]*;",
        r'\1 kube::string_field(kube::items_of(*page, "items").empty() ? metadata '
        r': kube::child(kube::items_of(*page, "items").back(), "metadata"), "resourceVersion");'),
    "a list that ends with its first page": (
        "api_server/list_objects.cpp", r"if \(continue_token\.empty\(\)\) return", "return"),
    "a list that remembers the one before": (
        "jobs/job_cache_sinks.cpp", r"listed_\.insert\(kube::job_key_in\(object\)\);(\n  cache_\.put_pod)",
        r"static std::set<JobKey> all; all.insert(kube::job_key_in(object)); listed_ = all;\1"),
    "what a list does not name stays": (
        "jobs/job_cache.cpp", r"if \(!listed\.contains\(key\) && version_of\(pod\) <= version\) gone\.push_back\(key\);", ""),
    "a list takes what was made after it": (
        "jobs/job_cache.cpp", r"if \(!listed\.contains\(key\) && version_of\(pod\) <= version\)", "if (!listed.contains(key))"),
    "an answer of ours brings back what came and went": (
        "jobs/job_cache.cpp", r"if \(!pods_\.contains\(key\) && version_of\(\*pod\) <= pods_version_\) return;[^\n]*", ""),
    "something older replaces something newer": (
        "jobs/job_cache.cpp", r"if \(it != pods_\.end\(\) && version_of\(pod\) <= version_of\(it->second\)\) return false;", ""),
    "the end of a former pod is that of one with its name": (
        "jobs/job_cache.cpp", r"\|\| version_of\(it->second\) > version\) return;\n    owner", ") return;\n    owner"),
    "pods by their job's name instead of its UID": (
        "jobs/job_cache.cpp", r"(pods_of_job_\[\{key\.name_space, pod\.job_uid\}\]\.insert)",
        r"if (jobs_.contains(owner_of(pod))) pod.job_uid = jobs_.at(owner_of(pod)).job.meta.uid;\n  \1"),
    "the end of a pod that is not reported": ("jobs/job_cache.cpp",
                                      r"    erase_pod_and_node\(key\);\n  \}\n  notify_change\(\{owner\}, [^)]*\);",
                                      "    erase_pod_and_node(key);\n  }"),
    "a node that is not reported": ("jobs/job_cache.cpp", r"if \(is_news\) touched = jobs_using_node\(node->name\);", ""),
    "a node that a pod avoids and that is not reported": (
        "jobs/job_cache.cpp", r"\{&pods_on_node_, &pods_avoiding_node_\}", "{&pods_on_node_}"),
    "the end of a node that is not reported": (
        "jobs/job_cache.cpp", r"touched\.merge\(jobs_using_node\(name\)\);", ""),
    "a pod that moved is still on its first node": (
        "jobs/job_cache.cpp", r"if \(!pod\.pod\.node\.empty\(\)\) pods_on_node_\[pod\.pod\.node\]\.insert\(key\);", ""),
    "a job that cannot be read is forgotten": ("jobs/job_cache.cpp", r"entry\.complaint = decoded\.error\(\)\.message\(\);", ""),
}


def mutants():
    return of_laws(RUNTIME, MUTANTS, *LAWS)


class CopyMutants(MutantTest):
    def test_each_breaks_a_law(self):
        self.check_laws(mutants(), seeds=2000)

    def test_what_is_left_as_it_is_passes(self):
        self.check_sound([mutant for mutant in mutants() if mutant.source.endswith("/job_cache_sinks.cpp")])


if __name__ == "__main__":
    unittest.main(verbosity=2)
