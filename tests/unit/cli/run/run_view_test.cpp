#include "cli/run/run_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/text/text_format.h"

namespace ratoon::cli::run_view_test {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

json document() {
  return json::parse(R"({
    "job": {"apiVersion": "ratoon.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": "digits"},
            "spec": {"roles": [{"name": "worker",
                                "template": {"spec": {"containers": [{"command": ["train"]}]}}}]},
            "status": {"phase": "Running", "attempt": 3, "formed": true, "worldSize": 2,
                       "members": [
                         {"role": "worker", "index": 0, "incarnation": 0, "uid": "a", "node": "node-1"},
                         {"role": "worker", "index": 1, "incarnation": 2, "uid": "b", "node": "node-2",
                          "successor": 3}],
                       "restarts": {"application": 1, "disruption": 2}, "progress": {"step": 1200},
                       "lastCheckpoint": {"attempt": 3, "step": 1180, "digest": "aa"}}},
    "members": [{"name": "digits-worker-0-i0", "node": "node-1", "phase": "Running", "pids": [7]},
                {"name": "digits-worker-1-i2", "node": "node-2", "phase": "Running", "pids": [8]},
                {"name": "digits-worker-1-i3", "node": "node-4", "phase": "Running", "pids": [9]},
                {"name": "digits-worker-1-i1", "node": "node-0", "phase": "Terminating", "pids": [6]}],
    "nodes": [{"name": "node-1"}, {"name": "node-2", "ends_at": "1970-01-01T00:00:30.000Z"},
              {"name": "node-3"}, {"name": "node-4"}],
    "on_purpose": [{"kind": "reclaim"}],
    "recoveries": [
      {"member": "digits-worker-1-i0", "node": "node-9", "reason": "ended by signal 9",
       "time": "2026-11-21T11:38:21.250Z", "lost_steps": 12, "seconds": 0.5},
      {"member": "digits-worker-1-i1", "node": "node-0", "reason": "silent for too long",
       "time": "2026-11-21T11:39:21.250Z", "lost_steps": 3, "seconds": 3.25}],
    "progress": {"position": 1200, "total": 4000, "unit": "step", "loss": 0.25, "steps_per_second": 50,
                 "seconds_left": 56}})");
}

RunView view_of(const json& from, bool is_running = true) {
  auto view = decode_run_view(from);
  EXPECT_TRUE(view) << view.error().message();
  view->is_running = is_running;
  return *view;
}

TEST(RunView, SaysWhereARunSavesThatDoesNotSaveInItsFolder) {
  RunView view = view_of(document());
  EXPECT_THAT(render_run(view, WallTime{}, 0, 0), Not(Contains(HasSubstr("saves in"))));
  view.saves = "/data/saves/digits";
  EXPECT_THAT(render_run(view, WallTime{}, 0, 0), Contains("saves in  /data/saves/digits"));
}

TEST(RunView, NamesTheBestCheckpointsOnceThereAreSome) {
  json from = document();
  from["progress"]["best"] = "error 0.25 at step 1100";
  EXPECT_EQ(render_run(view_of(from), WallTime{}, 0, 0)[3], "best     error 0.25 at step 1100");
}

TEST(RunView, ShowsWhereMembersThatLiveServeTheirMetrics) {
  json with_ports = document();
  with_ports["members"][0]["metrics_ports"] = {12000};
  with_ports["members"][1]["metrics_ports"] = {12001, 12002};
  const auto lines = render_run(view_of(with_ports), WallTime{}, 0, 0);
  EXPECT_THAT(lines, Contains("NODE                  MEMBER              STATE        METRICS"));
  EXPECT_THAT(lines, Contains("node-1                digits-worker-0-i0  Running      127.0.0.1:12000"));
  EXPECT_THAT(lines,
              Contains("node-2  goes in 0:30  digits-worker-1-i2  Leaving      127.0.0.1:12001-12002"));
  EXPECT_THAT(lines, Contains("node-4                digits-worker-1-i3  Taking over"));
  EXPECT_THAT(render_run(view_of(with_ports, false), WallTime{}, 0, 0), Not(Contains(HasSubstr("METRICS"))));
  with_ports["members"][0]["metrics_ports"] = {70000};
  EXPECT_FALSE(decode_run_view(with_ports));
}

TEST(RunView, ShowsAllThatAPersonAsksFor) {
  EXPECT_THAT(
      render_run(view_of(document()), WallTime{}, 0, 0),
      ElementsAre("digits   Running, attempt 3, 2 processes",
                  "at       step 1200 of 4000 (30 %)  50 steps/s  0:56 left  loss 0.25",
                  "durable  step 1180  aa",
                  "losses   2 lost, 1 failed, 1 on purpose; recovered in 3.25 s, median 1.88 s of 2",
                  "NODE                  MEMBER              STATE",
                  "node-1                digits-worker-0-i0  Running",
                  "node-2  goes in 0:30  digits-worker-1-i2  Leaving", "node-3                -",
                  "node-4                digits-worker-1-i3  Taking over",
                  "node-0  gone          digits-worker-1-i1  Terminating",
                  "LOST (UTC)  SECONDS  STEPS AGAIN  MEMBER              NODE    WHY",
                  "11:38:21    0.50     12           digits-worker-1-i0  node-9  ended by signal 9",
                  "11:39:21    3.25     3            digits-worker-1-i1  node-0  silent for too long"));
  EXPECT_EQ(
      summary_line(view_of(document())),
      "Running, attempt 3, 2 processes: step 1200 of 4000 (30 %)  50 steps/s  0:56 left  loss 0.25  durable "
      "step 1180");
}

