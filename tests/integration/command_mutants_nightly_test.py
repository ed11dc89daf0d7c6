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


def of_report(tests):
    return "report_test", tests

# what is broken: (tests, file, pattern, instead)
MUTANTS = {
    "a place that a process told and that the runner does not read": (
        ("operator_local_test", "SaveLocation.*"), "operator/local/folder/save_location.cpp",
        r"if \(told == processes\.end\(\)\) return std::nullopt;", "return std::nullopt;"),
    "a process that is started again without end": (
        ("process_supervisor_test", "ProcessSupervisorTest.*"), "cli/launch/process_supervisor.cpp",
        r" && slot\.quick_ends <= restarts_max_", ""),
    "a process that leaves late by SIGTERM and fails the launch": (
        ("process_supervisor_test", "ProcessSupervisorTest.*"), "cli/launch/process_supervisor.cpp",
        r"if \(was_preempted_ && end\.was_killed && end\.code == kEndedByTerm\) return false;", ""),
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
        of_lines("MemberLinesTest.*"), "cli/run/member_lines.cpp", r"found->second\.offset = before->second\.size;", ""),
    "a time limit of the trainer that its run does not know": (
        of_lines("RunEndTest.*"), "cli/run/run_end.cpp", r"if \(!limit \|\| \(of_slurm && of_slurm->at < limit->at\)\) return",
        "if (true) return"),
    "a process that is started again after a stop": (
        ("process_supervisor_test", "ProcessSupervisorTest.*"), "cli/launch/process_supervisor.cpp", r"&& !is_stopping_ ", ""),
    "gc that takes a pinned one from the quarantine": (
        ("checkpoint_commands_test", "*GcTest.*"), "cli/checkpoint/gc.cpp",
        r"found\.id < plan\.newest &&\n\s*!found\.is_pinned\)",
        "found.id < plan.newest)"),
    "gc beside a newest one that is bad": (
        ("checkpoint_commands_test", "*GcTest.*"), "cli/checkpoint/gc.cpp", r"if \(verified\.verdict != VerifyOutcome::kGood\)",
        "if (false)"),
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
        of_report("TextTest.*"), "cli/report/page/html.cpp", r"std::floor\(share \* 1000\) / 10",
        "std::round(share * 1000) / 10"),
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
        r"return prefixed \? prefixed : flag_in\(words, flag\);", "return flag_in(words, flag);"),
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
