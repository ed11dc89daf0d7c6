// The law of separation: a namespace, a job or a pod that misbehaves does not delay the recovery of another
// job. A whole operator serves a job whose member is lost while another namespace is in trouble. Calls that
// hang get no answer at all during the test, so a recovery that waits for one of them is seen.
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/contract/codec.h"
#include "operator/runtime/members/open_files.h"
#include "tests/conformance/support/raw_socket.h"
#include "tests/support/operator_builders.h"
#include "tests/unit/operator/threads/members_in_memory.h"

namespace ratoon::runtime::separation_law_test {
namespace {

using http::testing::RawSocket;
using nlohmann::json;
using test::ApiServerInMemory;
using Disturbance = ApiServerInMemory::Disturbance;

constexpr int kBadJobs = 60;
constexpr unsigned kNodesOfTheBigJob = 2048;  // with 8 processes each
constexpr std::size_t kConnections = 3000;
constexpr const char* kBadAddress = "127.0.0.2";

bool is_creation_in(const http::ServerRequest& request, const std::string& name_space) {
  return request.method == "POST" && request.path.find("/namespaces/" + name_space) != std::string::npos &&
         request.path.ends_with("/pods");
}

class SeparationLaw : public testing::Test {
 protected:
  SeparationLaw() {
    test::prepare_cluster(server_, folder_ / "kubeconfig");
    const auto known = test::own_ports();
    operator_ = std::make_unique<test::RunningOperator>(folder_ / "kubeconfig", "only", false);
    orders_.door = test::wait_for_operator_ports(known).door;
    kubelets_ = std::make_unique<test::Kubelets>(server_, orders_);
    server_.put("trainingjobs", test::job_document("good"));
    jobs_.wait_for_world_after("good", 0);
  }
  ~SeparationLaw() override {
    server_.disturb({});
    kubelets_.reset();
    const auto stopped = operator_->stop();
    EXPECT_TRUE(stopped) << stopped.error().message();
  }

  void put_bad_jobs(const std::string& name_space, int number) {
    for (int i = 0; i < number; ++i)
      server_.put("trainingjobs", test::job_document("bad-" + std::to_string(i), name_space));
  }
  // Answers each creation of a pod in namespaces whose names begin with "bad", and counts the answers.
  void answer_bad_creations(Disturbance disturbance) {
    server_.disturb([this, disturbance = std::move(disturbance)](const http::ServerRequest& request,
                                                                 const json&) -> std::optional<Disturbance> {
      if (!is_creation_in(request, "bad")) return std::nullopt;
      ++disturbed_;
      return disturbance;
    });
  }
  void wait_for_disturbed(int number) {
    test::wait_until([&] { return disturbed_ >= number; });
  }

