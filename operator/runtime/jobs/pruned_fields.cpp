#include "operator/runtime/jobs/pruned_fields.h"

#include <algorithm>
#include <chrono>
#include <string>

#include <nlohmann/json.hpp>

#include "base/core/utf8.h"

namespace ratoon::runtime {
namespace {

// A user may update the CustomResourceDefinition at any time. After this time, the operator sends the dropped
// fields again in one status of one job, to test whether the server now stores them.
constexpr Duration kPrunedFieldsExpiry = std::chrono::minutes(10);
constexpr std::size_t kLoggedBytesMax = 500;

std::string join_paths(const kube::FieldPaths& paths) {
  std::string list;
  for (const auto& path : paths) list += (list.empty() ? "status." : ", status.") + path;
  return cut_text(list, kLoggedBytesMax);
}

}  // namespace

bool PrunedFields::has_any() const {
  const MutexLock lock(mutex_);
  return !pruned_paths_.empty();
}

void PrunedFields::remove_pruned_from(nlohmann::json& status, const nlohmann::json& stored) {
  const MutexLock lock(mutex_);
  if (pruned_paths_.empty()) return;
  nlohmann::json known = stored;
  kube::prune(known, pruned_paths_);
  if (clock_.now() >= expires_at_ || known != stored) pruned_paths_.clear();
  kube::prune(status, pruned_paths_);
}

void PrunedFields::record_pruned(const nlohmann::json& sent, const nlohmann::json& stored) {
  const kube::FieldPaths pruned = kube::find_pruned_fields(sent, stored);
  if (pruned.empty()) return;
  const MutexLock lock(mutex_);
  if (pruned_paths_.empty()) expires_at_ = clock_.now() + kPrunedFieldsExpiry;
  pruned_paths_.insert(pruned.begin(), pruned.end());
  if (std::ranges::includes(logged_paths_, pruned)) return;
  logged_paths_.insert(pruned.begin(), pruned.end());
  logger_.warning(
      "the server's definition of TrainingJobs is older than this operator and drops fields of their status: "
      "apply the crds folder of this release",
      {{"fields", join_paths(pruned)}});
}

}  // namespace ratoon::runtime
