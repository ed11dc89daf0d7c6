#include "operator/local/metrics_ports.h"

#include <array>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>

#include "base/contract/names.h"
#include "base/core/unique_fd.h"
#include "tests/support/operator_builders.h"

namespace ratoon::local::metrics_ports_test {
namespace {

using nlohmann::json;

// A server at that port of 127.0.0.1.
UniqueFd listen_at(std::uint16_t port) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  EXPECT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(::listen(fd.get(), 1), 0);
  return fd;
}

TEST(MetricsPorts, AreOutsideOfThoseThatTheKernelGives) {
  MetricsPorts below({}, {.first = 40'000, .last = 65'535});
  MetricsPorts above({}, {.first = 10'000, .last = 40'000});
  for (int i = 0; i < 50; ++i) {
    const std::string member = std::to_string(i);
    const auto low = below.assign(member, 8, {});
    ASSERT_TRUE(low);
    EXPECT_GE(*low, 1024);
    EXPECT_LE(*low + 8, 40'000);
    const auto high = above.assign(member, 8, {});
    ASSERT_TRUE(high);
    EXPECT_GT(*high, 40'000);
    EXPECT_LE(*high + 8U, 65'536U);
  }
}

TEST(MetricsPorts, OfMembersDoNotOverlapAndAPortThatIsTakenIsPassedOver) {
  MetricsPorts ports;
  const std::uint16_t first = ports.assign("a", 4, {}).value();
  const std::uint16_t second = ports.assign("b", 4, {}).value();
  EXPECT_TRUE(second >= first + 4 || second + 4 <= first);
  const auto server = listen_at(static_cast<std::uint16_t>(second + 6));
  const std::uint16_t third = ports.assign("c", 4, {}).value();
  EXPECT_TRUE(third > second + 6 || third + 4 <= second + 6) << third;
  EXPECT_EQ(ports.first_port_of("b"), second);
  EXPECT_EQ(ports.first_port_of("d"), std::nullopt);
}

TEST(MetricsPorts, TheUsersPortIsTheFirstOfTheRun) {
  MetricsPorts ports;
  const std::uint16_t named = ports.assign("where", 8, {}).value();
  MetricsPorts of_run;
  EXPECT_EQ(of_run.assign("a", 2, named), named);
  EXPECT_EQ(of_run.assign("b", 2, named), named + 2);
  const auto server = listen_at(static_cast<std::uint16_t>(named + 5));
  EXPECT_EQ(of_run.assign("c", 2, named), named + 6);
  EXPECT_EQ(of_run.assign("a", 2, named), named) << "the member is started again";
  EXPECT_EQ(of_run.assign("d", 4, 65'534), std::nullopt) << "there are no four ports";
}

class MetricsPortsOfAJob : public testing::Test {
 protected:
  json described(const std::string& member, const json& pids) const {
    json members = {{{"name", member}, {"pids", pids}}};
    ports_.add_ports_to(members);
    return members[0].value("metrics_ports", json());
  }

  api::TrainingJob job_ = test::job();
  api::Pod pod_ = test::pod(1, 3);
  MetricsPorts ports_;
};

TEST_F(MetricsPortsOfAJob, AreThoseOfEachProcessThatLives) {
  job_.spec.processes_per_node = 3;
  ports_.assign_to_pod(job_, pod_, {});
  const std::uint16_t first = ports_.first_port_of(pod_.name).value();
  EXPECT_EQ(described(pod_.name, {7, 8, 9}), json({first, first + 1, first + 2}));
  EXPECT_EQ(described(pod_.name, json::array()), json());
  EXPECT_EQ(described("another", {7}), json());
  api::Pod next = pod_;
  next.name = "next";
  ports_.assign_to_pod(job_, next, {pod_});
  EXPECT_EQ(ports_.first_port_of(pod_.name), first);
  ports_.assign_to_pod(job_, next, {});
  EXPECT_EQ(ports_.first_port_of(pod_.name), std::nullopt) << "it is gone";
}

TEST_F(MetricsPortsOfAJob, AreNoneWhereTheUserWantsNone) {
  job_.spec.roles[0].environment = {{names::env::kMetricsPort, "0"}};
  ports_.assign_to_pod(job_, pod_, {});
  EXPECT_EQ(ports_.first_port_of(pod_.name), std::nullopt);
  job_.spec.roles[0].environment.clear();
  job_.spec.roles[0].has_agent = false;
  ports_.assign_to_pod(job_, pod_, {});
  EXPECT_EQ(ports_.first_port_of(pod_.name), std::nullopt) << "a program without the agent";
}

TEST_F(MetricsPortsOfAJob, BeginAtTheUsersPort) {
  MetricsPorts probe;
  const std::uint16_t named = probe.assign("where", 4, {}).value();
  job_.spec.roles[0].environment = {{names::env::kMetricsPort, std::to_string(named)}};
  ports_.assign_to_pod(job_, pod_, {});
  EXPECT_EQ(ports_.first_port_of(pod_.name), named);
  job_.spec.roles[0].environment.clear();
  MetricsPorts of_shell(std::to_string(named));
  of_shell.assign_to_pod(job_, pod_, {});
  EXPECT_EQ(of_shell.first_port_of(pod_.name), named);
}

}  // namespace
}  // namespace ratoon::local::metrics_ports_test
