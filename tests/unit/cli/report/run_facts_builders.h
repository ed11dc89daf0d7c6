// Facts of runs with losses, for tests of the report.
#pragma once

#include <chrono>
#include <string>

#include "cli/report/report.h"

namespace ratoon::cli::report_test {

inline constexpr double kBegan = 1'700'000'000;

inline RunEvent event(double at, const std::string& kind) {
  return {.kind = kind, .at = WallTime{from_seconds(kBegan + at)}};
}

inline RunEvent member(double at, const std::string& name, std::uint64_t index, const std::string& state) {
  RunEvent e = event(at, "member");
  e.member = name;
  e.role = "worker";
  e.index = index;
  e.node = "node-1";
  e.state = state;
  return e;
}

inline RunEvent news(double at, const std::string& reason, const std::string& message) {
  RunEvent e = event(at, "news");
  e.reason = reason;
  e.message = message;
  return e;
}

inline RunEvent world(double at, std::uint64_t attempt) {
  RunEvent e = event(at, "world");
  e.attempt = attempt;
  return e;
}

inline HistoryRow row(double at, std::uint64_t attempt, std::uint64_t step, double value,
                      bool is_kept = true) {
  return {.at = kBegan + at, .attempt = attempt, .step = step, .value = value, .is_kept = is_kept};
}

// Two members; steps 1 to 6 in ten seconds, of which 5 and 6 are lost at 10 s and made again at 14 and 15 s.
inline RunFacts run_with_a_loss() {
  RunFacts facts{.name = "digits", .folder = "runs/digits"};
  facts.events = {event(0, "run"),
                  member(1, "w-0-i0", 0, "running"),
                  member(1, "w-1-i0", 1, "running"),
                  world(2, 1),
                  member(10, "w-1-i0", 1, "failed"),
                  news(10, "MemberLost", "w-1-i0: ended by signal 9"),
                  event(10, "apart"),
                  member(11, "w-1-i1", 1, "running")};
  facts.events.push_back(world(12, 2));
  RunEvent recovery = event(13, "recovery");
  recovery.disruption = api::Disruption{.member = "w-1-i0",
                                        .node = "node-1",
                                        .reason = "ended by signal 9",
                                        .time = WallTime{from_seconds(kBegan + 10)},
                                        .lost_steps = 2,
                                        .phases = {.detect_seconds = 1, .load_seconds = 2}};
  facts.events.push_back(recovery);
  RunEvent end = event(20, "end");
  end.phase = "Succeeded";
  facts.events.push_back(end);
  for (int i = 1; i <= 6; ++i)
    facts.history.steps.push_back(row(3 + i, 1, static_cast<std::uint64_t>(i), 0, i <= 4));
  for (int i = 5; i <= 10; ++i)
    facts.history.steps.push_back(row(9 + i, 2, static_cast<std::uint64_t>(i), 0));
  for (HistoryRow one : facts.history.steps) {
    one.value = 1.0 / static_cast<double>(one.step);
    facts.history.values["loss"].push_back(one);
  }
  return facts;
}

inline double spent(const Report& report, const std::string& part) {
  for (const auto& [name, seconds] : report.account)
    if (name == part) return seconds;
  return 0;
}

}  // namespace ratoon::cli::report_test
