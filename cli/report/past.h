// Past: what the history of a run holds, of all of its attempts. What was made after the checkpoint from
// which a later attempt went on is not in the weights; it was done all the same, and a report shows it.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "agent/src/history/line.h"

namespace ratoon::cli {

struct PastRow {
  double at = 0;  // seconds since 1970
  std::uint64_t attempt = 0;
  std::uint64_t step = 0;
  double value = 0;
  bool is_kept = false;  // it is in the history that the newest attempt goes on from
};

struct Past {
  std::set<std::uint64_t> attempts;                    // all that left a file, reported or not
  std::vector<PastRow> steps;                          // without value
  std::map<std::string, std::vector<PastRow>> values;  // what was reported, by name
  std::vector<PastRow> saves;                          // value: stall_seconds
  std::vector<PastRow> ledgers;                        // one a save at least, reported or not; without value
  std::map<std::string, double> ledger;                // of the newest row; seconds by part
  std::vector<std::string> complaints;                 // sentences about what could not be read
};

// The moments at which a step is known, of a trainer that reports nothing too.
[[nodiscard]] inline const std::vector<PastRow>& known_steps(const Past& past) {
  return past.steps.empty() ? past.ledgers : past.steps;
}

struct AttemptFile {
  std::uint64_t attempt = 0;
  std::string text;
};

[[nodiscard]] Past read_past(const std::vector<AttemptFile>& files);

}  // namespace ratoon::cli
