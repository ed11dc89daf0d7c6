#include "operator/local/folder/status_file.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "base/core/never_destroyed.h"

namespace ratoon::local {
namespace {

using nlohmann::json;

// Returns whether the documents are equal except for the values of `names`, which both must have.
bool equal_but_for(std::initializer_list<std::string_view> names, const json& before, const json& next) {
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

const json& part(const json& document, const char* name) {
  static const NeverDestroyed<json> kNothing;
  const auto found = document.is_object() ? document.find(name) : document.end();
  return found == document.end() ? *kNothing : *found;
}

}  // namespace

bool has_only_grown(const json& before, const json& next) {
  const json& job = part(before, "job");
  const json& next_job = part(next, "job");
  return equal_but_for({"job", "progress"}, before, next) && equal_but_for({"status"}, job, next_job) &&
         equal_but_for({"progress", "lastCheckpoint"}, part(job, "status"), part(next_job, "status"));
}

void StatusFile::begin(json document, Timestamp now) {
  auto outcome = write_(document);
  pending_ = PendingWrite{.document = std::move(document), .began = now, .outcome = std::move(outcome)};
}

std::optional<Result<void>> StatusFile::end_within(Duration at_most) {
  if (pending_->outcome.wait_for(at_most) != std::future_status::ready) return std::nullopt;
  PendingWrite done = std::move(*pending_);
  pending_.reset();
  auto outcome = done.outcome.get();
  if (outcome) {
    written_ = std::move(done.document);
    written_at_ = done.began;
  }
  return outcome;
}

Result<void> StatusFile::hung() const {
  return Error(ErrorKind::kTimeout,
               "writing " + path_ + ": the disk has not answered for " +
                   std::to_string(std::chrono::duration_cast<std::chrono::seconds>(kHungAfter).count()) +
                   " s");
}

void StatusFile::tell_trouble(const Result<void>& outcome) {
  if (outcome) {
    if (std::exchange(is_troubled_, false)) say_("the run's status is stored again");
  } else if (!std::exchange(is_troubled_, true)) {
    say_("the run's status cannot be stored for now, and the run goes on: " + outcome.error().message() +
         "; free space, or repair the disk");
  }
}

Result<void> StatusFile::put(json document, Timestamp now) {
  if (pending_) {
    const auto outcome = end_within(Duration(0));
    if (!outcome && now - pending_->began >= kHungAfter) tell_trouble(hung());
    if (!outcome) return {};
    tell_trouble(*outcome);
  }
  if (document == written_) return {};
  if (now - written_at_ < kPause && has_only_grown(written_, document)) return {};
  const bool is_first = written_.is_null();
  begin(std::move(document), now);
  auto outcome = end_within(is_first ? timeouts_.of_first_and_last : timeouts_.of_decision);
  if (is_first) return outcome ? *std::move(outcome) : hung();
  if (outcome) tell_trouble(*outcome);
  return {};
}

Result<void> StatusFile::put_last(json document) {
  Result<void> last;
  const bool was_pending = pending_.has_value();
  if (was_pending && !end_within(timeouts_.of_first_and_last)) last = hung();
  if (last && document != written_) {
    begin(std::move(document), written_at_);
    last = end_within(timeouts_.of_first_and_last).value_or(hung());
  }
  if (!last) say_("the run's last status is not stored: " + last.error().message());
  return last;
}

}  // namespace ratoon::local
