#include "operator/runtime/members/secret_certificate.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/core/unique_fd.h"
#include "base/http/tls/certificate.h"
#include "operator/kube/lenient_json.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::runtime::secret_certificate_test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kName = "door.trees.svc";

// Holds one Secret, as an API server does: a creation succeeds once, and a patch only of the version that was
// read.
struct Server {
  json secret;
  int version = 0;
  std::vector<json> events{};
  int refuse_writes_with = 0;
  // Runs before the next write arrives, as another operator's write would.
  std::function<void()> meanwhile{};

  http::Response answer(const http::Request& request) {
    if (request.url.ends_with("/events")) {
      events.push_back(json::parse(request.body));
      return reply(201, events.back());
    }
    if (request.method == "GET") return secret.is_null() ? refusal(404, "NotFound") : reply(200, secret);
    if (refuse_writes_with != 0) return refusal(refuse_writes_with, "Forbidden");
    if (meanwhile) std::exchange(meanwhile, {})();
    const json body = json::parse(request.body);
    if (request.method == "POST") {
      if (!secret.is_null()) return refusal(409, "AlreadyExists");
      secret = body;
      return written(201);
    }
    if (secret.is_null()) return refusal(404, "NotFound");
    if (body["metadata"].value("resourceVersion", "") != secret["metadata"]["resourceVersion"])
      return refusal(409, "Conflict");
    secret.merge_patch(body);
    return written(200);
  }
  // Another client's write.
  void change(const json& patch) {
    secret.merge_patch(patch);
    static_cast<void>(written(200));
  }

 private:
  http::Response written(int status) {
    secret["metadata"]["uid"] = "u";
    secret["metadata"]["resourceVersion"] = std::to_string(++version);
    return reply(status, secret);
  }
  static http::Response reply(int status, const json& body) {
    return {.status = status, .headers = {}, .body = body.dump()};
  }
  static http::Response refusal(int status, const char* reason) {
    return reply(status, {{"kind", "Status"}, {"code", status}, {"reason", reason}, {"message", "no"}});
  }
};

class TransportTo final : public http::HttpTransport {
 public:
  explicit TransportTo(Server& server) : server_(server) {}

  Result<http::Response> call(const http::Request& request, const http::Limits&, std::stop_token) override {
    return server_.answer(request);
  }
  Result<http::ResponseHead> stream(const http::Request&, const http::Limits&, http::BodySink&,
                                    std::stop_token) override {
    return Error(ErrorKind::kUnavailable, "a Secret is not watched");
  }

 private:
  Server& server_;
};

class SecretCertificateTest : public testing::Test {
 protected:
  SecretCertificate another() {
    return {client_,
            clock_,
            Logger(clock_, {.fd = log_.get()}),
            {.name_space = "trees", .secret = "s", .name = kName, .reporter = "pod-a"}};
  }
  bool has_changed() {
    clock_.advance(10s);
    return certificate_.has_changed();
  }
  std::string said() {
    std::ifstream log(folder_ / "log");
    return {std::istreambuf_iterator<char>(log), {}};
  }
  [[nodiscard]] bool is_good() const {
    const auto& identity = certificate_.identity();
    return http::check_certificate(identity.shown, identity.ca_pem, kName, clock_.wall_now()).has_value();
  }

  Server server_;
  test::TemporaryFolder folder_;
  UniqueFd log_{::open((folder_ / "log").c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600)};
  ManualClock clock_{{}, WallTime{24h * 20000}};
  ApiClient client_{
      {.server = "https://127.0.0.1:1"}, clock_, {}, nullptr, std::make_unique<TransportTo>(server_)};
  SecretCertificate certificate_{client_,
                                 clock_,
                                 Logger(clock_, {.fd = log_.get()}),
                                 {.name_space = "trees", .secret = "s", .name = kName, .reporter = "pod-a"}};
};

TEST_F(SecretCertificateTest, MakesTheSecretOnceAndTellsPeople) {
  ASSERT_TRUE(certificate_.take());
  EXPECT_TRUE(is_good());
  EXPECT_EQ(server_.secret["type"], "kubernetes.io/tls");
  EXPECT_EQ(server_.secret["metadata"]["name"], "s");
  EXPECT_FALSE(server_.secret["metadata"]["labels"].contains("app.kubernetes.io/instance"))
      << "Argo CD would want to prune it";
  ASSERT_EQ(server_.events.size(), 1u);
  EXPECT_EQ(server_.events[0]["regarding"]["kind"], "Secret");
  EXPECT_EQ(server_.events[0]["regarding"]["uid"], "u");
  EXPECT_EQ(server_.events[0]["reason"], "CertificateMade");
  EXPECT_EQ(server_.events[0]["type"], "Normal");
  EXPECT_FALSE(has_changed());
  EXPECT_EQ(server_.version, 1);
}

TEST_F(SecretCertificateTest, TheNextOperatorAdoptsIt) {
  ASSERT_TRUE(certificate_.take());
  SecretCertificate next = another();
  ASSERT_TRUE(next.take());
  EXPECT_TRUE(next.identity().is_same_as(certificate_.identity()));
  EXPECT_EQ(server_.version, 1);
}

