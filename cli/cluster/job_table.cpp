#include "cli/cluster/job_table.h"

#include <utility>

#include "operator/kube/metadata.h"

namespace ratoon::cli {

void JobTable::begin_list() {
  new_list_.clear();
}

void JobTable::list_object(const nlohmann::json& object) {
  new_list_[kube::job_key_in(object)] = object;
}

void JobTable::end_list(const std::string&) {
  const MutexLock lock(mutex_);
  jobs_ = std::exchange(new_list_, {});
  is_listed_ = true;
  mark_changed();
}

void JobTable::put(const nlohmann::json& object) {
  const MutexLock lock(mutex_);
  jobs_[kube::job_key_in(object)] = object;
  mark_changed();
}

void JobTable::remove(const nlohmann::json& object) {
  const MutexLock lock(mutex_);
  jobs_.erase(kube::job_key_in(object));
  mark_changed();
}

void JobTable::reach(const std::string&) {}

void JobTable::mark_changed() {
  has_changed_ = true;
  change_signal_.notify_one();
}

void JobTable::wait_for_change(Duration timeout) {
  MutexLock lock(mutex_);
  change_signal_.wait_for(lock, timeout, [this]() RATOON_REQUIRES(mutex_) { return has_changed_; });
  has_changed_ = false;
}

bool JobTable::is_listed() const {
  const MutexLock lock(mutex_);
  return is_listed_;
}

std::vector<nlohmann::json> JobTable::jobs() const {
  const MutexLock lock(mutex_);
  std::vector<nlohmann::json> all;
  for (const auto& [key, job] : jobs_) all.push_back(job);
  return all;
}

}  // namespace ratoon::cli
