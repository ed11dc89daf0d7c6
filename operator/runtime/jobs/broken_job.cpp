#include "operator/runtime/jobs/broken_job.h"

#include <algorithm>

#include "base/core/utf8.h"
#include "operator/api/training_job.h"
#include "operator/kube/lenient_json.h"

namespace ratoon::runtime {
namespace {

using nlohmann::json;

// The CustomResourceDefinition of TrainingJob sets these limits.
constexpr std::size_t kConditionsMax = 16;
constexpr std::size_t kMessageBytesMax = 1024;

}  // namespace

std::optional<json> with_invalid_condition(const json& conditions, const std::string& complaint,
                                           std::uint64_t generation, WallTime now) {
  if (!conditions.is_null() && !conditions.is_array()) return std::nullopt;
  json all = conditions.is_null() ? json::array() : conditions;
  const auto known = std::ranges::find_if(
      all, [](const json& c) { return kube::string_field(c, "type") == api::condition::kInvalidSpec; });
  json wanted = {
      {"type", api::condition::kInvalidSpec},      {"status", "True"},
      {"reason", api::condition::kUnreadable},     {"message", cut_text(complaint, kMessageBytesMax)},
      {"lastTransitionTime", format_rfc3339(now)}, {"observedGeneration", generation}};
  if (known == all.end()) {
    if (all.size() >= kConditionsMax) return std::nullopt;
    all.push_back(std::move(wanted));
    return all;
  }
  const std::string since = kube::string_field(*known, "lastTransitionTime");
  if (kube::string_field(*known, "status") == "True" && !since.empty()) wanted["lastTransitionTime"] = since;
  if (*known == wanted) return std::nullopt;
  *known = std::move(wanted);
  return all;
}

}  // namespace ratoon::runtime