TEST_F(SecretCertificateTest, OfTwoOperatorsTheServerTakesOne) {
  SecretCertificate rival = another();
  server_.meanwhile = [&] { ASSERT_TRUE(rival.take()); };
  ASSERT_TRUE(certificate_.take());
  EXPECT_EQ(server_.version, 1) << "the rival's";
  EXPECT_TRUE(certificate_.identity().is_same_as(rival.identity()));
  // The same with a renewal.
  clock_.advance(24h * 60);
  server_.meanwhile = [&] { ASSERT_TRUE(rival.has_changed()); };
  EXPECT_TRUE(certificate_.has_changed());
  EXPECT_EQ(server_.version, 2);
  EXPECT_TRUE(certificate_.identity().is_same_as(rival.identity()));
}

TEST_F(SecretCertificateTest, ADeletedSecretIsRestored) {
  ASSERT_TRUE(certificate_.take());
  const json before = server_.secret["data"];
  server_.secret = json();
  EXPECT_FALSE(has_changed()) << "members still get the same certificate";
  EXPECT_EQ(server_.secret["data"], before);
  EXPECT_EQ(server_.events.back()["reason"], "CertificateRestored");
  EXPECT_EQ(server_.events.back()["type"], "Warning");
  EXPECT_THAT(said(), HasSubstr("the operator restored the certificate for members: there is no Secret"));
}

TEST_F(SecretCertificateTest, ADamagedSecretIsRestored) {
  ASSERT_TRUE(certificate_.take());
  const json before = server_.secret["data"];
  for (const char* field : {"ca.crt", "ca.key", "tls.crt", "tls.key"}) {
    for (const char* value : {"", "%%%", "YQ=="}) {
      server_.change({{"data", {{field, value}}}});
      EXPECT_FALSE(has_changed());
      EXPECT_EQ(server_.secret["data"], before) << field;
    }
  }
}

TEST_F(SecretCertificateTest, ARenewalIsShownAndAnotherOnesWriteIsTaken) {
  ASSERT_TRUE(certificate_.take());
  const ServingIdentity first = certificate_.identity();
  const auto ends = certificate_.ends();
  clock_.advance(24h * 60);
  EXPECT_TRUE(has_changed());
  EXPECT_TRUE(is_good());
  EXPECT_EQ(certificate_.identity().ca_pem, first.ca_pem);
  EXPECT_GT(certificate_.ends(), ends);
  EXPECT_EQ(server_.events.back()["reason"], "CertificateIssued");
  EXPECT_EQ(server_.events.back()["type"], "Normal");
  Server other;
  const ApiClient to_other({.server = "https://127.0.0.1:1"}, clock_, {}, nullptr,
                           std::make_unique<TransportTo>(other));
  SecretCertificate elsewhere(to_other, clock_, Logger(clock_, {.fd = log_.get()}),
                              {.name_space = "trees", .secret = "s", .name = kName, .reporter = "b"});
  ASSERT_TRUE(elsewhere.take());
  server_.change({{"data", other.secret["data"]}});
  EXPECT_TRUE(has_changed());
  EXPECT_TRUE(certificate_.identity().is_same_as(elsewhere.identity()));
}

TEST_F(SecretCertificateTest, WithoutTheRightItSaysSoAndServesOn) {
  server_.refuse_writes_with = 403;
  const auto refused = certificate_.take();
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("writing Secret s"));
  server_.refuse_writes_with = 0;
  ASSERT_TRUE(certificate_.take());
  server_.refuse_writes_with = 403;
  server_.secret = json();
  EXPECT_FALSE(has_changed());
  EXPECT_FALSE(has_changed());
  EXPECT_TRUE(is_good());
  const std::string log = said();
  EXPECT_THAT(log, HasSubstr("the served one stays in use"));
  EXPECT_EQ(log.find("is not up to date"), log.rfind("is not up to date")) << "once for one problem";
}

TEST_F(SecretCertificateTest, AsksTheServerNowAndThen) {
  ASSERT_TRUE(certificate_.take());
  server_.secret = json();
  clock_.advance(9s);
  EXPECT_FALSE(certificate_.has_changed());
  EXPECT_TRUE(server_.secret.is_null());
  clock_.advance(1s);
  EXPECT_FALSE(certificate_.has_changed());
  EXPECT_FALSE(server_.secret.is_null());
}

TEST_F(SecretCertificateTest, NoKeyIsInTheLog) {
  ASSERT_TRUE(certificate_.take());
  server_.change({{"data", {{"tls.key", "YQ=="}}}});
  EXPECT_FALSE(has_changed());
  const std::string key = certificate_.identity().shown.private_key_pem;
  EXPECT_THAT(said(), Not(HasSubstr("PRIVATE KEY")));
  EXPECT_THAT(said(), Not(HasSubstr(key.substr(40, 30))));
  for (const json& event : server_.events) EXPECT_THAT(event.dump(), Not(HasSubstr("PRIVATE KEY")));
}

TEST_F(SecretCertificateTest, AClockThatIsLateIsNamed) {
  ASSERT_TRUE(certificate_.take());
  clock_.advance(-24h * 30);
  SecretCertificate late = another();
  ASSERT_TRUE(late.take());
  EXPECT_TRUE(late.identity().is_same_as(certificate_.identity()));
  EXPECT_THAT(said(), HasSubstr("is not valid yet by the clock of this node"));
}

}  // namespace
}  // namespace ratoon::runtime::secret_certificate_test
