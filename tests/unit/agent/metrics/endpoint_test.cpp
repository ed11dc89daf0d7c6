// /metrics of a process over real HTTP: what it shows, and that it is never in the way of training.
#include "agent/src/metrics/endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/src/metrics/exposition.h"
#include "base/http/server.h"
#include "base/http/transport.h"

namespace ratoon::metrics {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

MemberOptions member(std::uint32_t port) {
  MemberOptions options;
  options.job_namespace = "team-a";
  options.job_name = "digits";
  options.role = "worker";
  options.index = 3;
  options.metrics_port = port;
  return options;
}

// A port that was free a moment ago.
std::uint32_t free_port() {
  return http::HttpServer::start({}, [](http::ServerRequest, http::Responder) {}).value()->port();
}

http::Response get(std::uint32_t port, const std::string& path, const std::string& method = "GET") {
  const auto transport = http::make_transport();
  const auto response =
      transport->call({.method = method, .url = "http://127.0.0.1:" + std::to_string(port) + path}, {}, {});
  EXPECT_TRUE(response) << response.error().message();
  return response ? *response : http::Response{.status = 0};
}

class EndpointTest : public testing::Test {
 protected:
  SystemClock clock_;
  Logger logger_{clock_, {.format = LogFormat::kText}};
  Meters meters_;
};

TEST_F(EndpointTest, ShowsEverySeriesWithTheProcessItIsOf) {
  meters_.attempt = 7;
  meters_.world_size = 8;
  meters_.step = 1207;
  meters_.durable_step = 1200;
  meters_.replayed_steps = 13;
  meters_.save_stall.add(250ms);
  for (const auto took : {2ms, 20ms, 20ms}) meters_.step_times.observe(took);
  meters_.step_times.observe(600s);
  const auto port = free_port();
  const auto endpoint = open_endpoint(member(port), meters_, logger_);
  ASSERT_NE(endpoint, nullptr);
  EXPECT_EQ(endpoint->port(), port);
  const auto page = get(port, "/metrics");
  EXPECT_EQ(page.status, 200);
  EXPECT_THAT(page.headers.get("Content-Type"), testing::StartsWith("text/plain; version=0.0.4"));
  const std::string labels = R"({namespace="team-a",job="digits",role="worker",index="3",local_rank="0")";
  for (const std::string line : {"# TYPE ratoon_step gauge", "# TYPE ratoon_replayed_steps_total counter",
                                 "# TYPE ratoon_step_seconds histogram"})
    EXPECT_THAT(page.body, HasSubstr(line + "\n"));
  for (const auto& [name, rest] : {std::pair("ratoon_attempt", "} 7\n"),
                                   {"ratoon_world_size", "} 8\n"},
                                   {"ratoon_step", "} 1207\n"},
                                   {"ratoon_durable_step", "} 1200\n"},
                                   {"ratoon_replayed_steps_total", "} 13\n"},
                                   {"ratoon_save_stall_seconds_total", "} 0.25\n"},
                                   {"ratoon_step_seconds_bucket", ",le=\"0.001\"} 0\n"},
                                   {"ratoon_step_seconds_bucket", ",le=\"0.005\"} 1\n"},
                                   {"ratoon_step_seconds_bucket", ",le=\"0.025\"} 3\n"},
                                   {"ratoon_step_seconds_bucket", ",le=\"300\"} 3\n"},
                                   {"ratoon_step_seconds_bucket", ",le=\"+Inf\"} 4\n"},
                                   {"ratoon_step_seconds_count", "} 4\n"},
                                   {"ratoon_step_seconds_sum", "} 600.04"}})
    EXPECT_THAT(page.body, HasSubstr(name + labels + rest));
}

TEST_F(EndpointTest, AnswersNothingElse) {
  const auto port = free_port();
  const auto endpoint = open_endpoint(member(port), meters_, logger_);
  ASSERT_NE(endpoint, nullptr);
  EXPECT_EQ(get(port, "/").status, 404);
  EXPECT_EQ(get(port, "/metrics", "POST").status, 405);
}

TEST_F(EndpointTest, APortThatIsTakenIsAWarning) {
  const auto port = free_port();
  const auto first = open_endpoint(member(port), meters_, logger_);
  ASSERT_NE(first, nullptr);
  testing::internal::CaptureStderr();
  EXPECT_EQ(open_endpoint(member(port), meters_, logger_), nullptr);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("training goes on without /metrics"));
  EXPECT_THAT(said, HasSubstr("port=" + std::to_string(port)));
  EXPECT_EQ(get(port, "/metrics").status, 200) << "of the first";

  auto beyond = member(65535);
  beyond.local_rank = 1;
  testing::internal::CaptureStderr();
  EXPECT_EQ(open_endpoint(beyond, meters_, logger_), nullptr);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("there is no port 65536"));
}

TEST_F(EndpointTest, OpensNothingUnlessAskedOrInAPod) {
  MemberOptions options;
  EXPECT_EQ(port_of(options), 0u);
  EXPECT_EQ(open_endpoint(options, meters_, logger_), nullptr);
  options.pod_ip = "10.0.0.7";
  options.local_rank = 2;
  EXPECT_EQ(port_of(options), 9402u);
  options.metrics_port = 9500;
  EXPECT_EQ(port_of(options), 9502u);
  options.metrics_port = 0;
  EXPECT_EQ(port_of(options), 0u);
}

}  // namespace
}  // namespace ratoon::metrics
