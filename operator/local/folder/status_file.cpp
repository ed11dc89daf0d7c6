#include "operator/local/folder/status_file.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "base/core/never_destroyed.h"

namespace ratoon::local {
namespace {

using nlohmann::json;

// Returns whether the documents have the same fields, and the same values in all fields except `names`.
bool equal_except(std::initializer_list<std::string_view> names, const json& before, const json& next) {
  if (!before.is_object() || !next.is_object()) return before == next;
  const auto is_left_out = [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  const auto items = next.items();
  return before.size() == next.size() && std::all_of(items.begin(), items.end(), [&](const auto& item) {
           const auto found = before.find(item.key());
           return found != before.end() && (is_left_out(item.key()) || *found == item.value());
         });
}

const json& field_or_null(const json& document, const char* name) {
  static const NeverDestroyed<json> kNothing;
  const auto found = document.is_object() ? document.find(name) : document.end();
  return found == document.end() ? *kNothing : *found;
}

}  // namespace

bool differs_only_in_progress(const json& before, const json& next) {
  const json& job = field_or_null(before, "job");
  const json& next_job = field_or_null(next, "job");
  return equal_except({"job", "progress"}, before, next) && equal_except({"status"}, job, next_job) &&
         equal_except({"progress", "lastCheckpoint"}, field_or_null(job, "status"),
                      field_or_null(next_job, "status"));
}

void StatusFile::begin_write(json document, Timestamp now) {
  auto outcome = write_(document);
  pending_ = PendingWrite{.document = std::move(document), .began = now, .outcome = std::move(outcome)};
}

std::optional<Result<void>> StatusFile::wait_for_write(Duration at_most) {
  if (pending_->outcome.wait_for(at_most) != std::future_status::ready) return std::nullopt;
  PendingWrite done = std::move(*pending_);
  pending_.reset();
  auto outcome = done.outcome.get();
  if (outcome) {
    last_written_ = std::move(done.document);
    last_written_at_ = done.began;
  }
  return outcome;
}

Result<void> StatusFile::hung_write_error() const {
  return Error(
      ErrorKind::kTimeout,
      "writing " + path_ + ": the disk has not answered for " +
          std::to_string(std::chrono::duration_cast<std::chrono::seconds>(kHungWriteTimeout).count()) + " s");
}

void StatusFile::report_outcome(const Result<void>& outcome) {
  if (outcome) {
    if (std::exchange(is_failing_, false)) report_("the run's status is stored again");
  } else if (!std::exchange(is_failing_, true)) {
    report_("the run's status cannot be stored for now, and the run goes on: " + outcome.error().message() +
            "; free space, or repair the disk");
  }
}

Result<void> StatusFile::put(json document, Timestamp now) {
  if (pending_) {
    const auto outcome = wait_for_write(Duration(0));
    if (!outcome && now - pending_->began >= kHungWriteTimeout) report_outcome(hung_write_error());
    if (!outcome) return {};
    report_outcome(*outcome);
  }
  if (document == last_written_) return {};
  if (now - last_written_at_ < kWriteIntervalMin && differs_only_in_progress(last_written_, document))
    return {};
  const bool is_first = last_written_.is_null();
  begin_write(std::move(document), now);
  auto outcome = wait_for_write(is_first ? timeouts_.first_and_last_write : timeouts_.decision_write);
  if (is_first) return outcome ? *std::move(outcome) : hung_write_error();
  if (outcome) report_outcome(*outcome);
  return {};
}

Result<void> StatusFile::put_last(json document) {
  Result<void> last;
  const bool was_pending = pending_.has_value();
  if (was_pending && !wait_for_write(timeouts_.first_and_last_write)) last = hung_write_error();
  if (last && document != last_written_) {
    begin_write(std::move(document), last_written_at_);
    last = wait_for_write(timeouts_.first_and_last_write).value_or(hung_write_error());
  }
  if (!last) report_("the run's last status is not stored: " + last.error().message());
  return last;
}

}  // namespace ratoon::local