TEST(RunView, NamesTheWeightsOnceThereAreSome) {
  json from = document();
  from["job"]["status"]["finalWeights"] = "/runs/digits/weights.safetensors";
  EXPECT_EQ(render_run(view_of(from), WallTime{}, 0, 0)[4], "weights  /runs/digits/weights.safetensors");
}

TEST(RunView, ARunWithoutARunnerHasNoRate) {
  const auto lines = render_run(view_of(document(), false), WallTime{}, 0, 0);
  EXPECT_EQ(lines[0], "digits   Stopped, attempt 3");
  EXPECT_EQ(lines[1], "at       step 1200 of 4000 (30 %)  loss 0.25");
}

TEST(RunView, OfARunThatWasStoppedItDoesNotSayThatItTrains) {
  json from = document();
  from["job"]["status"]["message"] = "attempt 3 trains with 2 processes from step 1180";
  EXPECT_THAT(render_run(view_of(from, false), WallTime{}, 0, 0), Not(Contains(HasSubstr("trains with"))));
  from["job"]["status"]["phase"] = "Failed";
  from["job"]["status"]["message"] = "maxRestarts (10) is used up";
  EXPECT_THAT(render_run(view_of(from, false), WallTime{}, 0, 0), Contains("maxRestarts (10) is used up"));
}

TEST(RunView, CountsInTheUnitOfItsEnd) {
  json from = document();
  from["progress"] = {{"position", 5000U}, {"total", 0U}, {"unit", "sample"}};
  EXPECT_EQ(render_run(view_of(from), WallTime{}, 0, 0)[1], "at       step 1200");
  from["progress"]["total"] = 20000U;
  EXPECT_EQ(render_run(view_of(from), WallTime{}, 0, 0)[1],
            "at       step 1200, sample 5000 of 20000 (25 %)");
}

TEST(RunView, FitsIntoATerminal) {
  for (const std::size_t columns : {1u, 20u, 40u, 79u}) {
    for (const std::size_t rows : {1u, 2u, 5u, 12u}) {
      const auto lines = render_run(view_of(document()), WallTime{}, columns, rows);
      EXPECT_THAT(lines, SizeIs(rows));
      for (const auto& line : lines) EXPECT_LE(line.size(), columns);
    }
  }
  EXPECT_EQ(render_run(view_of(document()), WallTime{}, 40, 5).back(), "... 9 more lines");
  EXPECT_EQ(render_run(view_of(document()), WallTime{}, 20, 0)[1], "at       step 1200 >");
}

TEST(RunView, WhatAnOlderRunnerWroteIsShown) {
  json from = document();
  for (const char* name : {"nodes", "on_purpose", "recoveries", "progress"}) from.erase(name);
  const auto lines = render_run(view_of(from), WallTime{}, 0, 0);
  EXPECT_EQ(lines[1], "at       step 1200");
  EXPECT_EQ(lines[3], "losses   2 lost, 1 failed");
}

TEST(RunView, NothingMovesTheCursor) {
  json from = document();
  from["job"]["status"]["phase"] = "Failed";
  from["job"]["status"]["message"] = "a\x1b[2Jb";
  from["recoveries"][0]["reason"] = "x\x1b]0;y\x07";
  for (const auto& line : render_run(view_of(from), WallTime{}, 0, 0))
    for (const char c : line) EXPECT_GE(static_cast<unsigned char>(c), 0x20) << line;
}

TEST(RunView, NonsenseIsASentence) {
  for (const char* text : {"null", "[]", "{}", "{\"job\":3}"})
    EXPECT_FALSE(decode_run_view(json::parse(text))) << text;
  for (const char* pointer : {"/members/0/name", "/nodes/0/name", "/recoveries/0/time", "/progress/total"}) {
    json from = document();
    from[json::json_pointer(pointer)] = json::array();
    EXPECT_FALSE(decode_run_view(from)) << pointer;
  }
}

TEST(LineOf, CutsAtCharactersAndSaysSo) {
  EXPECT_EQ(line_of("gr\xc3\xbc\xc3\x9f"
                    "e",
                    5),
            "gr\xc3\xbc\xc3\x9f"
            "e");
  EXPECT_EQ(line_of("gr\xc3\xbc\xc3\x9f"
                    "e",
                    4),
            "gr\xc3\xbc>");
  EXPECT_EQ(line_of("a\tb", 0), "a?b");
}

}  // namespace
}  // namespace ratoon::cli::run_view_test
