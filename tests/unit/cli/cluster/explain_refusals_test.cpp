#include "cli/cluster/access/explain_refusals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ratoon::cli::explain_refusals_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr WallTime kNow{std::chrono::hours(24 * 365)};
constexpr WallTime kYesterday{std::chrono::hours(24 * 364)};

ClusterQuery query() {
  return {.server = "https://10.0.0.1:6443", .name_space = "prod"};
}

// The messages for a server's refusals.
Error told(int status, const std::string& body, const ClusterQuery& what = query()) {
  const auto refusal = kube::read_api_failure(status, body, "");
  return explain_failure(what, "list", refusal.error, refusal, kNow);
}

TEST(ExplainList, AMissingRightIsNamedByVerbAndResource) {
  const Error error =
      told(403, R"({"kind":"Status","reason":"Forbidden","message":"User \"jane\" cannot list"})");
  EXPECT_EQ(error.kind(), ErrorKind::kPermissionDenied);
  EXPECT_THAT(
      error.message(),
      AllOf(
          HasSubstr(
              "this user may not list trainingjobs.ratoon.dev in namespace 'prod' at https://10.0.0.1:6443"),
          HasSubstr("a role with the verbs 'list' and 'watch' on that resource"),
          HasSubstr("User \"jane\" cannot list")));
}

TEST(ExplainList, AKindThatTheServerLacksIsInstalled) {
  const Error error = told(404, "404 page not found\n");
  EXPECT_EQ(error.kind(), ErrorKind::kInvalid);
  EXPECT_THAT(error.message(), AllOf(HasSubstr("does not know TrainingJobs"),
                                     HasSubstr("kubectl apply --server-side -f crds/trainingjob.yaml")));
}

TEST(ExplainList, ACertificateThatEndedIsToldFromAUserWhoIsUnknown) {
  const std::string body = R"({"kind":"Status","reason":"Unauthorized","message":"Unauthorized"})";
  ClusterQuery what = query();
  EXPECT_THAT(told(401, body, what).message(), HasSubstr("https://10.0.0.1:6443 does not know this user"));
  what.certificate_end = kNow;
  EXPECT_THAT(told(401, body, what).message(),
              HasSubstr("client certificate expired at 1971-01-01T00:00:00.000Z"));
  what.certificate_end = WallTime{kNow.since_epoch + std::chrono::seconds(1)};
  EXPECT_THAT(told(401, body, what).message(), HasSubstr("does not know this user"));
}

TEST(ExplainList, AServerThatEndsTheHandshakeOverItIsToldTheSame) {
  ClusterQuery what = query();
  what.certificate_end = kYesterday;
  const Error refused(ErrorKind::kPermissionDenied, "TLS");
  EXPECT_THAT(explain_failure(what, "list", refused, {}, kNow).message(),
              HasSubstr("client certificate expired"));
  const Error away(ErrorKind::kUnavailable, "nobody listens");
  EXPECT_THAT(explain_failure(what, "list", away, {}, kNow).message(), HasSubstr("cannot be reached"));
}

TEST(ExplainList, AServerThatIsAwayOrBrokenKeepsItsKind) {
  for (const auto kind : {ErrorKind::kUnavailable, ErrorKind::kTimeout}) {
    const Error error = explain_failure(query(), "list", Error(kind, "no answer in 10 s"), {}, kNow);
    EXPECT_EQ(error.kind(), kind);
    EXPECT_THAT(error.message(),
                AllOf(HasSubstr("the API server https://10.0.0.1:6443 cannot be reached"),
                      HasSubstr("no answer in 10 s"), HasSubstr("kubectl config get-contexts")));
  }
  EXPECT_EQ(told(500, "etcd is gone").kind(), ErrorKind::kUnavailable);
  EXPECT_THAT(told(500, "etcd is gone").message(),
              AllOf(HasSubstr("listing trainingjobs.ratoon.dev"), HasSubstr("etcd is gone")));
}

TEST(ExplainWatch, NamesTheOtherVerb) {
  EXPECT_THAT(explain_watch_failure(query(), Error(ErrorKind::kPermissionDenied, "no")).message(),
              HasSubstr("may not watch trainingjobs.ratoon.dev in namespace 'prod'"));
}

TEST(ExplainMissing, SaysWhatMayHaveBeenMeant) {
  const auto say = [](const std::vector<std::string>& names) {
    return explain_missing_job({.server = "https://s", .name_space = ""}, "digts", names).message();
  };
  EXPECT_EQ(say({"counter", "digits"}),
            "there is no TrainingJob 'digts' in all namespaces at https://s; did you mean digits?");
  EXPECT_EQ(say({"a", "b"}),
            "there is no TrainingJob 'digts' in all namespaces at https://s; there are a, b");
  EXPECT_THAT(say({"a", "b", "c", "d", "e", "f"}), HasSubstr("there are a, b, c, d, e, ..."));
  EXPECT_THAT(say({}), HasSubstr("at https://s, nor any other TrainingJob"));
}

}  // namespace
}  // namespace ratoon::cli::explain_refusals_test
