// Past: what the history of a run holds, of all of its attempts. What was made after the checkpoint from
// which a later attempt went on is not in the weights; it was done all the same, and a report shows it.
#pragma once

#include <cstdint>
#include <map>
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
  std::vector<PastRow> steps;                          // without value
  std::map<std::string, std::vector<PastRow>> values;  // what was reported, by name
  std::vector<PastRow> saves;                          // value: stall_seconds
  std::map<std::string, double> ledger;                // of the newest row; seconds by part
  std::vector<std::string> complaints;                 // sentences about what could not be read
};

struct AttemptFile {
  std::uint64_t attempt = 0;
  std::string text;
};

[[nodiscard]] Past read_past(const std::vector<AttemptFile>& files);

}  // namespace ratoon::cli
