// JobTable: the jobs that a Kubernetes watch reports. One thread stores jobs, another waits for changes.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/contract/messages.h"
#include "base/core/threads/condition_variable.h"
#include "operator/runtime/api_server/reflector.h"

namespace ratoon::cli {

class JobTable final : public runtime::KubeObjectSink {
 public:
  void begin_list() override;
  void list_object(const nlohmann::json& object) override;
  void end_list(const std::string& resource_version) override;
  void put(const nlohmann::json& object) override;
  void remove(const nlohmann::json& object) override;
  void reach(const std::string& resource_version) override;

  // Waits until a job has changed since the last call, but at most `timeout`.
  void wait_for_change(Duration timeout);
  [[nodiscard]] bool is_listed() const;
  [[nodiscard]] std::vector<nlohmann::json> jobs() const;  // in the order of their names

 private:
  void mark_changed() RATOON_REQUIRES(mutex_);

  mutable Mutex mutex_;
  ConditionVariable change_signal_;
  std::map<JobKey, nlohmann::json> new_list_;  // used by the reflector's thread alone
  std::map<JobKey, nlohmann::json> jobs_ RATOON_GUARDED_BY(mutex_);
  bool is_listed_ RATOON_GUARDED_BY(mutex_) = false;
  bool has_changed_ RATOON_GUARDED_BY(mutex_) = false;
};

}  // namespace ratoon::cli
