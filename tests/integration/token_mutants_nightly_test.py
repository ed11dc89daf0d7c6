"""Mutants of authentication by tokens: the member that a token belongs to, and how long a review is kept. With one
rule of it broken a test must turn red."""

import unittest

from mutants import MutantTest, TableOfSources, of_rows

MEMBERS = ("operator_runtime_test", "MatchMember.*")
REVIEWS = ("operator_kube_test", "TokenReview.*")
REVIEWER = ("operator_runtime_test", "TokenReviewerTest.*")
TOKENS = ("coordinator_test", "CoordinatorTest.AMembersToken*")
SESSION = ("coordinator_test", "JobSessionRefuses.*")

# what is broken: (tests, file, pattern, instead)
MUTANTS = {
    "a token of another namespace": (
        MEMBERS, "operator/runtime/members/member_check.cpp", r"bearer\.name_space == process\.job\.name_space &&", ""),
    "a token of another pod": (MEMBERS, "operator/runtime/members/member_check.cpp", r"bearer\.pod_name == name &&", ""),
    "a token of a former pod of that name": (
        MEMBERS, "operator/runtime/members/member_check.cpp", r"&& bearer\.pod_uid == process\.member_uid", ""),
    "neither names a pod": (MEMBERS, "operator/runtime/members/member_check.cpp", r"!bearer\.pod_uid\.empty\(\) &&", ""),
    "a token that the server does not know": (
        REVIEWS, "operator/kube/objects/token_review.cpp", r"!bool_field\(status, \"authenticated\"\)", "false"),
    "a token for another audience": (
        REVIEWS, "operator/kube/objects/token_review.cpp", r"if \(std::find\([^;]*== audiences\.end\(\)\)", "if (false)"),
    "a user that is no service account": (
        REVIEWS, "operator/kube/objects/token_review.cpp", r"!name\.starts_with\(kPrefix\) \|\| ", ""),
    "a service account without a name": (
        REVIEWS, "operator/kube/objects/token_review.cpp", r" \|\| colon == std::string::npos", ""),
    "a token that is bound to no pod": (
        REVIEWS, "operator/kube/objects/token_review.cpp", r"identity\.pod_name\.empty\(\) \|\| identity\.pod_uid\.empty\(\)",
        "false"),
    "one answer for all tokens": (
        REVIEWER, "operator/runtime/members/token_reviewer.cpp", r"key = sha256\(token\)", 'key = sha256("")'),
    "an answer that is kept for ever": (
        REVIEWER, "operator/runtime/members/token_reviewer.cpp", r"asked - known->time >= kRefreshAfter", "false"),
    "a server that is asked with each beat": (
        REVIEWER, "operator/runtime/members/token_reviewer.cpp", r"kRefreshAfter = std::chrono::minutes\(1\)",
        "kRefreshAfter = std::chrono::minutes(0)"),
    "members wait for reviews of their tokens": (
        REVIEWER, "operator/runtime/members/token_reviewer.cpp", r"if \(!known\) return ask", "if (true) return ask"),
    "a token that is accepted for ever": (
        REVIEWER, "operator/runtime/members/reviewed_tokens.h", r"now - answer\.time > kAnswerLifetime", "false"),
    "each beat waits for a server that is away": (
        REVIEWER, "operator/runtime/members/token_reviewer.cpp", r"paused_until_ = clock_\.now\(\) \+ kPauseAfterFailure;", ";"),
    "a refusal is kept as an answer": (
        REVIEWER, "operator/runtime/members/token_reviewer.cpp",
        r"  if \(identity\) \{\n([^\n]*\n){2}  \}\n[^\n]*forget_answer\(key\);",
        "  const MutexLock lock(mutex_);\n"
        "  answers_.keep(key, {.identity = identity.value_or(kube::TokenIdentity()), .time = asked});"),
    "a refused token that stays accepted": (
        REVIEWER, "operator/runtime/members/token_reviewer.cpp", r"== ErrorKind::kPermissionDenied\) forget_answer\(key\);",
        "== ErrorKind::kPermissionDenied) {}"),
    "each beat walks over all answers": (
        REVIEWER, "operator/runtime/members/reviewed_tokens.cpp", r"now - last_purge_at_ >= kPurgeEvery", "true"),
    "a member that stays unauthenticated": (
        TOKENS, "operator/coordinator/coordinator.cpp",
        r"!responder\.mark_authenticated\(connection_owner_of\(process, processes\)\)", "processes == 0"),
    "any token makes a member": (
        TOKENS, "operator/coordinator/coordinator.cpp", r"(  if \(const auto known = options_\.authenticate)",
        r"  static_cast<void>(responder.mark_authenticated(connection_owner_of(message->process, 1)));\n\1"),
    "one token speaks for any number of processes": (
        SESSION, "operator/coordinator/job_session.cpp", r"process\.local_rank >= processes", "false"),
}


def mutants():
    return of_rows(MUTANTS)


class TokenMutants(TableOfSources, MutantTest):
    mutants = staticmethod(mutants)


if __name__ == "__main__":
    unittest.main(verbosity=2)
