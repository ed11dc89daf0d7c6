"""Mutants of the launcher and of what the operator decides about its members. With one rule broken a unit test must turn red."""

import unittest

from mutants import MutantTest, TableOfMutants, of_rows

CONTROL = "launcher/program_control.cpp"
ENVIRONMENT = "launcher/program_environment.cpp"
CORE = "operator/core/"


def of_control(tests="*"):
    return "program_control_test", f"ProgramControlTest.{tests}"


def of_environment(tests):
    return "program_environment_test", tests


def of_core(tests="*"):
    return "operator_core_test", f"Launched.{tests}"


def of_pods(tests):
    return "operator_kube_test", f"MemberPod.{tests}"


# what is broken: (tests, file, pattern, instead)
MUTANTS = {
    "the end of a program that counts as the silence of its member": (
        of_core("AMemberWhoseProgram*"), CORE + "loss/silence.cpp", r"if \(times\.has_program_ended\) \{", "if (false) {"),
    "the end of a program whose pod is waited for without end": (
        of_core("AMemberWhoseProgram*"), CORE + "loss/silence.cpp", r"if \(now - member\.heard >= mass_limit\)", "if (false)"),
    "a grace that a repeated deletion takes back": (
        of_core("AMemberWithANotice*"), CORE + "members/notice.cpp",
        r"if \(std::ranges::find\(seen\.pod_uids_with_grace, [^;]*;", ""),
    "a grace that the next decision does not know of": (
        of_core("AMemberWithANotice*"), CORE + "decision.cpp", r" && removal->has_grace", " && removal->has_grace && false"),
    "a program that was told to leave and counts as ended by itself": (
        of_control("*NotDone"), CONTROL, r"has_ended_by_itself_ = !was_leaving;", "has_ended_by_itself_ = true;"),
    "a program that starts in a world that is over": (
        of_control(), CONTROL, r"if \(has_world_ended\(\)\) \{  // before", "if (false) {  // before"),
    "a failure that follows from a loss and ends the launcher": (
        of_control("AFailureWaits*"), CONTROL, r"if \(is_world_over\(\)\) \{\n      rejoin", "if (false) {\n      rejoin"),
    "a failure that is reported before its cause": (
        of_control(), CONTROL, r"settles_at_ = now \+ settle_;", "settles_at_ = now;"),
    "rare heartbeats that nothing waits for": (
        of_control("WithRare*"), CONTROL, r"std::max\(times_\.settle_min, [^;]*;", "times_.settle_min;"),
    "a killed program that comes back as the same start": (
        of_control("AKilledProgramIsStarted*"), CONTROL, r"rejoin\(true\);", "rejoin(false);"),
    "a program that is killed and started again without end": (
        of_control("AProgramThatIsKilledTooOften*"), CONTROL,
        r"if \(!supervisor_\.record_end\(0, ended, now\)\) return finish\(ended\.code\);",
        "static_cast<void>(supervisor_.record_end(0, ended, now));"),
    "exit code 0 after SIGTERM that counts as done": (
        of_control("*NotDone"), CONTROL, r"static_cast<int>\(ExitCode::kPreempted\) : ended\.code", "ended.code : ended.code"),
    "a hand-over without the grace of the pod": (
        of_control("AtAHandOver*"), CONTROL, r"tell\(Leave::kHandOver, end_of_grace\(now\)", "tell(Leave::kHandOver, now"),
    "a node that ends before its program was told": (
        of_control("WithoutASuccessor*"), CONTROL, r"return \*node_ends_at_ - times_\.grace;", "return *node_ends_at_;"),
    "a notice that cannot be taken back": (
        of_control("ANotice*"), CONTROL, r"  node_ends_at_\.reset\(\);\n", ""),
    "a program that ignores SIGTERM and lives": (
        of_control("AfterALoss*"), CONTROL, r"return KillProgram\{\};", "return std::nullopt;"),
    "a program that ends because its coordinator is away": (
        of_control("AProgramThatRuns*"), CONTROL, r"  if \(fenced_\) return tell\(Leave::kFenced, ",
        "  if (unheard_) return end(84, *unheard_);\n  if (fenced_) return tell(Leave::kFenced, "),
    "a replaced member that is killed while it saves": (
        of_control("AReplacedMemberThat*"), CONTROL, r"if \(fenced_\) leave_ = Leave::kFenced;",
        "if (fenced_) leave_ = Leave::kFenced, kill_at_ = now;"),
    "a replaced member whose node ends that is killed at once": (
        of_control("AReplacedMemberWhoseNode*"), CONTROL, r"return node_ends_at_ \? [^;]*;", "return now;"),
    "a replaced member that goes on": (
        of_control("AMemberThat*"), CONTROL, r"refusal::kSuperseded\) fenced_ = ", "refusal::kFinished) fenced_ = "),
    "a program that learns how to reach the coordinator": (
        of_environment("ProgramEnvironment.*"), ENVIRONMENT, r"!is_ours && ", ""),
    "an address of IPv6 in its brackets": (
        of_environment("ProgramEnvironment.*"), ENVIRONMENT, r"host = host\.substr\(1, host\.size\(\) - 2\)", "host = host"),
    "a name that nothing looks up": (
        of_environment("MemberSettings.*"), "launcher/member_settings.cpp", r"!http::is_ip_address\(parsed->host\)", "false"),
    "members that are done while a new world needs them": (
        of_core("AfterALoss*"), CORE + "world/form_world.cpp", r"if \(renew_completed_members\(seen, decision\)\) return \{\};",
        ""),
    "a world of programs that waits for lists of checkpoints": (
        of_core("TheNextWorld*"), CORE + "world/form_world.cpp", r"are_old = has_agent && ", "are_old = "),
    "a checkpoint of a program with the agent that programs without it must find": (
        of_core("ACheckpointOf*"), CORE + "world/form_world.cpp", r"missing = has_agent \? ", "missing = true ? "),
    "a program that is killed while it saves because its successor takes over": (
        of_core("AMemberWithANotice*"), CORE + "members/roster.cpp", r"may_still_save\(seen, pod\)", "false"),
    "a silent member that may write for its grace": (
        of_core("ALostMember*"), CORE + "members/notice.cpp", r"return has_notice [^;]*;",
        "return true || has_successor;"),
    "a launched program that is never done": (
        of_core("AMemberIsDone*"), CORE + "members/completion.cpp", r"if \(api::uses_launcher\(seen\.job\.spec\)\)",
        "if (false)"),
    "programs that fail together and use up several restarts": (
        of_core("AFailureUsesUp*"), CORE + "members/roster.cpp",
        r"    ending\.is_shared = true;\n", ""),
    "programs that fail together and whose ends are reported one after another": (
        of_core("AFailureUsesUp*"), CORE + "members/roster.cpp",
        r"if \(!seen\.job\.status\.is_world_formed && member\.has_been_in_world\)", "if (false)"),
    "a member that has completed, and whose end is reported late": (
        of_core("AMemberThatMayHaveCompleted*"), CORE + "loss/silence.cpp",
        r"may_have_ended \? mass_limit : limit", "may_have_ended ? limit : limit"),
    "a recovery of programs without steps that has no end": (
        of_core("ARecovery*"), CORE + "status/recovery.cpp", r"if \(api::uses_launcher\(seen\.job\.spec\)\) \{", "if (false) {"),
    "the same failure twice that ends a job of programs without steps": (
        of_core("TheSameFailure*"), CORE + "loss/fault/repeated_fault.cpp", r" \|\| !api::reports_steps\(seen\.job\.spec\)", ""),
    "a command that the launcher does not start": (
        of_pods("TheLauncherIs*"), "operator/kube/pods/member_container.cpp",
        r"if \(api::uses_launcher\(job\.spec\)\) wrap_command_in_launcher\(container\);", ""),
    "a pod into which nothing copies the launcher": (
        of_pods("TheLauncherIs*"), "operator/kube/pods/member_pod.cpp",
        r"if \(api::uses_launcher\(job\.spec\)\) add_launcher\(spec, settings\);", ""),
    "an operator that does not know its image and makes pods of launchers": (
        of_pods("ALauncherThat*"), "operator/kube/pods/member_pod.cpp", r"&& settings\.launcher_image\.empty\(\)", "&& false"),
}


def mutants():
    return of_rows(MUTANTS)


class LauncherMutants(TableOfMutants, MutantTest):
    mutants = staticmethod(mutants)


if __name__ == "__main__":
    unittest.main(verbosity=2)
