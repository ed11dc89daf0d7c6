// A file that closing gives its name: whole, durable and in one moment, in place of the one that bears it.
// Written from its beginning to its end. Where it is not closed, or not well, nothing of it is left.
#pragma once

#include <filesystem>
#include <memory>

#include "agent/src/checkpoint/disk/disk.h"
#include "agent/src/checkpoint/disk/patient_calls.h"

namespace ratoon::checkpoint {

// With a deadline for each call: see patient_disk.h.
[[nodiscard]] Result<std::unique_ptr<WriteFile>> replace_patiently(const std::filesystem::path& path,
                                                                   std::shared_ptr<PatientCalls> calls);

}  // namespace ratoon::checkpoint
