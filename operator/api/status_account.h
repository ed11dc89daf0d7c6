// Converts the account in a job's status (how its time was used, its recoveries, its repeated steps) to and
// from JSON. The events of a local run contain the account in the same JSON format.
#pragma once

#include <nlohmann/json.hpp>

#include "base/contract/fields.h"
#include "operator/api/training_job.h"

namespace ratoon::api {

[[nodiscard]] Disruption read_disruption(Fields f);
[[nodiscard]] nlohmann::json encode_disruption(const Disruption& disruption);

[[nodiscard]] OpenRecovery read_open_recovery(Fields f);
[[nodiscard]] nlohmann::json encode_open_recovery(const OpenRecovery& open);

[[nodiscard]] JobTimeLedger read_time_ledger(Fields f);
[[nodiscard]] nlohmann::json encode_time_ledger(const JobTimeLedger& ledger);

}  // namespace ratoon::api
