"""Mutants of `ratoon`: what it says, takes away, starts again and ends with. With one rule of it broken a unit test must turn
red."""

import unittest

from mutants import MutantTest, TableOfMutants, of_rows

def of_commands(tests):
    return "checkpoint_commands_test", tests


def of_view(tests):
    return "run_view_test", tests


def of_local(tests):
    return "operator_local_test", tests


def of_lines(tests):
    return "member_lines_test", tests


def of_reader(tests):
    return "cluster_reader_test", tests


def of_report(tests):
    return "report_test", tests


def of_variables():
    return "training_job_test", "Variables.*"

VARIABLES = "operator/api/variables.cpp"
# what is broken: (tests, file, pattern, instead)
MUTANTS = {
    "a reader pod that the operator takes for a member": (
        of_reader("ReaderPodTest.*"), "cli/cluster/reader/reader_pod.cpp", r'name\.starts_with\("ratoon\.dev/"\) \|\| ', ""),
    "a reader pod that no deletion of its job deletes": (
        of_reader("ReaderPodTest.*"), "cli/cluster/reader/reader_pod.cpp", r'\{"uid", job\.meta\.uid\}', '{"uid", ""}'),
    "a reader pod beside the last member, away from a volume of the first": (
        of_reader("ReaderPodTest.*"), "cli/cluster/reader/reader_pod.cpp", r"member\.index < first->index", "true"),
    "a word of the user in which kubelet replaces a variable": (
        of_reader("ReaderPodTest.*"), "cli/cluster/reader/save_place.cpp", r"c == '\$' \? \"\$\$\" : ", ""),
    "a hostPath volume that is read on any node": (
        of_reader("ReaderPodTest.*"), "cli/cluster/reader/save_place.cpp", r'if \(volume\.contains\("hostPath"\)\) return true;',
        ""),
    "a volume that ends with a member and is read as an empty one": (
        of_reader("ReaderPodTest.*"), "cli/cluster/reader/save_place.cpp", r'volume\.contains\("ephemeral"\) \|\| ', ""),
    "a mount of another folder that begins with the same letters": (
        of_reader("ReaderPodTest.*"), "cli/cluster/reader/save_place.cpp", r" \|\| path\[mount\.size\(\)\] == '/'", " || true"),
    "a reader that may write to the job's volumes": (
        of_reader("ReaderPodTest.*"), "cli/cluster/reader/reader_container.cpp", r'    mount\["readOnly"\] = true;\n', ""),
    "a reader of which a library of the trainer's image is demanded": (
        of_reader("ReaderPodTest.*"), "cli/cluster/reader/reader_container.cpp", r' \|\| name\.starts_with\("LD_"\)', ""),
    "a user that is null and that the platform cannot choose": (
        of_reader("ReaderPodTest.*"), "operator/kube/pods/member_container.cpp", r"!value\.is_null\(\)\) security",
        "true) security"),
    "a pull that fails again and again and is waited for": (
        of_reader("ReaderStateTest.*"), "cli/cluster/reader/reader_state.cpp", r'"ImagePullBackOff", ', ""),
    "a volume that is in use elsewhere and is not explained": (
        of_reader("ReaderStateTest.*"), "cli/cluster/reader/reader_state.cpp", r'sentence\.find\("Multi-Attach"\)',
        'sentence.find("Multi-attach")'),
    "a refusal by a quota that is told as a missing right": (
        of_reader("PodRefusalTest.*"), "cli/cluster/reader/pod_refusal.cpp", r" && is_permission_error\(error, verb\)", ""),
    "an output of which a part is lost and that is printed as whole": (
        of_reader("RelayedOutputTest.*"), "cli/cluster/reader/relayed_output.cpp", r"if \(\*bytes != output_bytes_\)",
        "if (false)"),
    "a line that is longer than a runtime keeps": (
        of_reader("RelayedOutputTest.*"), "cli/cluster/reader/relayed_output.cpp",
        r"const std::size_t room = kLineBytesMax - partial_line_\.size\(\);", "const std::size_t room = 16 * kLineBytesMax;"),
    "a report of an older run with the time of its newest job": (
        of_report("ClusterJobTest.*"), "cli/report/account.cpp",
        r"if \(length > end - begin \+ kClockDifferenceSecondsMax\) return",
        "if (false) return"),
    "a report of a job that leaves out the time since its last change": (
        of_report("ClusterJobTest.*"), "cli/report/account.cpp", r"  if \(ledger\.since\)\n", "  if (false)\n"),
    "a place that a process told and that the runner does not read": (
        ("operator_local_test", "SaveLocation.*"), "operator/local/folder/save_location.cpp",
        r"if \(told == processes\.end\(\)\) return std::nullopt;", "return std::nullopt;"),
    "a process that is started again without end": (
        ("process_supervisor_test", "ProcessSupervisorTest.*"), "base/process/process_supervisor.cpp",
        r" && slot\.quick_ends <= restarts_max_", ""),
    "a process that leaves late by SIGTERM and fails the launch": (
        ("process_supervisor_test", "ProcessSupervisorTest.*"), "base/process/process_supervisor.cpp",
        r"if \(was_preempted_ && end\.was_killed && end\.code == kSigtermExitCode\) return false;", ""),
    "half a line of a member that is printed as a whole one": (
        of_lines("MemberLinesTest.*"), "cli/run/member_lines.cpp", r"const bool is_last = log\.has_ended && ",
        "const bool is_last = "),
    "the last line of a member that has no end, and is left out": (
        of_lines("MemberLinesTest.*"), "cli/run/member_lines.cpp", r"const bool is_last = log\.has_ended && ",
        "const bool is_last = false && "),
    "lines that an output without room is to take": (
        of_lines("MemberLinesTest.*"), "cli/run/member_lines.cpp",
        r" && output_\.has_room\(\)\) \{\n    const std::string_view rest", ") {\n    const std::string_view rest"),
    "lines of an earlier run that are printed again": (
        of_lines("MemberLinesTest.*"), "cli/run/member_lines.cpp", r"found->second\.offset = before->second\.size;", ";"),
    "a time limit of the trainer that its run does not know": (
        of_lines("RunEndTest.*"), "cli/run/run_end.cpp", r"if \(!limit \|\| \(of_slurm && of_slurm->at < limit->at\)\) return",
        "if (true) return"),
    "a process that is started again after a stop": (
        ("process_supervisor_test", "ProcessSupervisorTest.*"), "base/process/process_supervisor.cpp", r"&& !is_stopping_ ", ""),
    "gc that takes a pinned one from the quarantine": (
        ("checkpoint_commands_test", "*GcTest.*"), "cli/checkpoint/gc.cpp",
        r"found\.id < plan\.newest &&\n\s*!found\.is_pinned\)",
        "found.id < plan.newest)"),
    "gc beside a newest one that is bad": (
        ("checkpoint_commands_test", "*GcTest.*"), "cli/checkpoint/gc.cpp", r"if \(verified\.verdict != VerifyOutcome::kGood\)",
        "if (false)"),
    "a status of another run that a job file has and that counts": (
        ("job_file_test", "JobFileTest.*"), "cli/job/job_file.cpp", r'  document\.erase\("status"\);[^\n]*\n', ""),
    "a word behind -- in which a variable is replaced": (
        ("job_file_test", "JobFileTest.*"), "cli/job/job_file.cpp", r"arguments\.push_back\(api::escape_variables\(word\)\)",
        "arguments.push_back(word)"),
    "a $$ of a job file that stays one": (
        of_variables(), VARIABLES, r'if \(rest\.starts_with\("\$\$"\)\)', "if (false)"),
    "a variable that is unknown and becomes nothing": (
        of_variables(), VARIABLES, r"found == known\.end\(\) \? rest\.substr\(0, length\)",
        "found == known.end() ? std::string_view()"),
    "a $$ behind -- that becomes one $": (
        of_variables(), VARIABLES, r'text\.find\("\$\$"\) == std::string_view::npos && ', ""),
    "a variable whose value shows another one as it is written": (
        of_variables(), VARIABLES, r"known\[name\] = expand_variables\(value, known\);", "known[name] = value;"),
    "a start that the system refuses and that is tried again without a pause": (
        ("process_supervisor_test", "ProcessSupervisorTest.*"), "base/process/process_supervisor.cpp",
        r"since = now \+ kResourceShortagePause;", "since = now;"),
    "a misspelt field that passes": (
        ("job_file_test", "JobFieldsTest.*"), "cli/job/unknown_fields.cpp",
        r"if \(!known\) return unknown\(item\.first, schema, path\);", "if (!known) continue;"),
    "a checkpoint that is bad beside a good one and ends with 0": (
        of_commands("ExitCode.*"), "cli/checkpoint/verify_outcome.cpp",
        r"return has\(VerifyOutcome::kBad\) \|\| has\(VerifyOutcome::kUnreadable\) \? 1 : 0;",
        "return has(VerifyOutcome::kBad) ? 1 : 0;"),
    "a pin that was there before and goes with ours": (
        of_commands("*PinsTest.*"), "cli/checkpoint/pins.cpp", r"  if \(\*is_new\) \{", "  if (true) {"),
    "the first of several pins, where none is named": (
        of_commands("ChoosePin.*"), "cli/checkpoint/pins.cpp", r"if \(selected\.size\(\) == 1\) return",
        "if (!selected.empty()) return"),
    "an export that is named by the folder above its run": (
        of_commands("ExportName.*"), "cli/checkpoint/commands/export_name.cpp",
        r"  while \(run\.ends_with\('/'\)\) run\.pop_back\(\);\n", ""),
    "a size that is said as 1024 of the smaller unit": (
        of_commands("Text.*"), "cli/text/text_format.cpp", r"value >= 1023\.95", "value >= 1024"),
    "a retired checkpoint that verify calls bad": (
        of_commands("SurveyTest.*"), "cli/checkpoint/verify.cpp", r" && is_retired\(disk, found\.id\)", " && false"),
    "a run that was stopped and is said to train": (
        of_view("RunView.*"), "cli/run/render_run.cpp", r"return view\.is_running && view\.job\.status\.phase == ",
        "return view.job.status.phase == "),
    "a median of two recoveries that is the longer one": (
        of_view("RunView.*"), "cli/run/render_run.cpp",
        r"all\.size\(\) % 2 == 1 \? all\[half\] : \(all\[half - 1\] \+ all\[half\]\) / 2", "all[half]"),
    "a peak of a curve that the report leaves out": (
        of_report("DownsampleTest.*"), "cli/report/downsample.cpp", r"  if \(low != high\) into\.push_back\(\*high\);\n", ""),
    "a mark in a name that becomes one of the page": (
        of_report("RenderTest.*"), "cli/report/page/html.cpp", r'safe \+= "&lt;";', 'safe += "<";'),
    "a recovery of 99.96 percent that is called whole": (
        of_report("TextTest.*"), "cli/report/page/html.cpp", r"std::min\(std::round\(share \* 1000\) / 10, 99\.9\)",
        "std::round(share * 1000) / 10"),
    "shares of the time that are cut off and do not add up to the whole": (
        of_report("TextTest.*"), "cli/report/page/html.cpp", r"std::round\(share \* 1000\)", "std::floor(share * 1000)"),
    "steps made again of which the sentence says that nothing was lost": (
        of_report("RenderTest.*"), "cli/report/page/render.cpp", r" \+ report\.repeated_step_count == 0\)", " == 0)"),
    "saves that take the place of steps in the useful time": (
        of_report("ReportAccountTest.*"), "cli/report/account.cpp", r"return whole > useful \? useful / whole : 1;", "return 1;"),
    "a step of which the rate is 0": (
        of_report("ReportAccountTest.*"), "cli/report/curves.cpp",
        r"  if \(std::ranges::all_of\(made, [^;]*; \}\)\) return rate;\n", ""),
    "values of steps that were made again in the event files of TensorBoard": (
        of_report("TensorboardEvents.*"), "cli/report/tensorboard.cpp", r"if \(row\.is_kept\)", "if (true)"),
    "a later attempt of which TensorBoard is not told": (
        of_report("TensorboardEvents.*"), "cli/report/tensorboard.cpp", r"if \(has_begun_ && row\.attempt > newest_attempt_\)",
        "if (false)"),
    "half a step on the axis of steps": (
        of_report("AxisTest.*"), "cli/report/page/axis.cpp", r"std::max\(1\.0, tick_step\(last, wanted\)\)",
        "tick_step(last, wanted)"),
    "the last name of an axis that the edge of the drawing cuts off": (
        of_report("RenderTest.*"), "cli/report/page/drawings.cpp", r"is_cut_off \? kEdge : x", "x"),
    "what a later attempt did not go on from and counts": (
        of_report("AttemptHistoryTest.*"), "cli/report/facts/attempt_history.cpp",
        r"file\.text\.size\(\) - rest\.size\(\) <= kept", "true"),
    "the first of several values of a trainer's flag": (
        of_local("SaveLocation.*"), "operator/local/folder/trainer_option.cpp",
        r"value = words\[i\]\.substr\(([^;]*);", r"return words[i].substr(\1;"),
    "a word behind -- that is taken for a trainer's flag": (
        of_local("SaveLocation.*"), "operator/local/folder/trainer_option.cpp", r' && words\[i\] != "--"', ""),
    "a flag of the program that overrides the one with the prefix": (
        of_local("SaveLocation.*"), "operator/local/folder/trainer_option.cpp",
        r"return prefixed \? prefixed : flag_value_in\(words, flag\);", "return flag_value_in(words, flag);"),
    "a variable in a trainer's flag that stays as it is written": (
        of_local("SaveLocation.*"), "operator/local/folder/trainer_option.cpp",
        r"return api::expand_variables\(\*value, [^;]*;", "return *value;"),
    "a run name of the command line that its place does not have": (
        of_local("SaveLocation.*"), "operator/local/folder/save_location.cpp", r"return given \? \*given : ", "return "),
    "a folder of the command line that is not where a run saves": (
        of_local("SaveLocation.*"), "operator/local/folder/save_location.cpp",
        r"return find_trainer_option\(job, \{\.flag = \"--save-folder\"[^;]*;", "return folders.save.string();"),
    "a place within the run's folder that a copy does not have": (
        of_local("SaveLocation.*"), "operator/local/folder/save_location.cpp",
        r"return is_within \? within\.string\(\) : place\.string\(\);", "return place.string();"),
    "a place beside the run's folder that is taken for one within it": (
        of_local("SaveLocation.*"), "operator/local/folder/save_location.cpp", r'\*within\.begin\(\) != "\.\." && ', ""),
    "a cluster that a context alone does not mean": (
        ("cluster_status_test", "ClusterSelection.*"), "cli/cluster/access/cluster_selection.cpp",
        r" \|\| !selection\.context\.empty\(\)", ""),
}


def mutants():
    return of_rows(MUTANTS)


class CommandMutants(TableOfMutants, MutantTest):
    mutants = staticmethod(mutants)


if __name__ == "__main__":
    unittest.main(verbosity=2)
