// TensorboardEvents: the reported values of a run as records of TensorBoard's event files.
//
// A record is the length of an event, a checksum of the length, the event, and a checksum of the event.
// Events are messages of TensorFlow's event.proto; TensorBoard reads them without TensorFlow.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "cli/report/facts/attempt_history.h"

namespace ratoon::cli {

class TensorboardEvents {
 public:
  // Returns the records of the rows that were added since the last call; the first call also returns the
  // record that begins a file. Leaves out the values of steps that a later attempt made again. If an earlier
  // call returned values of such steps, a record tells TensorBoard to forget them.
  [[nodiscard]] std::string take(const AttemptHistory& history);

 private:
  // The numbers of taken rows, by the name of the value and the attempt. They count per attempt, because a
  // process of an older attempt may still write.
  std::map<std::pair<std::string, std::uint64_t>, std::size_t> taken_row_counts_;
  bool has_begun_ = false;
  std::uint64_t newest_attempt_ = 0;  // of the newest row that was taken
};

// Returns the record of an event file whose content is `event`.
[[nodiscard]] std::string tensorboard_record(const std::string& event);

}  // namespace ratoon::cli
