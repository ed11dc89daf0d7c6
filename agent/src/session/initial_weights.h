// What a run without any checkpoint begins with where --load-from names another's.
#pragma once

#include <memory>
#include <string>

#include <ratoon/options.h>

#include "agent/src/checkpoint/disk/patient_calls.h"
#include "agent/src/session/tracked_objects.h"
#include "base/contract/messages.h"

namespace ratoon::session {

// Fills the weights among the tracked objects, and nothing else. Throws a Failure where that is not possible:
// a run that was to begin with weights does not begin without. What they are taken from.
// A folder is read through the calls.
std::string load_initial_weights(const Options& options, const Assignment& assignment,
                                 const TrackedObjects& tracked,
                                 const std::shared_ptr<checkpoint::PatientCalls>& calls);

}  // namespace ratoon::session
