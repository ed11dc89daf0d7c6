#include "operator/runtime/api_server/ca_reloading_transport.h"

#include <chrono>

#include <gtest/gtest.h>

#include "base/http/server.h"
#include "tests/conformance/support/test_certificates.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::runtime::ca_reloading_transport_test {
namespace {

using namespace std::chrono_literals;
using http::testing::TestAuthority;

// An API server that shows a certificate of one authority, and then of the next.
class CaReloadingTransportTest : public testing::Test {
 protected:
  void SetUp() override {
    test::write_text(folder_ / "ca.crt", first_.ca_pem());
    serve(first_);
    transport_.emplace(http::TransportOptions{.tls = {.ca_pem = first_.ca_pem()}}, folder_ / "ca.crt",
                       clock_);
  }

  // The transport is made anew, so that no connection is open.
  void serve(const TestAuthority& authority) {
    const auto identity = authority.issue({.alternative_names = "IP:127.0.0.1"});
    const http::TlsServerOptions shown{.certificate_pem = identity.certificate_pem,
                                       .private_key_pem = identity.key_pem};
    auto started = http::HttpServer::start({.address = "127.0.0.1", .port = 0, .tls = shown},
                                           [](const http::ServerRequest&, http::Responder responder) {
                                             responder.send({.status = 200, .body = "here"});
                                           });
    ASSERT_TRUE(started);
    server_ = std::move(*started);
  }

  [[nodiscard]] testing::AssertionResult answers() {
    const std::string url = "https://127.0.0.1:" + std::to_string(server_->port()) + "/";
    const auto reply = transport_->call({.url = url}, {.total = 10s, .silence = 10s}, {});
    if (!reply) return testing::AssertionFailure() << reply.error().message();
    return testing::AssertionResult(reply->body == "here");
  }

  test::TemporaryFolder folder_;
  const TestAuthority first_{"the first"};
  const TestAuthority second_{"the second"};
  ManualClock clock_;
  std::unique_ptr<http::HttpServer> server_;
  std::optional<CaReloadingTransport> transport_;
};

TEST_F(CaReloadingTransportTest, BelievesWhomTheFileNamesAMinuteLater) {
  EXPECT_TRUE(answers());
  serve(second_);
  EXPECT_FALSE(answers());
  test::write_text(folder_ / "ca.crt", second_.ca_pem());
  clock_.advance(59s);
  EXPECT_FALSE(answers());
  clock_.advance(1s);
  EXPECT_TRUE(answers());
}

TEST_F(CaReloadingTransportTest, AFileThatIsGoneOrHalfWrittenChangesNothing) {
  for (const std::string& text :
       {std::string(), first_.ca_pem().substr(0, 40), second_.ca_pem() + first_.ca_pem().substr(0, 200)}) {
    test::write_text(folder_ / "ca.crt", text);
    clock_.advance(61s);
    EXPECT_TRUE(answers());
  }
  std::filesystem::remove(folder_ / "ca.crt");
  clock_.advance(61s);
  EXPECT_TRUE(answers());
}

}  // namespace
}  // namespace ratoon::runtime::ca_reloading_transport_test
