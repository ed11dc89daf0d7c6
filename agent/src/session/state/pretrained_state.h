// Loads the state with which a run without a checkpoint begins if --load-from names another run.
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
  // The step of the other run if all state of that run was loaded; if not, 0. This run does not take over the
  // history or the end of the other run.
  Step step{0};
  std::optional<checkpoint::RunRecord> run{};
};

// Fills the parts of the tracked objects that --load-parts selects, and no other parts. Throws a Failure if a
// part cannot be filled, because a run with --load-from must not begin without the state that the user named.
// A read from a folder has the timeout of `calls`.
PretrainedState load_initial_state(const Options& options, const Assignment& assignment,
                                   const TrackedObjects& tracked,
                                   const std::shared_ptr<checkpoint::CallsWithTimeout>& calls);

}  // namespace ratoon::session
