// What the definition of TrainingJobs on the server, older than this operator, leaves out of their status.
// Such fields are not sent again for a while: they would be news at every look, for ever.
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
  // `stored` is the one that is to be replaced: where it has such a field, the definition is up to date by
  // now.
  void leave_out_of(nlohmann::json& status, const nlohmann::json& stored);
  // Notes what of it was not stored, and tells people once.
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
