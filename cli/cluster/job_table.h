// JobTable: the jobs that a Kubernetes watch reports. One thread stores jobs, another waits for changes.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/contract/messages.h"
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
  void mark_changed();  // call with mutex_ held

  mutable std::mutex mutex_;
  std::condition_variable change_signal_;
  std::map<JobKey, nlohmann::json> listing_;  // used by the reflector's thread alone
  std::map<JobKey, nlohmann::json> jobs_;     // guarded by mutex_, as are the members below
  bool is_listed_ = false;
  bool has_changed_ = false;
};

}  // namespace ratoon::cli
