#include "operator/runtime/members/serving_certificate.h"

#include <algorithm>
#include <chrono>
#include <fstream>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/core/unique_fd.h"
#include "tests/conformance/support/test_certificates.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::runtime::serving_certificate_test {
namespace {

using namespace std::chrono_literals;
using http::testing::TestAuthority;
using http::testing::TestIdentity;
using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kName = "door.trees.svc";

class ServingCertificateTest : public testing::Test {
 protected:
  TestIdentity issue(const TestAuthority& authority, const std::string& names = "DNS:door.trees.svc") {
    return authority.issue({.alternative_names = names});
  }
  void write(const TestIdentity& identity, const std::string& ca_pem) {
    test::write_text(folder_ / "tls.crt", identity.certificate_pem);
    test::write_text(folder_ / "tls.key", identity.key_pem);
    test::write_text(folder_ / "ca.crt", ca_pem);
  }
  bool has_changed() {
    clock_.advance(10s);
    return certificate_.has_changed();
  }
  // Lines of the log with these words.
  std::ptrdiff_t said(const std::string& words) {
    std::ifstream log(folder_ / "log");
    return std::count_if(std::istream_iterator<Line>(log), {},
                         [&](const std::string& line) { return line.find(words) != std::string::npos; });
  }
  struct Line : std::string {
    friend std::istream& operator>>(std::istream& in, Line& line) { return std::getline(in, line); }
  };

  test::TemporaryFolder folder_;
  UniqueFd log_{::open((folder_ / "log").c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600)};
  ManualClock clock_{{}, SystemClock().wall_now()};
  const TestAuthority authority_{"the operator's"};
  const TestAuthority other_{"another one"};
  ServingCertificate certificate_{
      clock_, Logger(clock_, {.fd = log_.get()}), {.folder = folder_.path().string(), .name = kName}};
};

TEST_F(ServingCertificateTest, TakesWhatMembersWouldBelieve) {
  const auto identity = issue(authority_, "DNS:elsewhere,DNS:door.trees.svc");
  write(identity, other_.ca_pem() + authority_.ca_pem());
  ASSERT_TRUE(certificate_.take());
  EXPECT_EQ(certificate_.identity().shown.certificate_pem, identity.certificate_pem);
  EXPECT_EQ(certificate_.identity().shown.private_key_pem, identity.key_pem);
  EXPECT_EQ(certificate_.identity().ca_pem, other_.ca_pem() + authority_.ca_pem());
  EXPECT_EQ(said("\"ends\":\"20"), 1);
}

TEST_F(ServingCertificateTest, AnAddressIsANameToo) {
  write(issue(authority_, "IP:10.96.0.7"), authority_.ca_pem());
  ServingCertificate of_address(clock_, Logger(clock_, {.fd = log_.get()}),
                                {.folder = folder_.path().string(), .name = "10.96.0.7"});
  EXPECT_TRUE(of_address.take());
  EXPECT_FALSE(certificate_.take());
}

TEST_F(ServingCertificateTest, SaysWhyMembersWouldNotBelieveIt) {
  const auto good = issue(authority_);
  const auto expect_refused = [this](const std::string& why) {
    const auto taken = certificate_.take();
    ASSERT_FALSE(taken) << why;
    EXPECT_EQ(taken.error().kind(), ErrorKind::kInvalid);
    EXPECT_THAT(taken.error().message(), AllOf(HasSubstr(why), HasSubstr("tls.key"), HasSubstr("ca.crt"),
                                               HasSubstr(folder_.path().string())));
  };
  expect_refused("tls.crt");  // nothing is there
  write(good, other_.ca_pem());
  expect_refused("unable to get local issuer certificate");
  write(issue(authority_, "DNS:ratoon-coordinator.elsewhere.svc"), authority_.ca_pem());
  expect_refused("'door.trees.svc' (hostname mismatch)");
  write({.certificate_pem = good.certificate_pem, .key_pem = issue(authority_).key_pem}, authority_.ca_pem());
  expect_refused("do not belong together");
  write(good, "");
  expect_refused("the authorities");
  write({}, authority_.ca_pem());
  expect_refused("the PEM text has no certificate");
  write(good, authority_.ca_pem());
  clock_.advance(2h);
  expect_refused("certificate has expired");
}

TEST_F(ServingCertificateTest, RenewedFilesAreTakenOnce) {
  write(issue(authority_), authority_.ca_pem());
  ASSERT_TRUE(certificate_.take());
  EXPECT_FALSE(has_changed());
  const auto renewed = issue(authority_);
  write(renewed, authority_.ca_pem());
  EXPECT_TRUE(has_changed());
  EXPECT_EQ(certificate_.identity().shown.certificate_pem, renewed.certificate_pem);
  EXPECT_FALSE(has_changed());
  // The authority that members are to trust next is news as well.
  write(renewed, authority_.ca_pem() + other_.ca_pem());
  EXPECT_TRUE(has_changed());
  EXPECT_FALSE(has_changed());
}

TEST_F(ServingCertificateTest, WhatIsHalfWrittenIsNeverTaken) {
  const auto before = issue(authority_);
  write(before, authority_.ca_pem());
  ASSERT_TRUE(certificate_.take());
  const auto renewed = issue(authority_);
  test::write_text(folder_ / "tls.crt", renewed.certificate_pem);
  EXPECT_FALSE(has_changed());
  EXPECT_FALSE(has_changed());
  EXPECT_EQ(said("a renewed certificate is refused"), 1) << "once for one fault";
  EXPECT_EQ(certificate_.identity().shown.certificate_pem, before.certificate_pem);
  std::filesystem::remove(folder_ / "tls.key");
  EXPECT_FALSE(has_changed());
  EXPECT_EQ(said("a renewed certificate is refused"), 2);
  test::write_text(folder_ / "tls.key", renewed.key_pem);
  EXPECT_TRUE(has_changed());
  EXPECT_EQ(certificate_.identity().shown.private_key_pem, renewed.key_pem);
}

TEST_F(ServingCertificateTest, ThatItIsAboutToEndIsSaidOnceADay) {
  write(issue(authority_), authority_.ca_pem());  // for an hour
  ASSERT_TRUE(certificate_.take());
  ASSERT_TRUE(certificate_.ends());
  clock_.advance(45min);
  EXPECT_FALSE(has_changed());
  EXPECT_EQ(said("expires soon"), 0) << "who renews has until then";
  clock_.advance(10min);
  EXPECT_FALSE(has_changed());
  EXPECT_FALSE(has_changed());
  EXPECT_EQ(said("expires soon: renew the files"), 1);
  clock_.advance(25h);
  EXPECT_FALSE(has_changed());
  EXPECT_EQ(said("has expired, and members refuse it"), 1);
}

TEST_F(ServingCertificateTest, FilesAreNotReadWithEveryQuestion) {
  write(issue(authority_), authority_.ca_pem());
  ASSERT_TRUE(certificate_.take());
  EXPECT_FALSE(has_changed());
  write(issue(authority_), authority_.ca_pem());
  EXPECT_FALSE(certificate_.has_changed());
  EXPECT_TRUE(has_changed());
}

}  // namespace
}  // namespace ratoon::runtime::serving_certificate_test
