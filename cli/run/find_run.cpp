#include "cli/run/find_run.h"

#include <algorithm>
#include <optional>
#include <system_error>
#include <vector>

#include "agent/src/checkpoint/run_files.h"
#include "cli/checkpoint/run_folder.h"
#include "operator/local/run_folder.h"

namespace ratoon::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kNamedMax = 5;

bool is_run(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / "status.json", ignored) || local::RunFolder::is_in_use(folder);
}

std::string listed(const std::vector<fs::path>& runs) {
  std::string text;
  for (std::size_t i = 0; i < std::min(runs.size(), kNamedMax); ++i)
    text += (i == 0 ? "" : ", ") + runs[i].string();
  return text + (runs.size() > kNamedMax ? ", ..." : "");
}

std::vector<fs::path> find_runs() {
  std::vector<fs::path> all;
  std::error_code code;
  for (fs::directory_iterator at(kRunsFolder, code), end; !code && at != end; at.increment(code))
    if (is_run(at->path())) all.push_back(at->path());
  std::ranges::sort(all);
  return all;
}

// What else may have been meant.
std::string known_runs() {
  const std::vector<fs::path> all = find_runs();
  return all.empty() ? std::string() : "; in " + std::string(kRunsFolder) + "/ are: " + listed(all);
}

Result<fs::path> find_only_run() {
  const std::vector<fs::path> all = find_runs();
  std::vector<fs::path> living;
  std::ranges::copy_if(all, std::back_inserter(living), local::RunFolder::is_in_use);
  if (living.size() == 1) return living.front();
  if (all.size() == 1) return all.front();
  if (all.empty()) {
    return Error(ErrorKind::kNotFound, std::string("there is no run in ") + kRunsFolder +
                                           "/: name a run's folder, or start one with `ratoon run job.yaml`");
  }
  return Error(ErrorKind::kInvalid, "which run? Name one of " + listed(living.empty() ? all : living));
}

// Of the runs in ratoon-runs/ the one that saves in this place; the one that goes on where several did.
Result<fs::path> find_run_that_saves_in(const fs::path& place) {
  std::optional<fs::path> found;
  for (const fs::path& run : find_runs()) {
    std::error_code ignored;
    const std::string saves = saves_of_run(run);
    if (!saves.empty() && fs::equivalent(saves, place, ignored) &&
        (!found || local::RunFolder::is_in_use(run)))
      found = run;
  }
  if (found) return *found;
  return Error(ErrorKind::kInvalid,
               place.string() + " has the checkpoints of a run, and no run in " + kRunsFolder +
                   "/ saves there: name the folder of the run; `ratoon checkpoint list " + place.string() +
                   "` and `ratoon report " + place.string() + "` tell of what is there");
}

}  // namespace

Result<fs::path> place_of_run(const std::string& wish) {
  std::error_code ignored;
  if (fs::exists(fs::symlink_status(wish, ignored))) return fs::path(wish);
  if (const fs::path by_name = fs::path(kRunsFolder) / wish; is_run(by_name)) return by_name;
  const std::string elsewhere = wish.find('/') == std::string::npos
                                    ? std::string("neither a folder nor ") + kRunsFolder + "/" + wish
                                    : "there is no such folder";
  return Error(ErrorKind::kNotFound, "there is no run '" + wish + "': " + elsewhere + known_runs());
}

Result<fs::path> find_run(const std::string& wish) {
  if (wish.empty()) return find_only_run();
  if (is_run(wish)) return fs::path(wish);
  if (const fs::path by_name = fs::path(kRunsFolder) / wish; is_run(by_name)) return by_name;
  if (checkpoint::is_run_folder(wish)) return find_run_that_saves_in(wish);
  return Error(ErrorKind::kNotFound, "there is no run '" + wish + "': neither a run's folder nor " +
                                         kRunsFolder + "/" + wish + known_runs());
}

}  // namespace ratoon::cli
