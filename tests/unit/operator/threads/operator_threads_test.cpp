// Whole operators as they ship, on an API server in memory: one that leads with several workers and one
// standby, jobs that all change at once, members that call the coordinator, and a scraper. Other tests check
// their results; here ThreadSanitizer checks their threads.
#include <atomic>
#include <list>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "base/http/transport.h"
#include "tests/unit/operator/threads/members_in_memory.h"

namespace ratoon::runtime::operator_threads_test {
namespace {

using nlohmann::json;
using test::ApiServerInMemory;
using test::job_document;
using test::kLook;
using test::Kubelets;
using test::Member;
using test::RunningOperator;
using test::wait_for_port_beyond;
using test::wait_until;

constexpr int kJobs = 4;

class OperatorThreads : public testing::Test {
 protected:
  OperatorThreads() { test::prepare_cluster(server_, folder_ / "kubeconfig"); }

  [[nodiscard]] api::TrainingJob job(const std::string& name) const { return jobs_.job(name); }
  void suspend(const std::string& name, bool is_suspended) {
    server_.change("trainingjobs", "default/" + name, [&](json& changed) {
      changed["spec"]["suspend"] = is_suspended;
      changed["metadata"]["generation"] = changed["metadata"]["generation"].get<std::uint64_t>() + 1;
    });
  }
  void rest(const std::string& name) {
    const std::uint64_t attempt = jobs_.wait_for_world_after(name, 0);
    suspend(name, true);
    wait_until([&] { return job(name).status.phase == api::JobPhase::kSuspended; });
    suspend(name, false);
    jobs_.wait_for_world_after(name, attempt);
  }
  // Deleted by another job of the same name.
  void replace(const std::string& name) {
    server_.remove("trainingjobs", "default/" + name);
    server_.put("trainingjobs", job_document(name));
    jobs_.wait_for_world_after(name, 0);
  }
  void at_once(const std::function<void(const std::string&)>& what) {
    std::list<std::jthread> threads;
    for (int i = 0; i < kJobs; ++i)
      threads.emplace_back([&what, name = "job-" + std::to_string(i)] { what(name); });
  }

  void scrape(const std::stop_token& stop, const std::vector<std::uint16_t>& ports) {
    const auto transport = http::make_transport();
    while (!stop.stop_requested()) {
      std::this_thread::sleep_for(kLook);
      for (const auto port : ports) {
        for (const char* path : {"/metrics", "/readyz", "/healthz"}) {
          const auto reply =
              transport->call({.url = "http://127.0.0.1:" + std::to_string(port) + path}, {}, stop);
          pages_ += reply && reply->status == 200 ? 1U : 0U;  // 404: it is on the other port
        }
      }
    }
  }

  test::TemporaryFolder folder_;
  ApiServerInMemory server_;
  test::StoredJobs jobs_{server_};
  Member::Orders orders_;
  std::atomic<std::uint64_t> pages_ = 0;
};

TEST_F(OperatorThreads, ServeJobsThatAllChangeAtOnceAndHandThemOver) {
  auto known = test::own_ports();
  const auto next_port = [&known] { return *known.insert(wait_for_port_beyond(known)).first; };
  RunningOperator first(folder_ / "kubeconfig", "first");
  const test::OperatorPorts first_ports = test::wait_for_operator_ports(known);
  known = test::own_ports();
  std::vector<std::uint16_t> status_ports = first_ports.status;
  RunningOperator second(folder_ / "kubeconfig", "second");
  for (int i = 0; i < 2; ++i) status_ports.push_back(next_port());
  const std::jthread scraper([&](const std::stop_token& stop) { scrape(stop, status_ports); });

  orders_.door = first_ports.door;
  auto kubelets = std::make_unique<Kubelets>(server_, orders_);
  at_once([&](const std::string& name) {
    server_.put("trainingjobs", job_document(name));
    jobs_.lose_a_pod(name);
    rest(name);
    replace(name);
  });

  kubelets.reset();  // so that the next port is the door's
  orders_.door = 0;
  known = test::own_ports();
  const auto stopped = first.stop();
  EXPECT_TRUE(stopped) << stopped.error().message();
  // The second operator may get a port that the first one had.
  for (const std::uint16_t port : first_ports.status) known.erase(port);
  known.erase(first_ports.door);
  orders_.door = next_port();
  kubelets = std::make_unique<Kubelets>(server_, orders_);
  at_once([&](const std::string& name) { jobs_.lose_a_pod(name); });
  orders_.finishes = true;
  at_once([&](const std::string& name) {
    wait_until([&] { return job(name).status.phase == api::JobPhase::kSucceeded; });
  });
  kubelets.reset();
  const auto ended = second.stop();
  EXPECT_TRUE(ended) << ended.error().message();
  EXPECT_GT(pages_, 0U);
  EXPECT_GT(server_.events(), 0U);
}

}  // namespace
}  // namespace ratoon::runtime::operator_threads_test
