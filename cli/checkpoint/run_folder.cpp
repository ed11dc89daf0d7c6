#include "cli/checkpoint/run_folder.h"

#include <algorithm>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "agent/src/checkpoint/commit/run_files.h"
#include "agent/src/checkpoint/disk/real/real_disk.h"
#include "agent/src/checkpoint/format/file_names.h"
#include "operator/local/folder/run_folder.h"

namespace ratoon::cli {
namespace {

namespace fs = std::filesystem;

// Searches this many levels of subfolders for run folders; "checkpoints/counter" is on the second level.
constexpr int kDepthMax = 3;
constexpr std::size_t kListedRunsMax = 5;
constexpr const char* kStatusFile = "status.json";  // written by `ratoon run`

void find_runs_below(const fs::path& folder, int depth, std::vector<std::string>& found) {
  std::error_code code;
  for (fs::directory_iterator at(folder, code), end; !code && at != end; at.increment(code)) {
    std::error_code ignored;
    if (!at->is_directory(ignored)) continue;
    if (checkpoint::is_run_folder(at->path()))
      found.push_back(at->path().string());
    else if (depth > 1)
      find_runs_below(at->path(), depth - 1, found);
  }
}

}  // namespace

Error no_run_found_error(const std::string& shown, const std::vector<std::string>& below) {
  std::string text = shown + " is not a run's folder: there is no '" + checkpoint::kManifests +
                     "' in it; give <save folder>/<run name>";
  for (std::size_t i = 0; i < std::min(below.size(), kListedRunsMax); ++i)
    text += (i == 0 ? ", such as " : ", ") + below[i];
  return {ErrorKind::kInvalid, text};
}

std::string save_location_of_run(const fs::path& folder) {
  const auto document = local::RunFolder::read_document(folder);
  if (!document || !*document || !(**document).is_object()) return "";
  const auto saves = (**document).find("saves");
  if (saves == (**document).end() || !saves->is_string()) return "";
  const auto said = saves->get<std::string>();
  const bool is_within =
      !said.empty() && said.find("://") == std::string::npos && fs::path(said).is_relative();
  return is_within ? (fs::absolute(folder) / said).lexically_normal().string() : said;
}

fs::path checkpoint_folder_of_run(const fs::path& folder) {
  std::error_code ignored;
  if (checkpoint::is_run_folder(folder) || !fs::exists(folder / kStatusFile, ignored)) return folder;
  fs::path saves = save_location_of_run(folder);
  if (!saves.empty() && checkpoint::is_run_folder(saves)) return saves;
  std::vector<std::string> below;
  find_runs_below(folder, kDepthMax, below);
  return below.size() == 1 ? fs::path(below.front()) : folder;
}

Result<std::unique_ptr<checkpoint::Disk>> open_run_folder(const fs::path& folder) {
  std::error_code ignored;
  if (fs::exists(folder, ignored) && !fs::is_directory(folder, ignored)) {
    return Error(ErrorKind::kInvalid,
                 folder.string() + " is not a folder: give the folder of a run, or <save folder>/<run name>");
  }
  auto disk = checkpoint::RealDisk::open_existing_folder(folder);
  if (!disk) return disk.error();
  if (!checkpoint::is_run_folder(folder)) {
    std::vector<std::string> below;
    find_runs_below(folder, kDepthMax, below);
    std::sort(below.begin(), below.end());
    return no_run_found_error(folder.string(), below);
  }
  return std::unique_ptr<checkpoint::Disk>(*std::move(disk));
}

}  // namespace ratoon::cli
