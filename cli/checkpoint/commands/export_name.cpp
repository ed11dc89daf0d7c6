#include "cli/checkpoint/commands/export_name.h"

#include <filesystem>

#include "agent/src/checkpoint/tiers/name_pattern.h"

namespace ratoon::cli {
namespace {

// Returns the last part of a folder or a URI, with or without a slash at its end.
std::string last_part_of(std::string run) {
  while (run.ends_with('/')) run.pop_back();
  return run.substr(run.rfind('/') + 1);
}

}  // namespace

Result<std::string> make_export_name(const std::string& file, const std::string& run,
                                     const checkpoint::Manifest& manifest, std::optional<std::uint32_t> rank,
                                     WallTime now) {
  const std::filesystem::path path(file);
  const std::string pattern = path.filename().string();
  if (pattern.find_first_of("{}") == std::string::npos) return file;
  const checkpoint::PatternValues facts{.run_name = last_part_of(run),
                                        .epoch = checkpoint::epoch_of(manifest.run),
                                        .batch = manifest.id.step.value(),
                                        .rank = rank.value_or(0),
                                        .timestamp = now};
  const auto name = checkpoint::expand_name(pattern, facts);
  if (!name) return name.error();
  return (path.parent_path() / *name).string();
}

}  // namespace ratoon::cli
