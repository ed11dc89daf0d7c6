// Records which fields of a status the API server drops because its CustomResourceDefinition is older than
// this operator. The operator does not send the dropped fields again for a while: otherwise every decision
// would find a change to write.
//
// Thread contract: every method may be called from any number of threads at once.
#pragma once

#include <mutex>

#include <nlohmann/json_fwd.hpp>

#include "base/core/clock.h"
#include "base/core/log.h"
#include "operator/kube/pruning.h"

namespace ratoon::runtime {

class PrunedFields {
 public:
  PrunedFields(const Clock& clock, const Logger& logger) : clock_(clock), logger_(logger) {}

  [[nodiscard]] bool has_any() const;
  // Removes the dropped fields from `status`, which replaces `stored`. If `stored` has a dropped field, the
  // CustomResourceDefinition was updated.
  void leave_out_of(nlohmann::json& status, const nlohmann::json& stored);
  // Records the fields that the server did not store, and logs them once.
  void learn(const nlohmann::json& sent, const nlohmann::json& stored);

 private:
  const Clock& clock_;
  const Logger& logger_;
  mutable std::mutex mutex_;
  kube::FieldPaths left_out_;  // guarded by mutex_
  Timestamp until_;            // guarded by mutex_
  kube::FieldPaths told_;      // guarded by mutex_
};

}  // namespace ratoon::runtime
