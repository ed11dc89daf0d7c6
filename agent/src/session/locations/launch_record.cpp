#include "agent/src/session/locations/launch_record.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "agent/src/checkpoint/disk/durable.h"
#include "agent/src/checkpoint/format/file_names.h"
#include "base/core/xxh3.h"

namespace ratoon::session {
namespace {

using checkpoint::Disk;
using checkpoint::DiskEntry;
using checkpoint::kLaunches;

std::string digest_of(const LaunchName& launch) {
  return to_hex(xxh3_128(std::as_bytes(std::span(launch.name))));
}

std::string file_name(const LaunchName& launch) {
  return digest_of(launch) + "." + std::to_string(launch.restarts.value_or(0));
}

std::string path_of(const std::string& name) {
  return std::string(kLaunches) + "/" + name;
}

// Returns the number of restarts in a file name that file_name() made for `launch`; nullopt for other file
// names.
std::optional<std::uint64_t> parse_restarts(std::string_view name, const LaunchName& launch) {
  const std::string beginning = digest_of(launch) + ".";
  if (!name.starts_with(beginning)) return std::nullopt;
  name.remove_prefix(beginning.size());
  std::uint64_t restarts = 0;
  const auto [end, code] = std::from_chars(name.data(), name.data() + name.size(), restarts);
  return code == std::errc() && end == name.data() + name.size() ? std::optional(restarts) : std::nullopt;
}

bool is_restart_of(const LaunchName& launch, const DiskEntry& entry) {
  const auto then = parse_restarts(entry.name, launch);
  return then && (!launch.restarts || *launch.restarts > *then);
}

}  // namespace

Result<bool> was_accepted_before(const Disk& home, const std::vector<LaunchName>& launches) {
  const auto there = checkpoint::list_if_there(home, kLaunches);
  if (!there) return there.error();
  return std::ranges::any_of(launches, [&](const LaunchName& launch) {
    return std::ranges::any_of(*there, [&](const DiskEntry& entry) { return is_restart_of(launch, entry); });
  });
}

Result<void> record_accepted_launches(Disk& home, const std::vector<LaunchName>& launches,
                                      std::string_view mark) {
  std::set<std::string> names;
  if (!launches.empty()) {
    if (auto made = make_folders(home, kLaunches, checkpoint::Durability::kSurvivesPowerCuts); !made)
      return made;
  }
  for (const LaunchName& launch : launches) {
    names.insert(file_name(launch));
    const auto saved = save_durably(home, path_of(file_name(launch)), launch.name + "\n", mark);
    if (!saved && saved.error().kind() != ErrorKind::kAlreadyExists) return saved;
  }
  // Remove old records last, so that a launch that is killed before the removal is still accepted.
  const auto there = checkpoint::list_if_there(home, kLaunches);
  if (!there) return there.error();
  for (const DiskEntry& entry : *there) {
    if (entry.is_folder || names.contains(entry.name)) continue;
    const auto removed = home.remove(path_of(entry.name));
    if (!removed && removed.error().kind() != ErrorKind::kNotFound) return removed;
  }
  return {};
}

}  // namespace ratoon::session
