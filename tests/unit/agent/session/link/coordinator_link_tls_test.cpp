// Over TLS: the servers that a process accepts as its coordinator, and its reaction to others.
#include "base/contract/exit_code.h"
#include "tests/conformance/support/test_certificates.h"
#include "tests/support/own_ports.h"
#include "tests/unit/agent/session/link/coordinator_link_fixture.h"

namespace ratoon::session::coordinator_link_tls_test {
namespace {

using namespace std::chrono_literals;
using http::testing::TestAuthority;
using http::testing::TestIdentity;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr auto kHurry = 300ms;

class CoordinatorLinkTls : public CoordinatorLinkTest {
 protected:
  ~CoordinatorLinkTls() override {
    link_.reset();
    door_.reset();
  }
  static http::TlsServerOptions shown(const TestIdentity& identity) {
    return {.certificate_pem = identity.certificate_pem, .private_key_pem = identity.key_pem};
  }
  [[nodiscard]] TestIdentity issue(bool is_expired = false,
                                   const std::string& names = "DNS:door.trees.svc") const {
    return authority_.issue({.alternative_names = names, .is_expired = is_expired});
  }
  // The same coordinator behind a server of its own; the name is checked, not the address.
  void serve(const std::optional<http::TlsServerOptions>& tls, std::uint16_t port = 0) {
    const auto served = try_to_serve(tls, port);
    ASSERT_TRUE(served) << served.error().message();
  }
  Result<void> try_to_serve(const std::optional<http::TlsServerOptions>& tls, std::uint16_t port) {
    door_.reset();
    auto server = http::HttpServer::start({.port = port, .tls = tls},
                                          [this](http::ServerRequest request, http::Responder responder) {
                                            ++calls_heard_;
                                            coordinator_.handle(request, std::move(responder));
                                          });
    if (!server) return server.error();
    door_ = std::move(*server);
    options_.member.coordinator_url = "https://127.0.0.1:" + std::to_string(door_->port());
    options_.member.coordinator_ca = authority_.ca_pem();
    options_.member.coordinator_name = "door.trees.svc";
    return {};
  }
  void expect_join_refused(const std::string& why) {
    const auto began = std::chrono::steady_clock::now();
    open({.auth_retry_time = kHurry});
    const auto assignment = join_with_retries().get();
    ASSERT_FALSE(assignment) << why;
    EXPECT_EQ(exit_code_of(assignment.error().kind()), ExitCode::kStorage)
        << "the next start may be believed";
    EXPECT_THAT(assignment.error().message(),
                AllOf(HasSubstr(why), HasSubstr("RATOON_COORDINATOR_CA"), HasSubstr("--tls-folder")));
    EXPECT_GE(std::chrono::steady_clock::now() - began, kHurry) << "it may be in the making";
    EXPECT_EQ(calls_heard_, 0) << "who is not believed is told nothing, our token least of all";
  }

  const TestAuthority authority_{"the operator's"};
  std::unique_ptr<http::HttpServer> door_;
  std::atomic<int> calls_heard_ = 0;
};

TEST_F(CoordinatorLinkTls, JoinsWhoCanShowThatItIsTheCoordinator) {
  serve(shown(issue()));
  open();
  auto joined = join();
  form(3);
  const auto assignment = joined.get();
  ASSERT_TRUE(assignment) << assignment.error().message();
  EXPECT_GT(calls_heard_, 0);
}

TEST_F(CoordinatorLinkTls, WithoutANameTheHostOfTheAddressIsExpected) {
  serve(shown(issue(false, "IP:127.0.0.1")));
  options_.member.coordinator_name.clear();
  open();
  auto joined = join();
  form(3);
  EXPECT_TRUE(joined.get());
}

TEST_F(CoordinatorLinkTls, AnotherAuthorityIsNotBelieved) {
  serve(shown(issue()));
  options_.member.coordinator_ca = TestAuthority("somebody").ca_pem();
  expect_join_refused("(unable to get local issuer certificate); expected one for 'door.trees.svc'");
}

TEST_F(CoordinatorLinkTls, ACertificateThatHasEndedIsNotBelieved) {
  serve(shown(issue(true)));
  expect_join_refused("(certificate has expired); expected one for 'door.trees.svc'");
}

TEST_F(CoordinatorLinkTls, AnotherNameIsNotBelieved) {
  serve(shown(issue(false, "DNS:door.grove.svc,IP:127.0.0.1")));
  expect_join_refused("(hostname mismatch); expected one for 'door.trees.svc'");
}

TEST_F(CoordinatorLinkTls, WhoSpeaksNoTlsIsNotBelieved) {
  serve(std::nullopt);
  expect_join_refused("does not speak TLS");
}

// The reaction of an agent that is older than the variable.
TEST_F(CoordinatorLinkTls, WithoutAnAuthorityThoseOfTheImageCount) {
  serve(shown(issue()));
  options_.member.coordinator_ca.clear();
  expect_join_refused("the authorities of this image, since RATOON_COORDINATOR_CA is not set");
}

TEST_F(CoordinatorLinkTls, ACertificateThatIsMendedInTimeIsBelieved) {
  serve(shown(issue(true)));
  open();
  auto joined = join_with_retries();
  wait_until([this] { return door_->renew(shown(issue())).has_value(); });
  form(3);
  const auto assignment = joined.get();
  ASSERT_TRUE(assignment) << assignment.error().message();
}

TEST_F(CoordinatorLinkTls, OneThatTrainsGoesOnAndComesBack) {
  const std::uint16_t port = test::open_at_own_port(
      [this](std::uint16_t one) { return try_to_serve(shown(issue()), one) ? one : std::uint16_t(); });
  ASSERT_NE(port, 0);
  open({.auth_retry_time = kHurry});
  auto joined = join();
  form(3, 0.01);
  ASSERT_TRUE(joined.get());
  serve(shown(issue(true)), port);  // connections are cut, and new ones see what has ended
  calls_heard_ = 0;
  const auto told = link_->complete(done(Attempt(3)), {});  // until its patience is over
  ASSERT_FALSE(told);
  EXPECT_THAT(told.error().message(), HasSubstr("certificate has expired"));
  EXPECT_EQ(link_->world_status(), WorldStatus::kGoOn);
  EXPECT_EQ(calls_heard_, 0);
  ASSERT_TRUE(door_->renew(shown(issue())));
  wait_until([this] { return calls_heard_ > 0; });
  EXPECT_EQ(link_->world_status(), WorldStatus::kGoOn);
}

}  // namespace
}  // namespace ratoon::session::coordinator_link_tls_test
