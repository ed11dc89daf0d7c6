// What a run without any checkpoint begins with where --load-from names another's.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <ratoon/options.h>
#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/patient_calls.h"
#include "agent/src/checkpoint/run_record.h"
#include "agent/src/session/tracked_objects.h"
#include "base/contract/messages.h"

namespace ratoon::session {

// --load-parts.
[[nodiscard]] Result<LoadParts> read_load_parts(const Options& options);

struct InitialState {
  LoadParts parts = LoadParts::kWeights;
  std::string from;
  // How far that run was, which counts where all of it was taken. Its history and its end stay its own.
  Step step{0};
  std::optional<checkpoint::RunRecord> run{};
};

// Fills those parts of the tracked objects, and nothing else. Throws a Failure where that is not possible: a
// run that was to begin with them does not begin without. A folder is read through the calls.
InitialState load_initial_state(const Options& options, const Assignment& assignment,
                                const TrackedObjects& tracked,
                                const std::shared_ptr<checkpoint::PatientCalls>& calls);

}  // namespace ratoon::session
