// Converts the account in a job's status to JSON and back: how its time was used, its recoveries, and the
// steps that were repeated. The events of a local run use the same format.
#pragma once

#include <nlohmann/json.hpp>

#include "base/contract/fields.h"
#include "operator/api/training_job.h"

namespace ratoon::api {

[[nodiscard]] Disruption read_disruption(Fields f);
[[nodiscard]] nlohmann::json encode_disruption(const Disruption& disruption);

[[nodiscard]] OpenRecovery read_open_recovery(Fields f);
[[nodiscard]] nlohmann::json encode_open_recovery(const OpenRecovery& open);

[[nodiscard]] JobLedger read_ledger(Fields f);
[[nodiscard]] nlohmann::json encode_ledger(const JobLedger& ledger);

}  // namespace ratoon::api
