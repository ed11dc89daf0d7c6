#include "cli/report/page/render.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/report/page/axis.h"
#include "cli/report/page/html.h"
#include "tests/unit/cli/report/run_facts_builders.h"

namespace ratoon::cli::render_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kHostile = "\"><script>alert(1)</script><img src=x onerror='x'>&\x01\xff\u202e";

// Every text that can come from a run's files.
RunFacts hostile_run() {
  RunFacts facts{.name = kHostile, .folder = kHostile, .complaints = {kHostile}};
  RunEvent run{.kind = "run", .at = WallTime{from_seconds(100)}};
  RunEvent member{.kind = "member",
                  .at = WallTime{from_seconds(101)},
                  .member = kHostile,
                  .role = kHostile,
                  .node = kHostile,
                  .state = "running"};
  RunEvent world{.kind = "world", .at = WallTime{from_seconds(102)}, .attempt = 1};
  RunEvent gone = member;
  gone.at = WallTime{from_seconds(105)};
  gone.state = "failed";
  RunEvent news{.kind = "news",
                .at = WallTime{from_seconds(105)},
                .reason = "MemberLost",
                .message = std::string(kHostile) + ": ended"};
  RunEvent recovery{.kind = "recovery", .at = WallTime{from_seconds(106)}};
  recovery.disruption = api::Disruption{.member = kHostile, .node = kHostile, .reason = kHostile};
  RunEvent end{.kind = "end", .at = WallTime{from_seconds(110)}, .phase = "Failed", .message = kHostile};
  facts.events = {run, member, world, gone, news, recovery, end};
  facts.history.steps = {{.at = 103, .attempt = 1, .step = 1}, {.at = 104, .attempt = 1, .step = 2}};
  facts.history.values[kHostile] = facts.history.steps;
  facts.history.ledger = {{kHostile, 5}, {"useful", 1}};
  facts.checkpoints = {{.state = kHostile, .why = kHostile, .digest = kHostile, .tiers = {kHostile}}};
  facts.samples = {{.stream = kHostile, .digest = kHostile}};
  facts.status.emplace().last_failure =
      api::MemberFailure{.member = kHostile,
                         .node = kHostile,
                         .time = WallTime{from_seconds(105)},
                         .reason = kHostile,
                         .exit_code = 7,
                         .signal = {},
                         .exception = kHostile,
                         .last_lines = std::string(kHostile) + "\n" + kHostile};
  facts.status->restarts.disruption = 1;
  facts.status->finish_reason = kHostile;
  return facts;
}

TEST(RenderTest, NothingThatARunSaysBecomesMarkup) {
  const std::string page = render_page(make_report(hostile_run()));
  EXPECT_THAT(page, AllOf(Not(HasSubstr("<script")), Not(HasSubstr("<img")), Not(HasSubstr("\x01")),
                          Not(HasSubstr("\xff")), Not(HasSubstr("\u202e")), Not(HasSubstr("onerror='"))));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;"));
}

TEST(RenderTest, ThePageLoadsNothing) {
  const std::string page = render_page(make_report(hostile_run()));
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  for (const char* word : {"http:", "https:", "href=", "url(", "@import", "<link", "<iframe", "<object"})
    EXPECT_THAT(page, Not(HasSubstr(word)));
}

TEST(RenderTest, AnEmptyRunIsAPage) {
  const std::string page = render_page(make_report({.name = "empty"}));
  EXPECT_THAT(page, AllOf(HasSubstr("No time of this run is known yet."), HasSubstr("</html>")));
  EXPECT_THAT(page, Not(HasSubstr("nan")));
}

