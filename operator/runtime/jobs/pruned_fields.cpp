#include "operator/runtime/jobs/pruned_fields.h"

#include <algorithm>
#include <chrono>
#include <string>

#include <nlohmann/json.hpp>

#include "base/core/utf8.h"

namespace ratoon::runtime {
namespace {

// A user may update the CustomResourceDefinition at any time. After this time, the operator sends the dropped
// fields in one write of one job, to test whether the server stores them now.
constexpr Duration kBelievedFor = std::chrono::minutes(10);
constexpr std::size_t kToldBytesMax = 500;

std::string list_of(const kube::FieldPaths& paths) {
  std::string list;
  for (const auto& path : paths) list += (list.empty() ? "status." : ", status.") + path;
  return cut_text(list, kToldBytesMax);
}

}  // namespace

bool PrunedFields::has_any() const {
  const std::lock_guard lock(mutex_);
  return !left_out_.empty();
}

void PrunedFields::leave_out_of(nlohmann::json& status, const nlohmann::json& stored) {
  const std::lock_guard lock(mutex_);
  if (left_out_.empty()) return;
  nlohmann::json known = stored;
  kube::prune(known, left_out_);
  if (clock_.now() >= until_ || known != stored) left_out_.clear();
  kube::prune(status, left_out_);
}

void PrunedFields::learn(const nlohmann::json& sent, const nlohmann::json& stored) {
  const kube::FieldPaths pruned = kube::find_pruned(sent, stored);
  if (pruned.empty()) return;
  const std::lock_guard lock(mutex_);
  if (left_out_.empty()) until_ = clock_.now() + kBelievedFor;
  left_out_.insert(pruned.begin(), pruned.end());
  if (std::ranges::includes(told_, pruned)) return;
  told_.insert(pruned.begin(), pruned.end());
  logger_.warning(
      "the server's definition of TrainingJobs is older than this operator and drops fields of their status: "
      "apply the crds folder of this release",
      {{"fields", list_of(pruned)}});
}

}  // namespace ratoon::runtime
