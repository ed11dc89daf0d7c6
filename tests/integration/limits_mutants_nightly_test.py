"""Mutants of what the operator counts and holds its members and itself to: time, rests, saves, the ledger, requests and
connections. The unit tests of these files have to catch what no law of operator_mutants_nightly_test.py is about."""

import unittest

from mutants import MutantTest, TableOfMutants, of_rows

CORE = "operator/core/"
LOCAL = "operator/local/"


def core(tests):
    return "operator_core_test", tests


def of_local(tests):
    return "operator_local_test", tests

RUNTIME_LIMITS = ("operator_runtime_test", "ProcessLimitTest.*")
# what is broken: (tests, file, pattern, instead)
MUTANTS = {
    "a limit of processes that a second job does not see": (
        RUNTIME_LIMITS, "operator/runtime/jobs/process_limit.cpp", r"  admitted_\[job\] = processes;\n", ""),
    "a limit of processes of which the last one is refused": (
        RUNTIME_LIMITS, "operator/runtime/jobs/process_limit.cpp", r"processes > namespace_max_", "processes >= namespace_max_"),
    "a job whose own pods count against it": (
        RUNTIME_LIMITS, "operator/runtime/jobs/process_limit.cpp", r"  in_use\.erase\(job\);\n", ""),
    "a job that counts with its present pods alone": (
        ("operator_runtime_test", "JobCacheTest.*"), "operator/runtime/jobs/job_cache.cpp",
        r"\(members > 0 \? members : running\)", "(members > 0 ? running : running)"),
    "pods of lost nodes that count": (
        ("operator_runtime_test", "JobCacheTest.*"), "operator/runtime/jobs/job_cache.cpp",
        r"\(members > 0 \? members : running\)", "std::max(members, running)"),
    "a member that is new and counts as one of the last world": (
        ("training_job_test", "RoundTrip.*"), "operator/api/training_job.cpp", r',\n\s+"trainedMembers"\}\)', "})"),
    "starts of a pod without a bound": (
        ("coordinator_test", "SupersededStarts.*"), "operator/coordinator/superseded_starts.cpp",
        r"if \(starts\.size\(\) == kStartsOfProcessMax\) starts\.erase\(starts\.begin\(\)\);",
        "static_cast<void>(kStartsOfProcessMax);"),
    "pods that have ended and still count": (
        ("operator_runtime_test", "JobCacheTest.*"), "operator/runtime/jobs/job_cache.cpp",
        r"!pods_\.at\(key\)\.pod\.has_ended\(\)", "pods_.contains(key)"),
    "a pod of the job that exists, deleted for a job that is gone": (
        ("operator_runtime_test", "ControllerTest.*"), "operator/runtime/jobs/cluster.cpp",
        r'if \(kube::string_field\(kube::child\(\*now, "metadata"\), "uid"\) != job\.meta\.uid\)', "if (false)"),
    "readers of one address that take all places of the metrics": (
        ("operator_runtime_test", "MetricsPageTest.*"), "operator/runtime/metrics/metrics_page.cpp",
        r" \|\| page_\.readers_\.count\(address_\) >= kReadersPerAddressMax\)", ")"),
    "a signal that nohup had ignored and that stops the run": (
        of_local("RunnerWakeupTest.*"), LOCAL + "runner_wakeup.cpp", r"if \(!is_ignored\(number\)\) sigaddset", "sigaddset"),
    "connections of others for which no open files are left": (
        of_local("MachineCapacity.*"), LOCAL + "machine_capacity.cpp",
        r"kRunnerOpenFiles = 40 \+ kUnauthenticatedOpenFiles;", "kRunnerOpenFiles = 40;"),
    "members that are closed out when all of them call at once": (
        of_local("MachineCapacity.*"), LOCAL + "machine_capacity.cpp",
        r"return count_members_max\(spec\) \* spec\.processes_per_node \+ kUnauthenticatedOpenFiles;",
        "return kUnauthenticatedOpenFiles;"),
    "a variable with a '.' that a shell drops under limits": (
        of_local("CgroupRules.*"), LOCAL + "members/cgroup_rules.cpp", r"  std::ranges::remove_copy_if\([^;]*;\n", ""),
    "a variable that is started in place of the trainer": (
        of_local("CgroupRules.*"), LOCAL + "members/cgroup_rules.cpp",
        r'if \(!dropped\.empty\(\)\) words\.insert\([^;]*;', ""),
    "a variable that begins with a digit and that a shell drops": (
        of_local("CgroupRules.*"), LOCAL + "members/cgroup_rules.cpp",
        r" && \(name\.front\(\) < '0' \|\| name\.front\(\) > '9'\)", ""),
    "a word of a job file whose variables are not replaced": (
        of_local("MemberPlan.*"), LOCAL + "members/member_plan.cpp",
        r"api::expand_variables\(word, plan\.environments\.front\(\)\)", "word"),
    "a port of metrics that another member has": (
        of_local("MetricsPorts*"), LOCAL + "metrics_ports.cpp",
        r"if \(std::ranges::any_of\(blocks_, overlaps\)\) return false;", ""),
    "a port of metrics that a server has": (
        of_local("MetricsPorts*"), LOCAL + "metrics_ports.cpp", r"if \(!is_port_free\(port\)\) return false;", ""),
    "a rest that ends in the middle of a save": (
        core("Suspend.*"), CORE + "policy/save_time.cpp", r"return std::max<Duration>\(kSaveTimeoutMin,\s+[^;]*;",
        "return kSaveTimeoutMin;"),
    "saves that take years": (
        core("Suspend.*"), CORE + "policy/save_time.cpp", r"std::min<Duration>\((from_seconds\([^;]*\)), kSaveDurationMax\);",
        r"\1;"),
    "a new leader that ends a save of which it was not told": (
        core("Suspend.*"), CORE + "policy/suspend.cpp", r"if \(!have_all_members_reported\(seen, status\)\) return std::nullopt;",
        ""),
    "a save on notice in the way of the hand-over's": (
        core("Notice.*"), CORE + "world/announce.cpp", r"is_ready \|\| has_time_for_two_saves\([^;]*\)\)\s+\+\+", "true) ++"),
    "a wish to begin anew that is heard at each look": (
        core("FreshStart.*"), CORE + "world/fresh_start.cpp", r"is_first_look && job\.spec", "job.spec"),
    "another run's checkpoint taken for this one's": (
        core("FreshStart.*"), CORE + "world/fresh_start.cpp", r"attempt >= \*status\.first_own_attempt", "true"),
    "a clock that is set back gives time": (
        core("MaxDuration.*"), CORE + "policy/time_limit.cpp", r"std::max\(Duration\(0\), (now\.since_epoch - [^;]*)\);", r"\1;"),
    "time before a suspension that is forgotten": (
        core("MaxDuration.*"), CORE + "policy/time_limit.cpp", r"- std::min<std::uint64_t>\([^;]*;", ";"),
    "steps that are made again and count as useful": (
        core("LedgerTest.*"), CORE + "status/ledger.cpp", r"TimeLedgerPart::kRecomputed : TimeLedgerPart::kUseful;",
        "TimeLedgerPart::kUseful : TimeLedgerPart::kUseful;"),
    "a hang that is booked as a restart": (
        core("LedgerTest.*"), CORE + "status/ledger.cpp", r"open->is_hung \? TimeLedgerPart::kHung : ", ""),
    "steps made again without a count": (
        core("StepsMadeAgain.*"), CORE + "status/ledger.cpp", r"ledger\.repeated_step_count \+= [^;]*;", ";"),
    "an older run's steps that are counted as made again": (
        core("StepsMadeAgain.*"), CORE + "status/progress.cpp", r"if \(newest\.value\(\) == 0\) return;", ""),
    "a rest that begins while pods hold their nodes": (
        core("Suspend.*"), CORE + "policy/suspend.cpp", r"&& is_any_pod_left\(seen\)", "&& false"),
    "parts of the time of which the events say nothing": (
        of_local("RunEventsTest.*"), LOCAL + "folder/run_events.cpp", r"  observe_ledger\(status\.ledger, now\);\n", ""),
    "failures that are forgotten at the next start": (
        of_local("RecoverStatus.*"), LOCAL + "run_start.cpp", r"\.ignored = restarts\.application \+ restarts\.hung, ", ""),
    "a wait for a node that is booked as a restart": (
        core("LedgerTest.*"), CORE + "status/ledger.cpp", r"lacks_capacity\(seen, status\.members\) \?", "false ?"),
    "a clock that is set back takes seconds from the ledger": (
        core("LedgerTest.*"), CORE + "status/ledger.cpp",
        r"std::max\((at\.since_epoch - ledger\.since->since_epoch), Duration\(0\)\)",
        r"\1"),
    "a failure of the run before that is this one's": (
        ("operator_local_test", "BeginRunTest.*"), "operator/local/run_start.cpp", r"status\.last_failure\.reset\(\);", ""),
    "deletions that a server in trouble is asked for one by one": (
        ("operator_runtime_test", "ControllerTest.*"), "operator/runtime/controller.cpp",
        r"is_deleting = is_deleting && [^;]*;", ""),
    "idle connections that keep the node's probes out": (
        ("operator_runtime_test", "StatusPorts.*"), "operator/runtime/metrics/status_ports.cpp",
        r"options\.unauthenticated_connections_max = connections_max;", ""),
    "a page that is read for ever": (
        ("http_server_test", "HttpServer.CutsAClient*"), "base/http/server/server_session.cpp", r"limit && !reply_deadline_",
        "false"),
    "a runner that makes no room for its members": (
        ("operator_local_test", "KernelCgroups.*"), "operator/local/members/cgroups.cpp",
        r'if \(auto moved = write_file\(own / kRunnerCgroup / kProcsFile, "0"\); !moved\) return moved;', ""),
    "a full disk that ends a run which has its status file": (
        of_local("StatusFile*"), LOCAL + "folder/status_file.cpp", r"if \(is_first\) return outcome",
        "if (is_first || (outcome && !*outcome)) return outcome"),
    "a status that is not kept and said with each look": (
        of_local("StatusFile*"), LOCAL + "folder/status_file.cpp", r"else if \(!std::exchange\(is_failing_, true\)\)",
        "else if ((is_failing_ = true))"),
    "a status that is not kept and taken for written": (
        of_local("StatusFile*"), LOCAL + "folder/status_file.cpp", r"if \(outcome\) (\{\n    last_written_ = )", r"if (true) \1"),
    "a disk that hangs and is not reported": (
        of_local("StatusFile*"), LOCAL + "folder/status_file.cpp",
        r"if \(!outcome && now - pending_->began >= kHungWriteTimeout\) [^;]*;", ""),
    "a first write that hangs and counts as done": (
        of_local("StatusFile*"), LOCAL + "folder/status_file.cpp", r"\*std::move\(outcome\) : hung_write_error\(\)",
        "*std::move(outcome) : Result<void>()"),
    "a last write that is begun behind one that hangs": (
        of_local("StatusFile*"), LOCAL + "folder/status_file.cpp", r"if \(last && document != last_written_\)",
        "if (document != last_written_)"),
    "calls to a disk that hangs without a limit": (
        of_local("DiskWriter.*"), LOCAL + "disk_writer.cpp", r"if \(queue_->calls\.size\(\) >= kQueuedMax\) return false;", ""),
    "calls that are made although their process has left": (
        of_local("DiskWriter.*"), LOCAL + "disk_writer.cpp", r"  queue_->calls\.clear\(\);\n", ""),
    "a run that waits once for each member whose log hangs": (
        of_local("MemberLogs.*"), LOCAL + "member_logs.cpp", r"pending_opens_\.empty\(\) \? timeout_ : Duration\(0\)",
        "timeout_"),
    "a log that is opened again by its path": (
        of_local("ProcessGroupTest.*"), LOCAL + "members/process_group.cpp", r"if \(plan\.log_fd >= 0\)", "if (false)"),
}


def mutants():
    return of_rows(MUTANTS)


class LimitsMutants(TableOfMutants, MutantTest):
    mutants = staticmethod(mutants)


if __name__ == "__main__":
    unittest.main(verbosity=2)
