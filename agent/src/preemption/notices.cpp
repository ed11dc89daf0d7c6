#include "agent/src/preemption/notices.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <utility>

#include <ratoon/amount.h>

namespace ratoon::preemption {
namespace {

constexpr std::int64_t kGraceSecondsMax = 86'400;
constexpr std::int64_t kYear2100 = 4'102'444'800;  // seconds since 1970
constexpr Duration kTimeLimitMax = std::chrono::hours(24 * 365);
constexpr std::size_t kQuotedBytesMax = 60;

Result<std::int64_t> parse_whole_number(std::string_view text, std::int64_t max, const std::string& what) {
  std::int64_t number = -1;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code == std::errc() && end == text.data() + text.size() && number >= 0 && number <= max) return number;
  return Error(ErrorKind::kInvalid, what + " up to " + std::to_string(max) + ", found '" +
                                        std::string(text.substr(0, kQuotedBytesMax)) + "'");
}

// Returns the time at which the launch of this process began. If a wrong clock puts this time into the
// future, returns `now`, so that the deadline is at most one time limit away.
Result<Timestamp> read_time_limit_since(std::string_view text, Timestamp now, WallTime wall_now) {
  double since = -1;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), since);
  if (code == std::errc() && end == text.data() + text.size() && since >= 0 &&
      since <= static_cast<double>(kYear2100)) {
    return now - std::max(Duration(0), wall_now.since_epoch - from_seconds(since));
  }
  return Error(ErrorKind::kInvalid,
               "RATOON_TIME_LIMIT_SINCE must be a number of seconds since 1970, found '" +
                   std::string(text.substr(0, kQuotedBytesMax)) + "'");
}

Result<Notice> read_time_limit(std::string_view text, Timestamp began) {
  const auto limit = parse_amount(text);
  if (limit && limit->unit == CountedIn::kTime) {
    // The conversion cannot overflow, because parse_amount() refuses times that are too long for a Duration.
    const Duration allowed(static_cast<Duration::rep>(limit->period.count));
    if (allowed <= kTimeLimitMax)
      return Notice{
          .deadline = began + allowed, .is_sudden = false, .why = "the time limit of " + text_of(*limit)};
  }
  return Error(ErrorKind::kInvalid,
               "--time-limit must be a time of at most a year, such as 4h, 90m or 1h30m; found '" +
                   std::string(text.substr(0, kQuotedBytesMax)) + "'");
}

}  // namespace

bool Notices::set_notice(std::string_view source, Notice notice) {
  const Notice* before = first();
  const Timestamp was = before != nullptr ? before->deadline : Timestamp{Duration::max()};
  notices_.insert_or_assign(std::string(source), std::move(notice));
  return first()->deadline < was;
}

bool Notices::withdraw(std::string_view source) {
  const auto found = notices_.find(source);
  if (found == notices_.end()) return false;
  notices_.erase(found);
  return true;
}

const Notice* Notices::find(std::string_view source) const {
  const auto found = notices_.find(source);
  return found == notices_.end() ? nullptr : &found->second;
}

const Notice* Notices::first() const {
  const Notice* first = nullptr;
  for (const auto& [source, notice] : notices_)
    if (first == nullptr || notice.deadline < first->deadline) first = &notice;
  return first;
}

std::optional<Duration> Notices::left(Timestamp now) const {
  const Notice* notice = first();
  if (notice == nullptr) return std::nullopt;
  return notice->deadline - now;
}

Result<Notices> read_known_deadlines(const KnownDeadlines& ends) {
  Notices notices;
  if (ends.slurm_job_end_time) {
    const auto end = parse_whole_number(*ends.slurm_job_end_time, kYear2100,
                                        "SLURM_JOB_END_TIME must be a whole number of seconds since 1970");
    if (!end) return end.error();
    const Duration left = Duration(std::chrono::seconds(*end)) - ends.wall_now.since_epoch;
    notices.set_notice("slurm", {.deadline = ends.now + left,
                                 .is_sudden = false,
                                 .why = "the end of the Slurm job",
                                 .ends_run = ends.ends_run});
  }
  if (ends.time_limit) {
    Result<Timestamp> began = ends.began;
    if (ends.time_limit_since) began = read_time_limit_since(*ends.time_limit_since, ends.now, ends.wall_now);
    if (!began) return began.error();
    auto notice = read_time_limit(*ends.time_limit, *began);
    if (!notice) return notice.error();
    notice->ends_run = ends.ends_run;
    notices.set_notice("time limit", std::move(*notice));
  }
  return notices;
}

Result<Duration> parse_grace_seconds(std::string_view text) {
  const auto grace =
      parse_whole_number(text, kGraceSecondsMax, "a grace period must be a whole number of seconds");
  if (!grace) return grace.error();
  return Duration(std::chrono::seconds(*grace));
}

}  // namespace ratoon::preemption
