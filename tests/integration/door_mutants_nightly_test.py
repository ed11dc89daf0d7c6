"""Mutants of who is let in: which token is whose, which certificate is believed and which is shown. With one rule of it broken
a test must turn red."""

import unittest

from mutants import MutantTest, of_rows

MEMBERS = ("operator_runtime_test", "MatchMember.*")
REVIEWS = ("operator_kube_test", "TokenReview.*")
REVIEWER = ("operator_runtime_test", "TokenReviewerTest.*")
STRANGERS = ("http_server_test", "Strangers.*")
TOKENS = ("coordinator_test", "CoordinatorTest.WhoShows*")
PORCH = ("operator_runtime_test", "Porch*")
FAIRNESS = ("coordinator_test", "CoordinatorFairness.*:MessageBudget.*")
DOOR = ("coordinator_test", "DoorRefuses.*")
ADDRESSES = ("http_server_test", "ServerAddresses.*")
CERTIFICATES = ("operator_runtime_test", "DoorCertificateTest.*")
TLS = ("http_transport_test", "*Tls*")

# what is broken: (tests, file, pattern, instead)
MUTANTS = {
    "a process is let go before the status says that it is done": (
        ("coordinator_test", "CoordinatorTest.Completion*"), "operator/coordinator/door.cpp",
        r"processes_per_node <= 1 \|\| ", "processes_per_node <= 64 || "),
    "a process that is done waits for the record of another": (
        ("coordinator_test", "CoordinatorTest.Completion*"), "operator/coordinator/door.cpp",
        r"done\.local_ranks >> process\.local_rank & 1U", "done.local_ranks"),
    "a token of another namespace": (
        MEMBERS, "operator/runtime/member_check.cpp", r"bearer\.name_space == process\.job\.name_space &&", ""),
    "a token of another pod": (MEMBERS, "operator/runtime/member_check.cpp", r"bearer\.pod_name == name &&", ""),
    "a token of a former pod of that name": (
        MEMBERS, "operator/runtime/member_check.cpp", r"&& bearer\.pod_uid == process\.member_uid", ""),
    "neither names a pod": (MEMBERS, "operator/runtime/member_check.cpp", r"!bearer\.pod_uid\.empty\(\) &&", ""),
    "who the server does not know": (
        REVIEWS, "operator/kube/token_review.cpp", r"!flag_in\(status, \"authenticated\"\)", "false"),
    "a token for somebody else": (
        REVIEWS, "operator/kube/token_review.cpp", r"if \(std::find\([^;]*== audiences\.end\(\)\)", "if (false)"),
    "a user who is no service account": (
        REVIEWS, "operator/kube/token_review.cpp", r"!name\.starts_with\(kPrefix\) \|\| ", ""),
    "a service account without a name": (
        REVIEWS, "operator/kube/token_review.cpp", r" \|\| colon == std::string::npos", ""),
    "a token that is bound to no pod": (
        REVIEWS, "operator/kube/token_review.cpp", r"identity\.pod_name\.empty\(\) \|\| identity\.pod_uid\.empty\(\)", "false"),
    "one answer for all tokens": (
        REVIEWER, "operator/runtime/token_reviewer.cpp", r"key = sha256\(token\)", 'key = sha256("")'),
    "an answer that is kept for ever": (
        REVIEWER, "operator/runtime/token_reviewer.cpp", r"asked - known->time >= kFresh", "false"),
    "a server that is asked with each beat": (
        REVIEWER, "operator/runtime/token_reviewer.cpp", r"asked - known->time >= kFresh &&", ""),
    "members wait for reviews of their tokens": (
        REVIEWER, "operator/runtime/token_reviewer.cpp", r"if \(!known\) return ask", "if (true) return ask"),
    "an overloaded server is waited for": (
        REVIEWER, "operator/runtime/token_reviewer.cpp", r"client_\.call_once\(", "client_.call("),
    "a lease that waits for an overloaded server": (
        ("operator_runtime_test", "Elector.*"), "operator/runtime/elector.cpp", r"election_\.note\(client_\.call_once\(",
        "election_.note(client_.call("),
    "who is known is known for ever": (
        REVIEWER, "operator/runtime/token_reviewer.cpp", r"now - item\.second\.time > kKnown", "false"),
    "each beat waits for a server that is away": (
        REVIEWER, "operator/runtime/token_reviewer.cpp", r"quiet_until_ = clock_\.now\(\) \+ kQuiet;", ";"),
    "a refusal is kept as an answer": (
        REVIEWER, "operator/runtime/token_reviewer.cpp", r"  if \(identity\) remember\([^\n]*\n[^\n]*forget_answer\(key\);",
        "  remember(key, {.identity = identity.value_or(kube::TokenIdentity()), .time = asked});"),
    "who was refused stays known": (
        REVIEWER, "operator/runtime/token_reviewer.cpp", r"== ErrorKind::kPermissionDenied\) forget_answer\(key\);",
        "== ErrorKind::kPermissionDenied) {}"),
    "each beat walks over all answers": (
        REVIEWER, "operator/runtime/token_reviewer.cpp", r"now - purged_ >= kPurgeEvery", "true"),
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
    "a member stays a stranger": (
        TOKENS, "operator/coordinator/coordinator.cpp", r"  responder\.vouch\([^;]*\* processes\);\n", ""),
    "any token makes a member": (
        TOKENS, "operator/coordinator/coordinator.cpp", r"(  if \(const auto known = options_\.authenticate)",
        r"  responder.vouch();\n\1"),
    "strangers wait for ever": (PORCH, "operator/runtime/porch.cpp", r"clock_\.now\(\) >= first\.until", "false"),
    "one token speaks for any number of processes": (
        DOOR, "operator/coordinator/door.cpp", r"process\.local_rank >= processes", "false"),
    "a certificate of another name is shown": (
        CERTIFICATES, "base/http/certificate.cpp", r"expect_name\(X509_STORE_CTX_get0_param\(context\), name\)", "true"),
    "a certificate that has ended is shown": (
        CERTIFICATES, "base/http/certificate.cpp", r"X509_STORE_CTX_set_time\(context, 0, time\);",
        "X509_VERIFY_PARAM_set_flags(X509_STORE_CTX_get0_param(context), X509_V_FLAG_NO_CHECK_TIME);"),
    "a certificate of an unknown authority is shown": (
        CERTIFICATES, "base/http/certificate.cpp", r"if \(X509_verify_cert\(context\) == 1\) return \{\};",
        "return {};"),
    "what is half written is shown": (
        CERTIFICATES, "operator/runtime/door_certificate.cpp", r"if \(checked\) \{\n    keep", "if (found) {\n    keep"),
    "renewed files are never taken": (
        CERTIFICATES, "operator/runtime/door_certificate.cpp", r"    keep\(std::move\(\*found\)\);\n    return true;",
        "    return false;"),
    "files are read with every question": (
        CERTIFICATES, "operator/runtime/door_certificate.cpp", r"if \(look_at_ && now < \*look_at_\) return false;", ""),
    "nobody hears that a certificate ends": (
        CERTIFICATES, "operator/runtime/door_certificate.cpp", r"if \(!ends_ \|\| now < tell_end_at_\) return;", "return;"),
    "whoever answers is believed": (
        TLS, "base/http/tls_client.cpp", r"is_set && X509_verify_cert\(verification\) == 1", "is_set"),
    "whatever its name is": (
        TLS, "base/http/tls_client.cpp", r"expect_name\(X509_STORE_CTX_get0_param\(verification\), peer->expected_name\)",
        "true"),
    "a name that is only in the subject": (TLS, "base/http/tls_pem.cpp", r" \| X509_CHECK_FLAG_NEVER_CHECK_SUBJECT", ""),
    "an address is taken for a name": (TLS, "base/http/tls_pem.cpp", r"if \(is_ip_address\(name\)\) return [^;]*;", ""),
    "a key of another certificate": (
        TLS, "base/http/tls_pem.cpp", r"X509_check_private_key\([^{]*? != 1", "false"),
    "a door that is shut where there is no IPv6": (
        ADDRESSES, "base/http/server.cpp", r"error == asio::error::address_family_not_supported &&", "false &&"),
    "another address that is taken for the one that was asked for": (
        ADDRESSES, "base/http/server.cpp", r" && core_->options\.address == kEveryAddress\)", ")"),
    "a door that takes IPv6 alone": (
        ADDRESSES, "base/http/server.cpp", r"asio::ip::v6_only\(!address\.is_unspecified\(\)\)", "asio::ip::v6_only(true)"),
    "an address of IPv4 that is shown within one of IPv6": (
        ADDRESSES, "base/http/server_session.cpp",
        r"if \(!address\.is_v6\(\) \|\| !address\.to_v6\(\)\.is_v4_mapped\(\)\) return address;", "return address;"),
    "clients without a certificate": (
        TLS, "base/http/server_tls.cpp", r" \| SSL_VERIFY_FAIL_IF_NO_PEER_CERT", ""),
    "clients with anybody's certificate": (
        TLS, "base/http/server_tls.cpp", r"SSL_CTX_set1_cert_store\(context, store->get\(\)\);",
        "SSL_CTX_set_cert_verify_callback(context, [](X509_STORE_CTX*, void*) { return 1; }, nullptr);"),
    "our certificate is not shown": (
        TLS, "base/http/tls_client.cpp", r" && use_identity\(context, identity_\)", ""),
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
