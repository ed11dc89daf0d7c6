// Converts a TrainingJob's status to JSON and back.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/contract/fields.h"
#include "operator/api/training_job.h"

namespace ratoon::api {

constexpr std::size_t kRolesMax = 8;
constexpr std::uint32_t kMembersMax = 4096;  // of a role

[[nodiscard]] TrainingJobStatus read_status(Fields f);

}  // namespace ratoon::api
