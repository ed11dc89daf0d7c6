#include "cli/cluster/job_table.h"

#include <utility>

#include "operator/kube/metadata.h"

namespace ratoon::cli {

void JobTable::begin_list() {
  listing_.clear();
}

void JobTable::list_object(const nlohmann::json& object) {
  listing_[kube::job_key_in(object)] = object;
}

void JobTable::end_list(const std::string&) {
  const std::lock_guard lock(mutex_);
  jobs_ = std::exchange(listing_, {});
  is_listed_ = true;
  mark_changed();
}

void JobTable::put(const nlohmann::json& object) {
  const std::lock_guard lock(mutex_);
  jobs_[kube::job_key_in(object)] = object;
  mark_changed();
}

void JobTable::remove(const nlohmann::json& object) {
  const std::lock_guard lock(mutex_);
  jobs_.erase(kube::job_key_in(object));
  mark_changed();
}

void JobTable::reach(const std::string&) {}

void JobTable::mark_changed() {
  has_changed_ = true;
  change_signal_.notify_one();
}

void JobTable::wait_for_change(Duration timeout) {
  std::unique_lock lock(mutex_);
  change_signal_.wait_for(lock, timeout, [this] { return has_changed_; });
  has_changed_ = false;
}

bool JobTable::is_listed() const {
  const std::lock_guard lock(mutex_);
  return is_listed_;
}

std::vector<nlohmann::json> JobTable::jobs() const {
  const std::lock_guard lock(mutex_);
  std::vector<nlohmann::json> all;
  for (const auto& [key, job] : jobs_) all.push_back(job);
  return all;
}

}  // namespace ratoon::cli
