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

}  // namespace

std::optional<std::string> link_without_manifests(const fs::path& run_folder) {
  for (const char* name : {kManifests, kQuarantine, kAside})
    if (!is_empty_or_missing(run_folder / name)) return std::nullopt;
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