TEST(RenderTest, AMillionRowsWithLossesAreTwoMegabytesAtMost) {
  RunFacts facts{.name = "long"};
  constexpr int kRows = 1'000'000;
  constexpr int kPerAttempt = 1000;
  RunEvent run{.kind = "run", .at = WallTime{from_seconds(1000)}};
  facts.events.push_back(run);
  for (std::uint64_t index = 0; index < 200; ++index)
    facts.events.push_back({.kind = "member",
                            .at = WallTime{from_seconds(1000)},
                            .member = "worker-" + std::to_string(index),
                            .role = "worker",
                            .index = index,
                            .node = "node",
                            .state = "running"});
  for (int i = 0; i < kRows; ++i) {
    const auto attempt = static_cast<std::uint64_t>(i / kPerAttempt + 1);
    const HistoryRow row{.at = 1000 + i * 0.04,
                         .attempt = attempt,
                         .step = static_cast<std::uint64_t>(i) - (attempt - 1) * 10,
                         .value = 1 + std::sin(i * 0.7),
                         .is_kept = i % kPerAttempt < 990};
    facts.history.steps.push_back(row);
    facts.history.values["loss"].push_back(row);
    if (i % kPerAttempt != 0) continue;
    facts.events.push_back({.kind = "world", .at = WallTime{from_seconds(row.at)}, .attempt = attempt});
    RunEvent recovery{.kind = "recovery", .at = WallTime{from_seconds(row.at)}};
    recovery.disruption = api::Disruption{.member = "worker-1", .lost_steps = 10};
    facts.events.push_back(recovery);
  }
  for (std::uint64_t step = 0; step < 2000; ++step)
    facts.checkpoints.push_back({.step = step, .state = "complete", .tiers = {"folder"}});
  const std::string page = render_page(make_report(std::move(facts)));
  EXPECT_LT(page.size(), 2'000'000u);
  EXPECT_GT(page.size(), 50'000u);
}

TEST(RenderTest, TheSentenceAndTheCardCountTheSameLosses) {
  RunFacts facts = hostile_run();
  facts.events.push_back(facts.events[5]);  // a recovery after notice: one more of them than losses
  const std::string page = render_page(make_report(std::move(facts)));
  EXPECT_THAT(
      page, HasSubstr(". 1 loss (1 lost, 0 failed); 2 steps made again; 2 recoveries, half of them within "));
  EXPECT_THAT(page, HasSubstr("<b>1</b><span>loss</span>"));
}

TEST(RenderTest, StepsMadeAgainWithoutALossAreNamed) {
  Report report{.length = 15.7, .step = 100, .attempts = 2, .repeated_step_count = 7};
  std::string page = render_page(report);
  EXPECT_THAT(page,
              HasSubstr("Step 100 after 15.7 s, in 2 attempts. No member was lost; 7 steps made again."));
  EXPECT_THAT(page, AllOf(HasSubstr("Yellow parts are steps that were undone and made again."),
                          Not(HasSubstr("Red lines are losses"))));
  report.repeated_step_count = 0;
  page = render_page(report);
  EXPECT_THAT(page, HasSubstr("in 2 attempts. Nothing was lost."));
  EXPECT_THAT(page, Not(HasSubstr("Yellow parts")));
}

TEST(RenderTest, ARunWithoutAnAttemptMadeNoStep) {
  const Report report{.length = 1.73, .loss_count = 2};
  EXPECT_THAT(render_page(report),
              HasSubstr(">No attempt began within 1.73 s. 2 losses; 0 steps made again."));
}

TEST(RenderTest, TheLastNameOfAnAxisIsWithinTheDrawing) {
  RunFacts facts = report_test::run_with_a_loss();
  for (HistoryRow& row : facts.history.values["loss"]) row.step *= 100;
  facts.history.steps = facts.history.values["loss"];
  const std::string page = render_page(make_report(facts));
  EXPECT_THAT(page, HasSubstr("<text x=\"1000\" y=\"184\" class=\"scale\">1000</text>"));
  EXPECT_THAT(page, HasSubstr("class=\"moment\">800</text>"));
}

TEST(RenderTest, AFailedRunClaimsNoUsefulTime) {
  RunFacts facts = hostile_run();
  EXPECT_THAT(render_page(make_report(facts)), Not(HasSubstr("of the time was useful")));
  facts.events.back().phase = "Succeeded";
  EXPECT_THAT(render_page(make_report(facts)), HasSubstr("of the time was useful"));
}

TEST(RenderTest, TheReasonOfFinishIsShown) {
  RunFacts facts = hostile_run();
  facts.status->finish_reason = "the loss no longer falls";
  EXPECT_THAT(render_page(make_report(facts)),
              HasSubstr("The program ended the run: the loss no longer falls."));
  EXPECT_EQ(report_json(make_report(facts))["finish_reason"], "the loss no longer falls");
}

TEST(RenderTest, TheBestCheckpointsAreShown) {
  RunFacts facts;
  facts.checkpoints = {{.step = 12, .attempt = 2, .state = "complete", .tiers = {"folder"}}};
  const auto best = [](const char* name, std::uint64_t step, double value) {
    return checkpoint::KeptBest{
        .name = name, .checkpoint = {.id = {.attempt = Attempt(2), .step = Step(step)}, .value = value}};
  };
  facts.best = {best("error", 10, 0), best("error", 7, 0.5), best("<hits>", 11, 7)};
  const Report report = make_report(facts);
  EXPECT_THAT(render_page(report),
              HasSubstr("; best error: 0 at step 10, 0.5 at step 7; best &lt;hits&gt;: 7 at step "
                        "11"));
  EXPECT_EQ(report_json(report)["best"][1],
            (nlohmann::json{{"name", "error"}, {"value", 0.5}, {"step", 7}, {"attempt", 2}}));
}

TEST(RenderTest, ALineOfOneValueIsAPoint) {
  RunFacts facts = hostile_run();
  auto& rows = facts.history.values[kHostile];
  rows.resize(1);
  const std::string page = render_page(make_report(facts));
  EXPECT_THAT(page, HasSubstr("class=\"dot undone\""));
  rows.front().is_kept = true;
  EXPECT_THAT(render_page(make_report(facts)), HasSubstr("class=\"dot\""));
}

TEST(RenderTest, ValuesAreDrawnOverStepsToo) {
  const std::string page = render_page(make_report(hostile_run()));
  EXPECT_THAT(page, HasSubstr("<h2>By step</h2>"));
  EXPECT_THAT(page, HasSubstr(">step</text>"));
}

TEST(RenderTest, JsonHasWhatThePageSays) {
  const auto json = report_json(make_report(hostile_run()));
  EXPECT_EQ(json["version"], 1);
  EXPECT_EQ(json["seconds"], 10.0);
  EXPECT_EQ(json["standing"], "failed");
  EXPECT_EQ(json["losses"].size(), 1u);
  EXPECT_EQ(json["losses_in_all"], 1u);
  EXPECT_EQ(json["restarts"]["disruption"], 1u);
  EXPECT_EQ(json["recoveries"].size(), 1u);
}

TEST(RenderTest, CsvQuotesNamesAndKeepsEveryBit) {
  AttemptHistory history;
  history.values["a \"b\", c"] = {{.at = 1.5, .attempt = 2, .step = 3, .value = 0.1, .is_kept = true}};
  history.values["n"] = {{.value = -INFINITY}};
  EXPECT_EQ(history_csv(history),
            "time,attempt,step,kept,name,value\r\n"
            "1970-01-01T00:00:01.500Z,2,3,1,\"a \"\"b\"\", c\",0.1\r\n"
            "1970-01-01T00:00:00.000Z,0,0,0,n,-Infinity\r\n");
}

TEST(EscapedTest, LongTextsAreCutBetweenCharacters) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "\u00e9";
  const std::string safe = escaped(text);
  EXPECT_TRUE(safe.ends_with("\u00e9\u2026"));
  EXPECT_LT(safe.size(), 1000u);
}

