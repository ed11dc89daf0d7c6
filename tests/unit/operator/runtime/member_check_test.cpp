#include "operator/runtime/members/member_check.h"

#include <gtest/gtest.h>

#include "tests/support/builders.h"

namespace ratoon::runtime::member_check_test {
namespace {

kube::TokenIdentity bearer_of(const ProcessIdentity& process) {
  return {.name_space = process.job.name_space,
          .service_account = "default",
          .pod_name = member_name(process.job, process.role, process.index, process.incarnation),
          .pod_uid = process.member_uid};
}

TEST(MatchMember, TheTokenOfThatVeryPod) {
  EXPECT_TRUE(match_member(bearer_of(test::process(1)), test::process(1)));
}

TEST(MatchMember, NobodyElses) {
  const auto process = test::process(1);
  auto other_pod = bearer_of(process);
  other_pod.pod_uid = test::uid_of(2);
  auto other_name = bearer_of(process);
  other_name.pod_name += "x";
  auto other_namespace = bearer_of(process);
  other_namespace.name_space = "elsewhere";
  for (const auto& bearer : {other_pod, other_name, other_namespace, bearer_of(test::process(2)),
                             bearer_of(test::process(1, 1))}) {
    const auto matched = match_member(bearer, process);
    ASSERT_FALSE(matched);
    EXPECT_EQ(matched.error().kind(), ErrorKind::kPermissionDenied);
  }
  // A token that is bound to no pod, and a call that names no pod.
  auto unbound = bearer_of(process);
  unbound.pod_uid.clear();
  auto nobody = process;
  nobody.member_uid.clear();
  EXPECT_FALSE(match_member(unbound, nobody));
}

}  // namespace
}  // namespace ratoon::runtime::member_check_test
