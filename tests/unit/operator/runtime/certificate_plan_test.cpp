#include "operator/runtime/members/certificate_plan.h"

#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/http/tls/issue_certificate.h"

namespace ratoon::runtime::certificate_plan_test {
namespace {

using namespace std::chrono_literals;
using kube::CertificateParts;
using testing::HasSubstr;

constexpr const char* kName = "door.trees.svc";
constexpr Duration kDay = 24h;
const WallTime kStart{kDay * 20000};

WallTime on_day(int day) {
  return {kStart.since_epoch + kDay * day};
}

bool is_accepted(const CertificateParts& shown, const std::string& trusted, WallTime now,
                 const std::string& name = kName) {
  return http::check_certificate({.certificate_pem = shown.certificate_pem, .private_key_pem = shown.key_pem},
                                 trusted, name, now)
      .has_value();
}

// One look at a Secret; changes it as the plan says.
struct Secret {
  std::optional<CertificateParts> content;
  std::optional<CertificateParts> held{};

  CertificatePlan look(WallTime now, const std::string& name = kName) {
    CertificatePlan plan = plan_certificate(content, held, name, now);
    const auto next = carry_out_plan(plan, content.value_or(CertificateParts{}), held, name, now);
    EXPECT_TRUE(next) << (next ? "" : next.error().message());
    if (next) content = *next;
    return plan;
  }
  void expect_rest(WallTime now) { EXPECT_EQ(look(now).move, CertificateAction::kKeep); }
};

Secret made_on_day(int day) {
  Secret secret;
  EXPECT_EQ(secret.look(on_day(day)).move, CertificateAction::kMakeAll);
  return secret;
}

TEST(CertificatePlan, MakesWhatMembersAccept) {
  for (const std::string name : {kName, "10.96.0.7", "fd00::7"}) {
    Secret secret;
    const auto plan = secret.look(kStart, name);
    EXPECT_EQ(plan.move, CertificateAction::kMakeAll);
    EXPECT_FALSE(plan.is_repair) << "the first one is no repair";
    EXPECT_TRUE(is_accepted(*secret.content, secret.content->authorities_pem, kStart, name)) << name;
    EXPECT_FALSE(is_accepted(*secret.content, secret.content->authorities_pem, kStart, "other.svc"));
    EXPECT_EQ(secret.look(on_day(1), name).move, CertificateAction::kKeep) << "nothing is made twice";
  }
}

TEST(CertificatePlan, MembersWithLateClocksAcceptItToo) {
  const Secret secret = made_on_day(0);
  EXPECT_TRUE(is_accepted(*secret.content, secret.content->authorities_pem, {kStart.since_epoch - 23h}));
}

TEST(CertificatePlan, RenewsTheCertificateAfterTwoThirdsOfItsTime) {
  Secret secret = made_on_day(0);
  secret.expect_rest(on_day(59));
  const CertificateParts before = *secret.content;
  const auto plan = secret.look(on_day(60));
  EXPECT_EQ(plan.move, CertificateAction::kIssue);
  EXPECT_FALSE(plan.is_repair);
  EXPECT_NE(secret.content->key_pem, before.key_pem);
  EXPECT_EQ(secret.content->authorities_pem, before.authorities_pem);
  EXPECT_TRUE(is_accepted(*secret.content, before.authorities_pem, on_day(149)));
  secret.expect_rest(on_day(119));
}

TEST(CertificatePlan, ARenewedAuthorityLeavesNoMemberBehind) {
  Secret secret = made_on_day(0);
  const std::string former = secret.content->authorities_pem;
  secret.look(on_day(2400));  // a certificate of these days
  const int renewal = 3650 * 2 / 3 + 1;
  EXPECT_EQ(secret.look(on_day(renewal)).move, CertificateAction::kRenewAuthority);
  const std::string both = secret.content->authorities_pem;
  EXPECT_THAT(both, HasSubstr(former)) << "new pods accept an operator that restored the former Secret";
  const std::string next = http::split_certificates(both).front();
  for (const std::string& trusted : {former, both, next})
    EXPECT_TRUE(is_accepted(*secret.content, trusted, on_day(renewal)));
  secret.expect_rest(on_day(renewal + 1));
  // The certificates that follow lead to the former authority, too, until it has expired.
  EXPECT_EQ(secret.look(on_day(renewal + 61)).move, CertificateAction::kIssue);
  EXPECT_TRUE(is_accepted(*secret.content, former, on_day(renewal + 61)));
  EXPECT_TRUE(is_accepted(*secret.content, next, on_day(renewal + 61)));
  EXPECT_EQ(secret.look(on_day(3651)).move, CertificateAction::kIssue);
  EXPECT_EQ(secret.content->authorities_pem, next) << "the former authority has expired";
  EXPECT_EQ(http::split_certificates(secret.content->certificate_pem).size(), 1u);
  EXPECT_TRUE(is_accepted(*secret.content, next, on_day(3651)));
}

// The Secret of an earlier chart, and others that came without the authority's key.
TEST(CertificatePlan, AdoptsACertificateWhoseAuthorityHasNoKey) {
  Secret secret = made_on_day(0);
  secret.content->authority_key_pem.clear();
  const CertificateParts before = *secret.content;
  const auto plan = secret.look(on_day(1));
  EXPECT_EQ(plan.move, CertificateAction::kAddAuthority);
  EXPECT_EQ(secret.content->certificate_pem, before.certificate_pem)
      << "running members know no other authority";
  EXPECT_THAT(secret.content->authorities_pem, HasSubstr(before.authorities_pem));
  secret.expect_rest(on_day(2));
  const std::string both = secret.content->authorities_pem;
  EXPECT_EQ(secret.look(on_day(60)).move, CertificateAction::kIssue);
  EXPECT_TRUE(is_accepted(*secret.content, both, on_day(60)))
      << "pods since the adoption know the next authority";
}

TEST(CertificatePlan, IssuesAnotherCertificateIfMembersWouldRefuseTheOneThatIsThere) {
  Secret secret = made_on_day(0);
  const std::string authorities = secret.content->authorities_pem;
  const auto expect_issued = [&](const std::string& why, WallTime now, const std::string& name) {
    const auto plan = secret.look(now, name);
    EXPECT_EQ(plan.move, CertificateAction::kIssue) << why;
    EXPECT_TRUE(plan.is_repair);
    EXPECT_THAT(plan.why, HasSubstr(why));
    EXPECT_TRUE(is_accepted(*secret.content, authorities, now, name)) << "running members know its authority";
  };
  expect_issued("hostname mismatch", on_day(1), "other.svc");
  secret.content->key_pem = made_on_day(0).content->key_pem;
  expect_issued("do not belong together", on_day(2), "other.svc");
  secret.content->certificate_pem = "cut";
  expect_issued("certificate", on_day(3), "other.svc");
  expect_issued("expired", on_day(300), "other.svc");
}

TEST(CertificatePlan, RestoresWhatItHoldsIfTheSecretIsGoneOrDamaged) {
  Secret secret = made_on_day(0);
  secret.held = secret.content;
  const CertificateParts whole = *secret.content;
  const auto expect_restored = [&](const char* what) {
    const auto plan = secret.look(on_day(1));
    EXPECT_EQ(plan.move, CertificateAction::kRestore) << what;
    EXPECT_TRUE(plan.is_repair) << what;
    EXPECT_EQ(*secret.content, whole) << what;
  };
  secret.content.reset();
  expect_restored("it is gone");
  for (auto part : {&CertificateParts::authorities_pem, &CertificateParts::authority_key_pem,
                    &CertificateParts::certificate_pem, &CertificateParts::key_pem}) {
    (*secret.content).*part = "damaged";
    expect_restored("a part is damaged");
  }
  secret.content = made_on_day(0).content;
  EXPECT_EQ(secret.look(on_day(1)).move, CertificateAction::kKeep) << "another one that is whole is meant";
  // One that it holds and that has expired is not written.
  secret.content.reset();
  EXPECT_EQ(secret.look(on_day(4000)).move, CertificateAction::kMakeAll);
}

TEST(CertificatePlan, MakesAllAnewIfNothingIsLeftOfIt) {
  Secret secret = made_on_day(0);
  const CertificateParts before = *secret.content;
  secret.content->authorities_pem = "cut";
  const auto plan = secret.look(on_day(1));
  EXPECT_EQ(plan.move, CertificateAction::kMakeAll);
  EXPECT_TRUE(plan.is_repair);
  EXPECT_TRUE(is_accepted(*secret.content, secret.content->authorities_pem, on_day(1)));
  EXPECT_FALSE(is_accepted(*secret.content, before.authorities_pem, on_day(1)));
}

TEST(CertificatePlan, AnExpiredAuthoritySignsNothing) {
  Secret secret = made_on_day(0);
  EXPECT_EQ(secret.look(on_day(4000)).move, CertificateAction::kMakeAll);
  EXPECT_TRUE(is_accepted(*secret.content, secret.content->authorities_pem, on_day(4000)));
}

TEST(CertificatePlan, DoesNotSignWithWhatIsNoAuthority) {
  Secret secret = made_on_day(0);
  secret.content->authorities_pem = secret.content->certificate_pem;
  secret.content->authority_key_pem = secret.content->key_pem;
  secret.content->certificate_pem.clear();
  secret.look(on_day(1));
  EXPECT_TRUE(is_accepted(*secret.content, secret.content->authorities_pem, on_day(1)));
  secret.expect_rest(on_day(1));
}

TEST(CertificatePlan, AClockThatIsTooLateMakesNothingAnew) {
  Secret secret = made_on_day(1000);
  secret.expect_rest(on_day(0));
  secret.held = secret.content;
  const CertificateParts whole = *secret.content;
  secret.content.reset();
  EXPECT_EQ(secret.look(on_day(0)).move, CertificateAction::kRestore);
  EXPECT_EQ(*secret.content, whole);
}

TEST(CertificatePlan, AClockThatIsTooFarAheadMakesWhatMembersAcceptToday) {
  Secret secret = made_on_day(0);
  const std::string former = secret.content->authorities_pem;
  EXPECT_EQ(secret.look(on_day(400)).move, CertificateAction::kIssue);
  EXPECT_TRUE(is_accepted(*secret.content, former, on_day(1)));
  EXPECT_EQ(secret.look(on_day(2500)).move, CertificateAction::kIssue);
  EXPECT_EQ(secret.look(on_day(2500)).move, CertificateAction::kRenewAuthority);
  EXPECT_TRUE(is_accepted(*secret.content, former, on_day(1)));
  EXPECT_TRUE(is_accepted(*secret.content, secret.content->authorities_pem, on_day(1)));
  secret.expect_rest(on_day(1));
}

}  // namespace
}  // namespace ratoon::runtime::certificate_plan_test
