// Records which fields of a status the API server drops because its CustomResourceDefinition is older than
// this operator. The operator does not send the dropped fields for a while, because otherwise every decision
// would find a difference and write the status.
//
// Thread contract: every method may be called from any number of threads at once.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/core/clock.h"
#include "base/core/log.h"
#include "base/core/threads/mutex.h"
#include "operator/kube/pruning.h"

namespace ratoon::runtime {

class PrunedFields {
 public:
  PrunedFields(const Clock& clock, const Logger& logger) : clock_(clock), logger_(logger) {}

  [[nodiscard]] bool has_any() const;
  // Removes the dropped fields from `status`, which replaces `stored`. If `stored` has a field that was
  // dropped before, the CustomResourceDefinition was updated, so no field counts as dropped any longer.
  void remove_pruned_from(nlohmann::json& status, const nlohmann::json& stored);
  // Records the fields that the server did not store, and logs them once.
  void record_pruned(const nlohmann::json& sent, const nlohmann::json& stored);

 private:
  const Clock& clock_;
  const Logger& logger_;
  mutable Mutex mutex_;
  kube::FieldPaths pruned_paths_ RATOON_GUARDED_BY(mutex_);
  Timestamp expires_at_ RATOON_GUARDED_BY(mutex_);
  kube::FieldPaths logged_paths_ RATOON_GUARDED_BY(mutex_);
};

}  // namespace ratoon::runtime
