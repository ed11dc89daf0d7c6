#include "agent/src/checkpoint/lost_manifests.h"

#include <system_error>

#include "agent/src/checkpoint/file_names.h"

namespace ratoon::checkpoint {
namespace {

namespace fs = std::filesystem;

bool is_empty_or_missing(const fs::path& folder) {
  std::error_code code;
  const fs::directory_iterator first(folder, code);
  return code || first == fs::directory_iterator();
}

bool has_any_manifest(const fs::path& run_folder) {
  for (const char* name : {kManifests, kQuarantine, kAside})
    if (!is_empty_or_missing(run_folder / name)) return true;
  return false;
}

}  // namespace

bool has_packs_without_manifests(const fs::path& run_folder) {
  std::error_code code;
  if (has_any_manifest(run_folder) || !fs::exists(run_folder / kCommitted, code)) return false;
  for (fs::directory_iterator attempt(run_folder / kPacks, code);
       !code && attempt != fs::directory_iterator(); attempt.increment(code)) {
    if (parse_attempt_name(attempt->path().filename().string()) && !is_empty_or_missing(attempt->path()))
      return true;
  }
  return false;
}

std::optional<std::string> link_without_manifests(const fs::path& run_folder) {
  if (has_any_manifest(run_folder)) return std::nullopt;
  std::error_code code;
  for (fs::directory_iterator entry(run_folder, code); !code && entry != fs::directory_iterator();
       entry.increment(code)) {
    std::error_code ignored;
    if (!entry->is_symlink(ignored)) continue;
    const fs::path target = fs::read_symlink(entry->path(), ignored);
    if (!target.empty() && *target.begin() == kPacks) return entry->path().filename().string();
  }
  return std::nullopt;
}

}  // namespace ratoon::checkpoint
