// JobTable: the jobs that a watch tells of. One thread puts them in, another waits for news of them.
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
#include "operator/runtime/reflector.h"

namespace ratoon::cli {

class JobTable final : public runtime::ObjectSink {
 public:
  void begin_list() override;
  void list_object(const nlohmann::json& object) override;
  void end_list(const std::string& resource_version) override;
  void put(const nlohmann::json& object) override;
  void remove(const nlohmann::json& object) override;
  void reach(const std::string& resource_version) override;

  // Returns at once with news since the last call, else after `patience`.
  void wait_for_news(Duration patience);
  [[nodiscard]] bool is_listed() const;
  [[nodiscard]] std::vector<nlohmann::json> jobs() const;  // in the order of their names

 private:
  void tell_news();  // with mutex_ held

  mutable std::mutex mutex_;
  std::condition_variable news_came_;
  std::map<JobKey, nlohmann::json> listing_;  // of the reflector's thread alone
  std::map<JobKey, nlohmann::json> jobs_;     // guarded by mutex_, as is what follows
  bool is_listed_ = false;
  bool has_news_ = false;
};

}  // namespace ratoon::cli
