"""Mutants of the door where members call: in which order, how often and from where. With one rule of it broken a test must turn
red."""

import unittest

from mutants import MutantTest, of_rows

STRANGERS = ("http_server_test", "Strangers.*")
PORCH = ("operator_runtime_test", "Porch*")
FAIRNESS = ("coordinator_test", "CoordinatorFairness.*:MessageBudget.*")

# what is broken: (tests, file, pattern, instead)
MUTANTS = {
    "a process is let go before the status says that it is done": (
        ("coordinator_test", "CoordinatorTest.Completion*"), "operator/coordinator/door.cpp",
        r"processes_per_node <= 1 \|\| ", "processes_per_node <= 64 || "),
    "a process that is done waits for the record of another": (
        ("coordinator_test", "CoordinatorTest.Completion*"), "operator/coordinator/door.cpp",
        r"done\.local_ranks >> process\.local_rank & 1U", "done.local_ranks"),
    "a lease that waits for an overloaded server": (
        ("operator_runtime_test", "Elector.*"), "operator/runtime/elector.cpp", r"election_\.note\(client_\.call_once\(",
        "election_.note(client_.call("),
    "members wait behind strangers": (
        PORCH, "operator/runtime/porch.cpp", r"if \(options_\.is_known\(request\)\) return", "if (false) return"),
    "strangers fill the memory": (PORCH, "operator/runtime/porch.cpp", r"bytes_ \+ bytes > options_\.bytes_max", "false"),
    "strangers wait behind all of another address": (
        PORCH, "operator/runtime/porch.cpp", r"request\.peer\.substr\(0, request\.peer\.rfind\(':'\)\)", '"one address"'),
    "nobody hears how long strangers wait": (
        PORCH, "operator/runtime/porch.cpp", r"clock_\.now\(\) - line\.turn_since >= kLate", "false"),
    "a bearer that cannot be proved makes all others wait": (
        FAIRNESS, "operator/coordinator/coordinator.cpp", r"note_unproved\(message->process\);", "note_unread();"),
    "a member that was not heard is silent while it waits at the door": (
        FAIRNESS, "operator/coordinator/coordinator.cpp", r"unread > listening && ", "false && "),
    "a member may call as often as it likes": (
        FAIRNESS, "operator/coordinator/message_budget.cpp", r"spent\.messages \+ 1 > limits_\.burst \* number", "false"),
    "a member may have any number of connections": (
        FAIRNESS, "base/http/owners.cpp", r"sessions\.size\(\) <= std::max<std::size_t>\(max, 1\)", "true"),
    "a namespace takes all workers": (
        ("operator_runtime_test", "WorkQueueTest.*"), "operator/runtime/work_queue.cpp", r"out >= each_max_", "false"),
    "a server in trouble is asked for each pod": (
        ("operator_runtime_test", "ControllerTest.*"), "operator/runtime/controller.cpp", r"if \(is_trouble\([^;]*break;", ""),
    "jobs wait for each other's names": (
        ("operator_runtime_test", "ControllerTest.*"), "operator/runtime/cluster.cpp", r"if \(is_others \|\| hangs", "if (hangs"),
    "strangers are many": (STRANGERS, "base/http/strangers.cpp", r"strangers_\.size\(\) <= max_", "true"),
    "the youngest stranger goes": (
        STRANGERS, "base/http/strangers.cpp", r"return silent != newest \? silent",
        "return (silent != newest || true) ? newest"),
    "a stranger goes while it is asked about": (STRANGERS, "base/http/strangers.cpp", r"!one\.is_in_work && ", ""),
    "a gang pushes itself out": (STRANGERS, "base/http/strangers.cpp", r"if \(count \* kCrowdShare <= max_\)", "if (false)"),
    "who crowds pushes others out": (
        STRANGERS, "base/http/strangers.cpp", r"one\.address == crowd", "(one.address == crowd || true)"),
    "who owes a request for long stays": (STRANGERS, "base/http/strangers.cpp", r"kHonestTime\{2\}", "kHonestTime{200}"),
    "who is only refused takes a place": (
        STRANGERS, "base/http/server.cpp", r"core_->add_to_refuse\(session\)", "core_->add(session)"),
    "who came just now owes a request": (STRANGERS, "base/http/strangers.cpp", r"kHonestTime\{2\}", "kHonestTime{-1}"),
    "strangers take their time": (
        STRANGERS, "base/http/server_session.cpp", r"is_stranger_ \? std::min\(until, due_\) : until", "until"),
    "strangers wait for ever": (PORCH, "operator/runtime/porch.cpp", r"clock_\.now\(\) >= first\.until", "false"),
}


def mutants():
    return of_rows(MUTANTS)


class DoorMutants(MutantTest):
    def test_each_turns_a_test_red(self):
        self.check_each(mutants())

    def test_what_is_left_as_it_is_passes(self):
        self.check_sound(mutants())


if __name__ == "__main__":
    unittest.main(verbosity=2)
