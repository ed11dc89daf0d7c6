// /metrics of a process over real HTTP: its content, and that it never delays training.
#include "agent/src/metrics/endpoint.h"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/version.h>

#include "agent/src/metrics/exposition.h"
#include "agent/src/session/telemetry/run_ledger.h"
#include "base/http/transport.h"
#include "tests/support/own_ports.h"

namespace ratoon::metrics::endpoint_test {
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

http::Response get(std::uint32_t port, const std::string& path, const std::string& method = "GET") {
  const auto transport = http::make_transport();
  const auto response =
      transport->call({.method = method, .url = "http://127.0.0.1:" + std::to_string(port) + path}, {}, {});
  EXPECT_TRUE(response) << response.error().message();
  return response ? *response : http::Response{.status = 0};
}

class EndpointTest : public testing::Test {
 protected:
  // At the port that the member's options name.
  [[nodiscard]] std::unique_ptr<Endpoint> open() const {
    return test::open_at_own_port([this](std::uint16_t port) {
      auto endpoint = open_endpoint(member(port), meters_, logger_);
      EXPECT_EQ(endpoint ? endpoint->port() : port, port);
      return endpoint;
    });
  }

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
  meters_.missed_saves = 2;
  meters_.unchanged_saves = 1;
  meters_.stores.emplace_back("s3://bucket/runs/r/").durable_step = 1100;
  meters_.stores.emplace_back("file:///mnt/r/").missed_copies = 4;
  meters_.save_stall.add(250ms);
  for (const auto took : {2ms, 20ms, 20ms}) meters_.step_times.observe(took);
  meters_.step_times.observe(600s);
  const auto endpoint = open();
  ASSERT_NE(endpoint, nullptr);
  const auto page = get(endpoint->port(), "/metrics");
  EXPECT_EQ(page.status, 200);
  EXPECT_THAT(page.headers.get("Content-Type"), testing::StartsWith("text/plain; version=0.0.4"));
  const std::string labels =
      R"({training_namespace="team-a",training_job="digits",training_role="worker",index="3",local_rank="0")";
  for (const std::string line : {"# TYPE ratoon_step gauge", "# TYPE ratoon_replayed_steps_total counter",
                                 "# TYPE ratoon_step_seconds histogram"})
    EXPECT_THAT(page.body, HasSubstr(line + "\n"));
  for (const auto& [name, rest] : {std::pair("ratoon_attempt", "} 7\n"),
                                   {"ratoon_world_size", "} 8\n"},
                                   {"ratoon_step", "} 1207\n"},
                                   {"ratoon_durable_step", "} 1200\n"},
                                   {"ratoon_replayed_steps_total", "} 13\n"},
                                   {"ratoon_missed_saves_total", "} 2\n"},
                                   {"ratoon_stale_saves_total", "} 1\n"},
                                   {"ratoon_store_durable_step", ",store=\"s3://bucket/runs/r/\"} 1100\n"},
                                   {"ratoon_store_durable_step", ",store=\"file:///mnt/r/\"} 0\n"},
                                   {"ratoon_missed_copies_total", ",store=\"s3://bucket/runs/r/\"} 0\n"},
                                   {"ratoon_missed_copies_total", ",store=\"file:///mnt/r/\"} 4\n"},
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

TEST_F(EndpointTest, ShowsValuesTimesAndAges) {
  meters_.progress = 0.25;
  meters_.samples = 4096;
  meters_.replayed_samples = 32;
  meters_.values.set("loss", 0.5);
  meters_.rejoins.handed_over = 2;
  meters_.last_recovery.load = Duration(1500ms).count();
  meters_.time_ledger = [] { return std::vector<std::pair<std::string_view, double>>{{"useful", 3.5}}; };
  meters_.run_time_ledger = [] { return std::vector<std::pair<std::string_view, double>>{{"hung", 7}}; };
  meters_.stores.emplace_back("file:///mnt/r/");
  const Timestamp now = clock_.now();
  const auto text = [&] { return format_metrics(meters_, member(0), now); };
  EXPECT_THAT(text(), testing::Not(HasSubstr("ratoon_durable_age_seconds"))) << "nothing was committed";
  meters_.durable_since.set(now - 90s);
  meters_.stores[0].durable_since.set(now - 150s);
  const std::string labels =
      R"({training_namespace="team-a",training_job="digits",training_role="worker",index="3",local_rank="0")";
  for (const auto& [name, rest] : {std::pair("ratoon_progress_ratio", "} 0.25\n"),
                                   {"ratoon_samples", "} 4096\n"},
                                   {"ratoon_replayed_samples_total", "} 32\n"},
                                   {"ratoon_value", ",name=\"loss\"} 0.5\n"},
                                   {"ratoon_rejoins_total", ",cause=\"world_changed\"} 0\n"},
                                   {"ratoon_rejoins_total", ",cause=\"handed_over\"} 2\n"},
                                   {"ratoon_last_recovery_seconds", ",phase=\"load\"} 1.5\n"},
                                   {"ratoon_ledger_seconds_total", ",part=\"useful\"} 3.5\n"},
                                   {"ratoon_run_ledger_seconds", ",part=\"hung\"} 7\n"},
                                   {"ratoon_durable_age_seconds", "} 90\n"},
                                   {"ratoon_store_durable_age_seconds", ",store=\"file:///mnt/r/\"} 150\n"}})
    EXPECT_THAT(text(), HasSubstr(name + labels + rest));
}

TEST_F(EndpointTest, ShowsTheBuildTheEpochAndTheLossesOfTheRun) {
  const std::string labels =
      R"({training_namespace="team-a",training_job="digits",training_role="worker",index="3",local_rank="0")";
  const auto text = [&] { return format_metrics(meters_, member(0), clock_.now()); };
  EXPECT_THAT(text(),
              HasSubstr("ratoon_build_info" + labels + ",version=\"" + version() + "\",contract=\"1\"} 1\n"));
  EXPECT_THAT(text(), testing::Not(HasSubstr("ratoon_epoch"))) << "there is no stream";
  EXPECT_THAT(text(), testing::Not(HasSubstr("ratoon_run_losses"))) << "no coordinator counted them";
  meters_.samples = 2999;
  meters_.epoch_samples = 1000;
  meters_.lost_members.disruption = 3;
  meters_.lost_members.hung = 1;
  meters_.lost_members.are_counted = true;
  for (const auto& [name, rest] : {std::pair("ratoon_epoch", "} 2\n"),
                                   {"ratoon_run_losses_total", ",cause=\"disruption\"} 3\n"},
                                   {"ratoon_run_losses_total", ",cause=\"application\"} 0\n"},
                                   {"ratoon_run_losses_total", ",cause=\"hung\"} 1\n"}})
    EXPECT_THAT(text(), HasSubstr(name + labels + rest));
}

// A Prometheus pays for each series in every pod of a job.
TEST_F(EndpointTest, ShowsAHundredAndFiftySeriesAtMost) {
  for (int i = 0; i < 1000; ++i) meters_.values.set("value" + std::to_string(i), i);
  for (int i = 0; i < 4; ++i) meters_.stores.emplace_back("s3://bucket/runs/" + std::to_string(i));
  for (StoreMeters& store : meters_.stores) store.durable_since.set(clock_.now());
  meters_.durable_since.set(clock_.now());
  const auto parts = [] { return session::seconds_of({}); };
  meters_.time_ledger = meters_.run_time_ledger = parts;
  meters_.epoch_samples = 1000;
  meters_.lost_members.are_counted = true;
  const auto endpoint = open();
  ASSERT_NE(endpoint, nullptr);
  std::istringstream page(get(endpoint->port(), "/metrics").body);
  std::size_t series = 0;
  for (std::string line; std::getline(page, line);) series += line.empty() || line[0] == '#' ? 0 : 1;
  EXPECT_LE(series, 150u);
  EXPECT_GE(series, ReportedValues::kNamesMax + 2 * parts().size());
}

TEST_F(EndpointTest, AnswersNothingElse) {
  const auto endpoint = open();
  ASSERT_NE(endpoint, nullptr);
  EXPECT_EQ(get(endpoint->port(), "/").status, 404);
  EXPECT_EQ(get(endpoint->port(), "/metrics", "POST").status, 405);
}

TEST_F(EndpointTest, APortThatIsTakenIsAWarning) {
  const auto first = open();
  ASSERT_NE(first, nullptr);
  const auto port = first->port();
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
  EXPECT_EQ(metrics_port_of(options), 0u);
  EXPECT_EQ(open_endpoint(options, meters_, logger_), nullptr);
  options.pod_ip = "10.0.0.7";
  options.local_rank = 2;
  EXPECT_EQ(metrics_port_of(options), 9402u);
  options.metrics_port = 9500;
  EXPECT_EQ(metrics_port_of(options), 9502u);
  options.metrics_port = 0;
  EXPECT_EQ(metrics_port_of(options), 0u);
}

}  // namespace
}  // namespace ratoon::metrics::endpoint_test
