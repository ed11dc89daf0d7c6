#include "operator/runtime/jobs/event_filter.h"

#include <algorithm>

namespace ratoon::runtime {
namespace {

constexpr Duration kBetweenSweeps = std::chrono::minutes(1);

}  // namespace

void EventFilter::refill(Job& job, Timestamp now) {
  job.writes = std::min(kBurst, job.writes + seconds(now - job.counted) / seconds(kPause));
  job.counted = now;
}

void EventFilter::forget_old(Group& group, Timestamp now) {
  const auto is_old = [&](const Series& series) { return now - series.last > kRemembered; };
  std::erase_if(group.texts, [&](const auto& item) { return is_old(item.second); });
  if (group.rest && is_old(*group.rest)) group.rest.reset();
}

// Returns the message's series: the series of its text, or the shared series of unreported messages.
EventFilter::Series& EventFilter::series_of(Group& group, const std::string& text, bool may_write) {
  if (const auto known = group.texts.find(text); known != group.texts.end()) return known->second;
  const bool has_untold = group.rest && group.rest->has_untold;
  if (may_write && !has_untold && group.texts.size() < kTextsMax) return group.texts[text];
  if (!group.rest) group.rest.emplace();
  return *group.rest;
}

void EventFilter::sweep(Timestamp now) {
  if (swept_ && now - *swept_ < kBetweenSweeps) return;
  swept_ = now;
  for (auto& [uid, job] : jobs_) {
    refill(job, now);
    for (auto& [reason, group] : job.groups) forget_old(group, now);
    std::erase_if(job.groups,
                  [](const auto& item) { return item.second.texts.empty() && !item.second.rest; });
  }
  std::erase_if(jobs_,
                [](const auto& item) { return item.second.groups.empty() && item.second.writes >= kBurst; });
}

std::optional<EventWrite> EventFilter::take(const std::string& job_uid, const kube::EventText& text,
                                            const std::string& name, Timestamp now) {
  sweep(now);
  const auto [found, is_new_job] = jobs_.try_emplace(job_uid);
  Job& job = found->second;
  if (is_new_job) job.counted = now;
  refill(job, now);
  job.last = now;
  Group& group = job.groups[{text.is_warning, text.reason}];
  forget_old(group, now);
  const bool is_paid = job.writes >= 1;
  const bool may_write = is_paid || !group.written || now - *group.written >= kPause;
  Series& series = series_of(group, text.message, may_write);
  ++series.count;
  series.last = now;
  series.has_untold = !may_write;
  std::optional<EventWrite> order;
  if (may_write) {
    const bool is_rest = group.rest && &series == &*group.rest;
    order = EventWrite{.name = series.name.empty() ? name : series.name,
                       .is_new = series.name.empty(),
                       .note = (is_rest && series.count > 1 ? "(the newest of several) " : "") + text.message,
                       .count = series.count};
    series.name = order->name;
    group.written = now;
    if (is_paid) job.writes -= 1;
  }
  if (is_new_job && jobs_.size() > kJobsMax) {
    const auto is_quieter = [&](const auto& a, const auto& b) { return a.second.last < b.second.last; };
    jobs_.erase(std::min_element(jobs_.begin(), jobs_.end(), is_quieter));
  }
  return order;
}

}  // namespace ratoon::runtime
