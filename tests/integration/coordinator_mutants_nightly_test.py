"""Mutants of the coordinator: the order, the number and the origin of requests. With one rule of it broken a test must turn
red."""

import unittest

from mutants import MutantTest, TableOfSources, of_rows

CLIENTS = ("http_server_test", "UnauthenticatedConnections.*")
QUEUE = ("operator_runtime_test", "AdmissionQueue*")
METRICS = ("operator_runtime_test", "OperatorMetrics.*")
SCHEDULING = ("operator_runtime_test", "FairQueueTest.*:WorkQueueTest.*:ControllerTest.*:RequestedPauses.*")
FAIRNESS = ("coordinator_test", "CoordinatorFairness.*:MessageRateLimiter.*")

# what is broken: (tests, file, pattern, instead)
MUTANTS = {
    "a process is let go before the status says that it is done": (
        ("coordinator_test", "JobSession.*"), "operator/coordinator/job_session.cpp",
        r"processes_per_node <= 1 \|\| ", "processes_per_node <= 64 || "),
    "a process that is done waits for the record of another": (
        ("coordinator_test", "JobSession.*"), "operator/coordinator/job_session.cpp",
        r"of_member->second >> process\.local_rank & 1U", "of_member->second"),
    "a heartbeat that the network delivered late and that counts as a sign of life": (
        ("coordinator_test", "JobSession.*"), "operator/coordinator/job_session.cpp",
        r"if \(is_overtaken\(beat\)\) return false;",
        "if (is_overtaken(beat)) return facts_of(beat.process, now).is_completed;"),
    "a list of checkpoints that is repeated to a new operator and counts as new": (
        ("coordinator_test", "JobSessionLists.*"), "operator/coordinator/job_session.cpp",
        r"now - from_seconds\(\*request\.inventory_age_seconds\)", "now"),
    "a list whose age is not said": (
        ("coordinator_link_test", "CoordinatorLinkTest.SaysHowOldTheListIsThatItRepeats"),
        "agent/src/session/link/coordinator_link.cpp",
        r"request\.inventory_age_seconds = seconds\(system_clock\(\)\.now\(\) - listed\);", "static_cast<void>(listed);"),
    "a list that is as old as the end of its reading": (
        ("coordinator_link_test", "CoordinatorLinkTest.AListIsAsOldAsTheBeginningOfItsReading"),
        "agent/src/session/link/coordinator_link.cpp", r"listing_began_\.value_or\(system_clock\(\)\.now\(\)\)",
        "system_clock().now()"),
    "a completion that is as new as its last report": (
        ("coordinator_test", "JobSessionLists.*"), "operator/coordinator/job_session.cpp",
        r"if \(!std::exchange\(facts\.is_completed, true\)\) facts", "facts.is_completed = true;\n  facts"),
    "complaints about peers that begin anew with each beat": (
        ("coordinator_test", "JobSessionPeers.*"), "operator/coordinator/job_session.cpp",
        r"!facts\.peers_unreachable_since \|\| ", "true || "),
    "a member that probes all others of a large world": (
        ("coordinator_test", "JobSessionPeers.*"), "operator/coordinator/job_session.cpp",
        r" && peers\.size\(\) < kPeersMax", ""),
    "probes that fill the queue of a peer": (
        ("coordinator_link_test", "ProbePeers.*"), "agent/src/session/rendezvous/rendezvous_socket.cpp", "TCP_DEFER_ACCEPT",
        "TCP_NODELAY"),
    "peers of one wait that are named in the next": (
        ("coordinator_link_test", "PeerWatchTest.*"), "agent/src/session/link/peer_watch.cpp",
        r"wait_began_at_ == waits_since \? unreachable_peers_", "true ? unreachable_peers_"),
    "members that wait behind unauthenticated requests": (
        QUEUE, "operator/runtime/members/admission_queue.cpp", r"if \(options_\.is_known\(request\)\) return",
        "if (false) return"),
    "unauthenticated requests that fill the memory": (QUEUE, "operator/runtime/members/admission_queue.cpp",
        r"bytes_ \+ bytes > options_\.bytes_max", "false"),
    "unauthenticated requests that wait for all of another address": (
        QUEUE, "operator/runtime/members/admission_queue.cpp", r"request\.peer\.substr\(0, request\.peer\.rfind\(':'\)\)",
        '"one address"'),
    "a long wait of unauthenticated requests that is not reported": (
        QUEUE, "operator/runtime/members/admission_queue.cpp", r"clock_\.now\(\) - line\.turn_since >= kLateAfter", "false"),
    "a bearer that cannot be proved makes all others wait": (
        FAIRNESS, "operator/coordinator/coordinator.cpp", r"note_failed_authentication\(message->process\);",
        "note_discarded_messages();"),
    "a member that counts as silent while its request waits": (
        FAIRNESS, "operator/coordinator/coordinator.cpp", r"unread > listening && ", "false && "),
    "a member may call as often as it likes": (
        FAIRNESS, "operator/coordinator/message_rate_limiter.cpp", r"spent\.messages \+ 1 > limits_\.burst \* number", "false"),
    "a member may have any number of connections": (
        FAIRNESS, "base/http/server/connections_by_owner.cpp",
        r"sessions\.size\(\) <= std::max<std::size_t>\(owner\.connections_max, 1\)", "true"),
    "a namespace takes all workers": (
        ("operator_runtime_test", "WorkQueueTest.*"), "operator/runtime/scheduling/fair_queue.cpp",
        r"line\.taken >= limits_\.per_namespace_max", "false"),
    "slow jobs take all workers of their namespace": (
        SCHEDULING, "operator/runtime/scheduling/fair_queue.cpp", r"line\.slow_taken_count < limits_\.slow_per_namespace_max",
        "true"),
    "slow jobs take all workers": (
        SCHEDULING, "operator/runtime/scheduling/fair_queue.cpp", r"slow_taken_jobs_\.size\(\) < limits_\.slow_max", "true"),
    "a job is slow for ever": (
        SCHEDULING, "operator/runtime/scheduling/fair_queue.cpp", r"slow_jobs_\.erase\(key\);", ";"),
    "a deleted job that is remembered as slow": (
        ("operator_runtime_test", "WorkQueueTest.*"), "operator/runtime/scheduling/work_queue.cpp", r"due_\.forget\(key\);", ";"),
    "a worker whose call hangs keeps its place": (
        SCHEDULING, "operator/runtime/scheduling/fair_queue.cpp", r"now - taken\.second < kHangingTurn", "taken.second <= now"),
    "a place that is free and that no thread notices": (
        ("operator_runtime_test", "FairQueueTest.*"), "operator/runtime/scheduling/fair_queue.cpp",
        r"if \(now - since < kHangingTurn\)\s+next", "next"),
    "a namespace that has workers comes before one that has none": (
        SCHEDULING, "operator/runtime/scheduling/fair_queue.cpp", r"of\.line->taken, ", "0, "),
    "a namespace that comes back at once is always first": (
        SCHEDULING, "operator/runtime/scheduling/fair_queue.cpp", r"\.served = take_count_", ".served = 0"),
    "a routine decision that waits for all disruptions": (
        SCHEDULING, "operator/runtime/scheduling/fair_queue.cpp", r" \|\| now - due >= kRoutineWait", ""),
    "a pause that is asked for and does not delay the next call": (
        SCHEDULING, "operator/runtime/jobs/cluster.cpp", r"if \(asked\) pauses\.note[^;]*;", ""),
    "a job that is looked at during the whole pause": (
        SCHEDULING, "operator/runtime/controller.cpp", r"if \(const auto end = cluster_\.retry_after_end[^;]*;", ""),
    "a job with many pods that has its worker until all are made": (
        SCHEDULING, "operator/runtime/scheduling/turn_slice.h", r"has_begun_ && clock_\.now\(\) >= end_", "false"),
    "a job with many pods that waits for its next look after a slice": (
        SCHEDULING, "operator/runtime/controller.cpp", r"memory\.is_turn_cut \? now : next", "next"),
    "events of a namespace that take all the time": (
        ("operator_runtime_test", "EventWriterTest.*"), "operator/runtime/jobs/event_writer.cpp",
        r"took >= kSlowWrite \? ", "false ? "),
    "events that are lost while the server is overloaded": (
        ("operator_runtime_test", "EventWriterTest.*"), "operator/runtime/jobs/event_writer.cpp",
        r"is_again = asked && ", "is_again = false && "),
    "an event that is repeated for ever": (
        ("operator_runtime_test", "EventWriterTest.*"), "operator/runtime/jobs/event_writer.cpp",
        r"std::exchange\(next->is_repeated, true\)", "next->is_repeated"),
    "reviews for one address use all threads": (
        QUEUE, "operator/runtime/members/admission_queue.cpp", r"\.in_review_count < each_max", ".in_review_count < 1000"),
    "a namespace takes all connections": (
        FAIRNESS, "base/http/server/connections_by_owner.cpp", r"found->second\.connections < \*connections_per_tenant_max_",
        "true"),
    "owners that do not take turns": (
        ("operator_runtime_test", "RoundRobinQueue.*"), "operator/runtime/scheduling/round_robin_queue.h",
        r"owner_order_\.push_back\(std::move\(served\)\)", "owner_order_.push_front(std::move(served))"),
    "an owner whose items push out those of others": (
        ("operator_runtime_test", "RoundRobinQueue.*"), "operator/runtime/scheduling/round_robin_queue.h",
        r"take_from\(longest\(\)\)", "take_from(owner_order_.back())"),
    "a pod that is known by all tokens that it shows": (
        ("operator_runtime_test", "ReviewedTokens.*"), "operator/runtime/members/reviewed_tokens.cpp",
        r"keys\.size\(\) >= kAnswersPerPodMax", "false"),
    "a server in trouble is asked for each pod": (
        ("operator_runtime_test", "ControllerTest.*"), "operator/runtime/controller.cpp",
        r"if \(is_server_unresponsive\([^;]*break;", ""),
    "a job that cannot be read, and no metric that says so": (
        ("operator_runtime_test", "ControllerTest.*"), "operator/runtime/controller.cpp",
        r"metrics_\.note_unreadable\(key\);", ""),
    "a job that is over has the problems of its last day": (
        METRICS, "operator/runtime/metrics/job_metrics.cpp",
        r"if \(api::is_over\(status\.phase\) \|\| [^;]*return reasons;", ""),
    "a job that was never read is shown with zeros": (
        METRICS, "operator/runtime/metrics/job_metrics.cpp", r"if \(!has_status_ && family != kProblem\) return;", ""),
    "an installation is good although no operator leads": (
        ("operator_runtime_test", "InstallationCheckTest.*"), "operator/runtime/installation_check.cpp",
        r"is_held = !kube::string_field[^;]*;", "is_held = true;"),
    "an installation is bad while its operators start": (
        ("operator_runtime_test", "InstallationCheckTest.*"), "operator/runtime/installation_check.cpp",
        r"deadline = clock\.now\(\) \+ check\.timeout;", "deadline = clock.now();"),
    "jobs wait for each other's names": (
        ("operator_runtime_test", "ControllerTest.*"), "operator/runtime/jobs/cluster.cpp",
        r"if \(!owner\.empty\(\) \|\| is_hanging",
        "if (is_hanging"),
    "unauthenticated connections without a limit": (
        CLIENTS, "base/http/server/unauthenticated_connections.cpp", r"connections_\.size\(\) <= connections_max_",
        "true"),
    "the newest unauthenticated connection that is closed": (
        CLIENTS, "base/http/server/unauthenticated_connections.cpp", r"return silent != newest \? silent",
        "return (silent != newest || true) ? newest"),
    "an unauthenticated connection that is closed during its review": (
        CLIENTS, "base/http/server/unauthenticated_connections.cpp",
        r"!one\.has_running_request && ", ""),
    "a gang pushes itself out": (CLIENTS, "base/http/server/unauthenticated_connections.cpp",
        r"if \(count \* kCrowdedAddressDivisor <= connections_max_\)", "if (false)"),
    "an address with many connections that displaces others": (
        CLIENTS, "base/http/server/unauthenticated_connections.cpp", r"one\.address == crowd",
        "(one.address == crowd || true)"),
    "a connection that has sent no request for long and stays": (
        CLIENTS, "base/http/server/unauthenticated_connections.cpp", r"kFirstRequestTimeMax\{2\}",
        "kFirstRequestTimeMax{200}"),
    "a refused request that counts as a connection": (
        CLIENTS, "base/http/server.cpp", r"core_->add_for_refusal\(session\)", "core_->add(session)"),
    "a new connection that counts as one without a request": (
        CLIENTS, "base/http/server/unauthenticated_connections.cpp", r"kFirstRequestTimeMax\{2\}",
        "kFirstRequestTimeMax{-1}"),
    "unauthenticated connections without a deadline": (
        CLIENTS, "base/http/server/server_session.cpp",
        r"is_unauthenticated_ \? std::min\(until, unauthenticated_deadline_\) : until", "until"),
    "unauthenticated requests that wait for ever": (
        QUEUE, "operator/runtime/members/admission_queue.cpp", r"clock_\.now\(\) >= first\.until",
        "false"),
}


def mutants():
    return of_rows(MUTANTS)


class DoorMutants(TableOfSources, MutantTest):
    mutants = staticmethod(mutants)


if __name__ == "__main__":
    unittest.main(verbosity=2)
