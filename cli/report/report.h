// Report: a run as a person sees it, in numbers. A pure function of facts; render.h draws it. Whatever the
// length of the run, a report is small: curves are thinned to what a screen can show, lists are cut and say
// so.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/report/facts.h"

namespace ratoon::cli {

struct Point {
  double at = 0;  // seconds since the run began, as all times here
  double value = 0;
};

struct Line {
  bool is_kept = false;  // it is in the weights; else it was made again
  std::uint64_t attempt = 0;
  std::vector<Point> points;
};

struct Curve {
  std::string name;
  std::vector<Line> lines;
  std::uint64_t numbers_left_out = 0;  // NaN and infinities
};

struct Mark {
  double at = 0;
  std::string what;
};

// Parts of the ledger by their names in the history; "away": no runner was there; "absent": no process of
// that member was.
struct Bar {
  double begin = 0;
  double end = 0;
  std::string part;
  std::string what;
};

struct Lane {
  std::string name;
  std::vector<Bar> bars;
};

struct Recovery {
  double at = 0;
  std::string member;
  std::string node;
  std::string reason;
  std::uint64_t lost_steps = 0;
  std::vector<std::pair<std::string, double>> phases;
  double total = 0;
};

struct LastFailure {
  double at = 0;
  api::Failure failure;
  std::vector<std::string> lines;  // that it printed last
};

struct Report {
  std::string name;
  std::string folder;
  std::string standing;  // "completed", "in progress or killed", ...
  std::string message;
  std::string began;  // RFC 3339, empty where nothing has a time
  double length = 0;
  std::uint64_t step = 0;
  std::uint64_t attempts = 0;
  std::uint64_t steps_made_again = 0;
  std::vector<Curve> curves;  // the loss first, where there is one
  std::vector<Point> rate;    // steps a second, made again included
  std::vector<Mark> losses;
  std::size_t losses_in_all = 0;  // drawn or not
  std::vector<Mark> saves;
  std::vector<Lane> lanes;
  std::vector<std::pair<std::string, double>> account;  // seconds by part
  std::vector<Recovery> recoveries;                     // in time; of many the longest
  std::uint64_t recoveries_in_all = 0;
  std::optional<LastFailure> last_failure;  // of a member of `ratoon run`
  double median_recovery = 0;
  std::vector<StoredCheckpoint> checkpoints;  // newest first; of many the newest
  std::uint64_t checkpoints_in_all = 0;
  std::uint64_t stored_bytes = 0;  // of all
  std::vector<ConsumedSamples> samples;
  std::vector<std::string> remarks;  // what is missing and why
};

[[nodiscard]] Report make_report(RunFacts facts);

}  // namespace ratoon::cli
