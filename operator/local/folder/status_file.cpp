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

Result<void> StatusFile::put(json document, Timestamp now) {
  if (document == written_) return {};
  if (now - written_at_ < kPause && has_only_grown(written_, document)) return {};
  const bool has_written = !written_.is_null();
  const auto written = write(std::move(document));
  if (!written && !has_written) return written;
  if (!written) {
    if (!std::exchange(is_troubled_, true))
      say_("the run's status cannot be stored for now, and the run goes on: " + written.error().message() +
           "; free space, or repair the disk");
    return {};
  }
  if (std::exchange(is_troubled_, false)) say_("the run's status is stored again");
  written_at_ = now;
  return {};
}

Result<void> StatusFile::put_last(json document) {
  return document == written_ ? Result<void>() : write(std::move(document));
}

Result<void> StatusFile::write(json document) {
  if (auto written = write_(document); !written) return written;
  written_ = std::move(document);
  return {};
}

}  // namespace ratoon::local
