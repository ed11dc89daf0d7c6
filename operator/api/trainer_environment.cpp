#include "operator/api/trainer_environment.h"

#include <algorithm>

#include "base/contract/names.h"
#include "base/core/split_join.h"

namespace ratoon::api {
namespace {

bool is_fresh_start_pending(const TrainingJob& job) {
  return job.status.first_own_attempt.has_value() && !job.status.last_checkpoint;
}

}  // namespace

std::map<std::string, std::string> trainer_environment(const TrainingJob& job) {
  namespace env = names::env;
  const CheckpointPolicy& policy = job.spec.checkpoint_policy;
  std::map<std::string, std::string> variables = {
      {env::kRunName, policy.run_name.empty() ? job.meta.name : policy.run_name}};
  if (!policy.home.empty()) variables[env::kSaveFolder] = policy.home;
  if (policy.interval_steps > 0) variables[env::kSaveEverySteps] = std::to_string(policy.interval_steps);
  if (!policy.keep_last.empty()) variables[env::kKeepLast] = policy.keep_last;
  if (!job.spec.max_duration.empty()) variables[env::kMaxDuration] = job.spec.max_duration;
  if (!policy.stores.empty()) variables[env::kStores] = join(policy.stores, ",");
  if (!policy.s3_endpoint.empty()) variables[env::kS3Endpoint] = policy.s3_endpoint;
  if (!policy.s3_region.empty()) variables[env::kS3Region] = policy.s3_region;
  if (!policy.load_from.empty()) variables[env::kLoadFrom] = policy.load_from;
  if (!policy.load_parts.empty()) variables[env::kLoadParts] = policy.load_parts;
  if (is_fresh_start_pending(job)) variables[env::kOverwrite] = "true";
  if (policy.staging_memory_mib > 0) {
    const std::uint64_t share = policy.staging_memory_mib / job.spec.processes_per_node;
    variables[env::kStagingMemoryMib] = std::to_string(std::max<std::uint64_t>(share, 1));
  }
  if (policy.grace_seconds > 0) variables[env::kGraceSeconds] = std::to_string(policy.grace_seconds);
  const DataPolicy& data = job.spec.data_policy;
  if (data.seed) variables[env::kSeed] = std::to_string(*data.seed);
  if (data.global_batch_size) variables[env::kGlobalBatch] = std::to_string(*data.global_batch_size);
  return variables;
}

}  // namespace ratoon::api
