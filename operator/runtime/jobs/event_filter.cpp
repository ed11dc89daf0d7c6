#include "operator/runtime/jobs/event_filter.h"

#include <algorithm>

namespace ratoon::runtime {
namespace {

constexpr Duration kSweepInterval = std::chrono::minutes(1);

}  // namespace

void EventFilter::refill_write_budget(Job& job, Timestamp now) {
  job.writes = std::min(kWriteBurst, job.writes + seconds(now - job.refilled_at) / seconds(kWriteInterval));
  job.refilled_at = now;
}

void EventFilter::forget_old(Group& group, Timestamp now) {
  const auto is_old = [&](const Series& series) { return now - series.last > kForgetAfter; };
  std::erase_if(group.series_by_text, [&](const auto& item) { return is_old(item.second); });
  if (group.shared_series && is_old(*group.shared_series)) group.shared_series.reset();
}

// Returns the series that counts the message: the series of its text or, beyond the limit, the series that
// all further messages of the reason share.
EventFilter::Series& EventFilter::event_series_of(Group& group, const std::string& text, bool may_write) {
  if (const auto known = group.series_by_text.find(text); known != group.series_by_text.end())
    return known->second;
  const bool has_unreported = group.shared_series && group.shared_series->has_unreported;
  if (may_write && !has_unreported && group.series_by_text.size() < kMessagesPerReasonMax)
    return group.series_by_text[text];
  if (!group.shared_series) group.shared_series = Series{};
  return *group.shared_series;
}

void EventFilter::forget_old_jobs(Timestamp now) {
  if (last_sweep_at_ && now - *last_sweep_at_ < kSweepInterval) return;
  last_sweep_at_ = now;
  for (auto& [uid, job] : jobs_) {
    refill_write_budget(job, now);
    for (auto& [reason, group] : job.groups) forget_old(group, now);
    std::erase_if(job.groups, [](const auto& item) {
      return item.second.series_by_text.empty() && !item.second.shared_series;
    });
  }
  std::erase_if(jobs_, [](const auto& item) {
    return item.second.groups.empty() && item.second.writes >= kWriteBurst;
  });
}

std::optional<EventWrite> EventFilter::event_to_write(const std::string& job_uid, const kube::EventText& text,
                                                      const std::string& name, Timestamp now) {
  forget_old_jobs(now);
  const auto [found, is_new_job] = jobs_.try_emplace(job_uid);
  Job& job = found->second;
  if (is_new_job) job.refilled_at = now;
  refill_write_budget(job, now);
  job.last = now;
  Group& group = job.groups[{text.is_warning, text.reason}];
  forget_old(group, now);
  const bool is_paid = job.writes >= 1;
  const bool may_write = is_paid || !group.last_written_at || now - *group.last_written_at >= kWriteInterval;
  Series& series = event_series_of(group, text.message, may_write);
  ++series.count;
  series.last = now;
  series.has_unreported = !may_write;
  std::optional<EventWrite> order;
  if (may_write) {
    const bool is_rest = group.shared_series && &series == &*group.shared_series;
    order = EventWrite{.name = series.name.empty() ? name : series.name,
                       .is_new = series.name.empty(),
                       .note = (is_rest && series.count > 1 ? "(the newest of several) " : "") + text.message,
                       .count = series.count};
    series.name = order->name;
    group.last_written_at = now;
    if (is_paid) job.writes -= 1;
  }
  if (is_new_job && jobs_.size() > kJobsMax) {
    const auto is_quieter = [&](const auto& a, const auto& b) { return a.second.last < b.second.last; };
    jobs_.erase(std::min_element(jobs_.begin(), jobs_.end(), is_quieter));
  }
  return order;
}

}  // namespace ratoon::runtime