TEST(TextTest, NumbersAsPeopleReadThem) {
  EXPECT_EQ(seconds_text(0.168), "0.17 s");
  EXPECT_EQ(seconds_text(42.25), "42.2 s");
  EXPECT_EQ(seconds_text(205), "3:25");
  EXPECT_EQ(percent_text(0.99999), "99.9 %");
  EXPECT_EQ(percent_text(1), "100 %");
  EXPECT_EQ(percent_text(0.49683), "49.7 %");
  EXPECT_EQ(pixel_text(3.04), "3");
  EXPECT_EQ(number_text(150'000), "150 k");
  EXPECT_EQ(number_text(-2.5e9), "-2.5 G");
  EXPECT_EQ(number_text(0.00031), "0.00031");
}

TEST(AxisTest, RoundNumbers) {
  EXPECT_EQ(value_ticks(0.1, 2.3, 4), (std::vector<double>{1, 2}));
  EXPECT_EQ(value_ticks(5, 5, 4), (std::vector<double>{5, 5}));
  EXPECT_EQ(value_ticks(0, 44.38, 2), (std::vector<double>{0, 20, 40})) << "and not 0 and 44.38";
  EXPECT_EQ(count_ticks(1, 8), (std::vector<double>{0, 1})) << "there is no half of a step";
  EXPECT_EQ(count_ticks(400, 8), (std::vector<double>{0, 50, 100, 150, 200, 250, 300, 350, 400}));
  EXPECT_EQ(time_ticks(3), (std::vector<double>{0, 0.5, 1, 1.5, 2, 2.5, 3}));
  EXPECT_EQ(time_ticks(11 * 3600).size(), 12u);
}

TEST(AxisTest, ACurveOfOneValueAndOneOfTheLargestHaveRoom) {
  for (const double value : {0.0, 5.0, 1.7e308, -1.7e308}) {
    const Curve curve{.lines = {{.points = {{0, value}}}}};
    const ValueAxis axis = axis_around(curve, 0, 100);
    EXPECT_TRUE(std::isfinite(axis.y(std::clamp(value, -1e300, 1e300)))) << value;
    EXPECT_LT(axis.low, axis.high) << value;
  }
}

}  // namespace
}  // namespace ratoon::cli::render_test
