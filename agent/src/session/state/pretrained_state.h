// The state with which a run without any checkpoint begins if --load-from names that of another run.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <ratoon/options.h>
#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/calls_with_timeout.h"
#include "agent/src/checkpoint/format/run_record.h"
#include "agent/src/session/state/tracked_objects.h"
#include "base/contract/messages.h"

namespace ratoon::session {

// Reads --load-parts.
[[nodiscard]] Result<LoadParts> read_load_parts(const Options& options);

struct PretrainedState {
  LoadParts parts = LoadParts::kWeights;
  std::string from;
  // How far the other run was, used if all of it was loaded. Its history and its end are not taken over.
  Step step{0};
  std::optional<checkpoint::RunRecord> run{};
};

// Fills those parts of the tracked objects, and nothing else. Throws a Failure if that is not possible: a run
// that was to begin with them does not begin without them. A folder is read with the timeout of `calls`.
PretrainedState load_initial_state(const Options& options, const Assignment& assignment,
                                   const TrackedObjects& tracked,
                                   const std::shared_ptr<checkpoint::CallsWithTimeout>& calls);

}  // namespace ratoon::session
