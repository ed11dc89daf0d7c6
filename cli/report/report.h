// Report: a run in numbers, for people, computed from RunFacts; render.h draws it. The report of a long run
// is small, too: curves are reduced to the resolution of a screen, and shortened lists are marked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/report/facts/run_facts.h"

namespace ratoon::cli {

struct CurvePoint {
  double at = 0;  // seconds since the run began, as all times here
  double value = 0;
};

struct CurveLine {
  bool is_kept = false;  // its steps are in the weights; else they were made again
  std::uint64_t attempt = 0;
  std::vector<CurvePoint> points;
};

struct Curve {
  std::string name;
  std::vector<CurveLine> lines;
  std::vector<CurveLine> lines_by_step;   // the same lines; `at` of a point is its step
  std::uint64_t omitted_value_count = 0;  // NaN and infinities
};

struct TimelineMark {
  double at = 0;
  std::string what;
};

// `part` names the use of the time: a part of the time ledger (docs/reference/history.md), "away" (no `ratoon
// run` ran) or "absent" (no process of the member ran).
struct TimelineBar {
  double begin = 0;
  double end = 0;
  std::string part;
  std::string what;
};

struct TimelineRow {
  std::string name;
  std::vector<TimelineBar> bars;
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
  api::MemberFailure failure;
  std::vector<std::string> lines;  // the last lines that it printed
};

struct Report {
  std::string name;
  std::string folder;
  std::string standing;  // `completed`, `in progress or killed`, ...
  std::string message;
  std::string finish_reason;  // of finish(), if the program ended the run early
  std::string began;          // RFC 3339, empty if no time is known
  double length = 0;
  std::uint64_t step = 0;
  std::uint64_t attempts = 0;
  std::uint64_t repeated_step_count = 0;
  std::vector<Curve> curves;     // the loss first, where there is one
  std::vector<CurvePoint> rate;  // steps per second, repeated steps included
  std::vector<TimelineMark> losses;
  std::size_t loss_count = 0;             // drawn or not
  std::optional<api::Restarts> restarts;  // losses by cause, of `ratoon run`
  std::vector<TimelineMark> saves;
  std::vector<TimelineRow> rows;
  std::vector<std::pair<std::string, double>> account;  // seconds by part
  std::vector<Recovery> recoveries;                     // in order of time; if there are many, the longest
  std::uint64_t recovery_count = 0;
  std::optional<LastFailure> last_failure;  // of a member of `ratoon run`
  double median_recovery = 0;
  std::vector<StoredCheckpoint> checkpoints;  // newest first; if there are many, the newest
  std::vector<checkpoint::KeptBest> best;     // of save_best(), of each value the best one first
  std::uint64_t checkpoint_count = 0;
  std::uint64_t stored_bytes = 0;  // of all checkpoints
  std::vector<ConsumedSamples> samples;
  std::vector<std::string> missing_data_notes;  // what is missing and why
};

[[nodiscard]] Report make_report(RunFacts facts);

}  // namespace ratoon::cli