  // Sends one beat of a member in the namespace "bad".
  static void send_beat(const RawSocket& socket, const std::string& token, std::uint64_t sequence) {
    ProcessIdentity process = test::process(0);
    process.job = {.name_space = "bad", .name = "bad-0"};
    const std::string body = encode(test::beat(process, 1, 1, sequence));
    socket.send("POST /v1/beat HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer " + token +
                "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  }
  static std::string beat(RawSocket& socket, const std::string& token, std::uint64_t sequence) {
    send_beat(socket, token, sequence);
    return socket.read_until("}");
  }
  [[nodiscard]] RawSocket connect() const { return RawSocket::connect_to(orders_.door, kBadAddress); }

  test::TemporaryFolder folder_;
  ApiServerInMemory server_;
  test::StoredJobs jobs_{server_};
  test::Member::Orders orders_;
  std::atomic<int> disturbed_ = 0;
  std::unique_ptr<test::RunningOperator> operator_;
  std::unique_ptr<test::Kubelets> kubelets_;
};

TEST_F(SeparationLaw, HoldsWhileWebhooksOfANamespaceHang) {
  answer_bad_creations({});
  put_bad_jobs("bad", kBadJobs);
  wait_for_disturbed(4);  // all workers that a namespace may have
  jobs_.lose_a_pod("good");
  EXPECT_EQ(server_.abandoned(), 0U) << "the recovery waited until a call for another namespace had ended";
}

// No job is known as slow yet, so each of these namespaces may have all its workers.
TEST_F(SeparationLaw, HoldsWhileWebhooksOfManyNamespacesBeginToHangAtOneMoment) {
  answer_bad_creations({});
  for (const char* name_space : {"bad-a", "bad-b", "bad-c", "bad-d", "bad-e", "bad-f"})
    put_bad_jobs(name_space, kBadJobs / 6);
  wait_for_disturbed(16);  // all workers that may be active
  jobs_.lose_a_pod("good");
  EXPECT_EQ(server_.abandoned(), 0U) << "the recovery waited until a call for another namespace had ended";
}

TEST_F(SeparationLaw, HoldsWhileWebhooksOfANamespaceFail) {
  answer_bad_creations({.answer = http::Response{.status = 500, .headers = {}, .body = "{}"}});
  put_bad_jobs("bad", kBadJobs);
  wait_for_disturbed(kBadJobs);
  jobs_.lose_a_pod("good");
}

TEST_F(SeparationLaw, HoldsWhileTheServerAsksForPausesInOtherNamespaces) {
  answer_bad_creations(
      {.answer = http::Response{.status = 429, .headers = {{"Retry-After", "5"}}, .body = "{}"}});
  for (const char* name_space : {"bad-a", "bad-b", "bad-c", "bad-d", "bad-e"})
    put_bad_jobs(name_space, kBadJobs / 5);
  wait_for_disturbed(kBadJobs);
  jobs_.lose_a_pod("good");
}

// Their pods get no node.
TEST_F(SeparationLaw, HoldsBesideJobsThatCannotBePlaced) {
  put_bad_jobs("bad", kBadJobs);
  test::wait_until([&] { return server_.objects("pods", "bad").size() == kBadJobs * test::kMembers; });
  jobs_.lose_a_pod("good");
}

TEST_F(SeparationLaw, HoldsWhileAJobOf16384ProcessesStarts) {
  json big = test::job_document("big", "bad", kNodesOfTheBigJob);
  big["spec"]["processesPerNode"] = 8U;
  server_.put("trainingjobs", std::move(big));
  test::wait_until([&] { return !server_.objects("pods", "bad").empty(); });
  jobs_.lose_a_pod("good");
}

TEST_F(SeparationLaw, HoldsWhileReviewsOfAnotherNamespacesTokensHang) {
  server_.disturb([this](const http::ServerRequest& request, const json& body) -> std::optional<Disturbance> {
    if (!request.path.ends_with("/tokenreviews")) return std::nullopt;
    if (!body["spec"]["token"].get<std::string>().starts_with("bad/")) return std::nullopt;
    ++disturbed_;
    return Disturbance{};
  });
  std::vector<RawSocket> sockets;
  for (int i = 0; i < kBadJobs; ++i) {
    sockets.push_back(connect());
    send_beat(sockets.back(), "bad/pod/uid-" + std::to_string(i), 1);
  }
  wait_for_disturbed(1);
  jobs_.lose_a_pod("good");
}

TEST_F(SeparationLaw, HoldsBesideAPodThatShowsThousandsOfTokens) {
  std::atomic<int> shown = 0;
  const std::jthread pod([&](const std::stop_token& stop) {
    auto socket = connect();
    for (std::uint64_t i = 1; !stop.stop_requested(); ++i) {
      static_cast<void>(beat(socket, "bad/pod/" + std::to_string(i), i));
      ++shown;
    }
  });
  test::wait_until([&] { return shown >= 100; });
  jobs_.lose_a_pod("good");
}

TEST_F(SeparationLaw, HoldsBesideAFloodOfMessages) {
  std::atomic<int> sent = 0;
  const auto flood = [&](const std::stop_token& stop) {
    auto socket = connect();
    for (std::uint64_t i = 1; !stop.stop_requested(); ++i) {
      static_cast<void>(beat(socket, "bad/pod/uid", i));
      ++sent;
    }
  };
  const std::jthread one(flood);
  const std::jthread other(flood);
  test::wait_until([&] { return sent >= 1000; });
  jobs_.lose_a_pod("good");
}

TEST_F(SeparationLaw, HoldsBesideThousandsOfConnections) {
  const std::size_t number = std::min(kConnections, raise_open_file_limit() / 4);
  std::vector<RawSocket> sockets;
  for (std::size_t i = 0; i < number; ++i) sockets.push_back(connect());
  jobs_.lose_a_pod("good");
}

}  // namespace
}  // namespace ratoon::runtime::separation_law_test
