#include "cli/checkpoint/run_location.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <string_view>
#include <vector>

#include "agent/src/checkpoint/format/file_names.h"
#include "agent/src/checkpoint/tiers/stores/object_store_disk.h"
#include "agent/src/objects/object_key.h"
#include "agent/src/objects/store_uri.h"
#include "cli/checkpoint/run_folder.h"
#include "cli/run/find_run.h"

namespace ratoon::cli {
namespace {

// A command makes fewer retries than a run, so that the user gets the error about an unreachable store within
// seconds.
constexpr std::uint32_t kStoreAttemptsMax = 6;
// A bucket may hold all data of a team, so only the first pages of its list of keys are searched for runs.
constexpr int kPagesMax = 10;

using Entries = std::vector<checkpoint::DiskEntry>;

// Returns whether this folder or prefix contains files of a run. A run that never committed has only packs
// (tensor files); a run whose checkpoints were removed may have only a pin. Files of other programs are
// ignored.
Result<bool> is_run_location(const checkpoint::Disk& disk) {
  const auto is_attempt = [](const auto& entry) {
    return checkpoint::parse_attempt_name(entry.name).has_value();
  };
  const auto is_manifest = [](const auto& entry) {
    return checkpoint::parse_manifest_name(entry.name).has_value();
  };
  for (const char* folder :
       {checkpoint::kManifests, checkpoint::kQuarantine, checkpoint::kAsideFolder, checkpoint::kPins}) {
    const Result<Entries> entries = disk.list(folder);
    if (!entries) return entries.error();
    if (std::ranges::any_of(*entries, is_manifest)) return true;
  }
  const Result<Entries> entries = disk.list(checkpoint::kPacks);
  if (!entries) return entries.error();
  return std::ranges::any_of(*entries, is_attempt);
}

// Returns "runs/digits" for the key "runs/digits/manifests/s0000001200.a0003.json".
std::string run_of_manifest(std::string_view key) {
  const std::size_t name = key.rfind('/');
  if (name == std::string_view::npos || !checkpoint::parse_manifest_name(key.substr(name + 1))) return "";
  const std::string_view folder = key.substr(0, name);
  const std::string ending = std::string("/") + checkpoint::kManifests;
  return folder.ends_with(ending) ? std::string(folder.substr(0, folder.size() - ending.size())) : "";
}

std::vector<std::string> find_runs_below(objects::ObjectStore& store) {
  std::set<std::string> found;
  std::string page;
  for (int pages = 0; pages < kPagesMax; ++pages) {
    const auto listed = store.list("", page);
    if (!listed) break;
    for (const auto& object : listed->objects)
      if (const std::string run = run_of_manifest(object.key); !run.empty())
        found.insert(objects::join_uri(store.uri(), run));
    page = listed->next;
    if (page.empty()) break;
  }
  return {found.begin(), found.end()};
}

}  // namespace

Result<RunLocation> RunLocation::open_in_store(const std::shared_ptr<objects::ObjectStore>& store) {
  const auto disk = std::make_shared<checkpoint::ObjectStoreDisk>(store);
  const auto is_there = is_run_location(*disk);
  if (!is_there) return is_there.error();
  if (!*is_there) return no_run_found_error(store->uri(), find_runs_below(*store));
  return RunLocation(disk);
}

Result<RunLocation> RunLocation::open(const std::string& address) {
  const auto uri = objects::parse_store_uri(address);
  if (!uri) return uri.error();
  if (uri->scheme != objects::StoreScheme::kFile) {
    auto store = objects::open_store(address, {.attempts_max = kStoreAttemptsMax});
    if (!store) return store.error();
    return open_in_store(*store);
  }
  // The class Disk opens files relative to the folder's descriptor and follows no symbolic links, because a
  // run and its copies consist of plain files.
  const auto place = folder_of_run(uri->path);
  if (!place) return place.error();
  if (const std::string saves = save_location_of_run(*place); saves.find("://") != std::string::npos)
    return open(saves);
  const auto folder = checkpoint_folder_of_run(*place);
  auto disk = open_run_folder(folder);
  if (!disk) return disk.error();
  return RunLocation(folder, *std::move(disk));
}

std::optional<WallTime> RunLocation::written_at(const std::string& path) const {
  if (folder_.empty()) return std::nullopt;
  std::error_code code;
  const auto written = std::filesystem::last_write_time(folder_ / path, code);
  if (code) return std::nullopt;
  const auto since = std::chrono::file_clock::to_sys(written).time_since_epoch();
  return WallTime{std::chrono::duration_cast<Duration>(since)};
}

}  // namespace ratoon::cli
