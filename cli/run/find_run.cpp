#include "cli/run/find_run.h"

#include <algorithm>
#include <optional>
#include <system_error>
#include <vector>

#include "agent/src/checkpoint/commit/run_files.h"
#include "cli/checkpoint/run_folder.h"
#include "operator/local/folder/run_folder.h"

namespace ratoon::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kListedRunsMax = 5;

bool is_run(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / "status.json", ignored) || local::RunFolder::is_in_use(folder);
}

std::string list_text(const std::vector<fs::path>& runs) {
  std::string text;
  for (std::size_t i = 0; i < std::min(runs.size(), kListedRunsMax); ++i)
    text += (i == 0 ? "" : ", ") + runs[i].string();
  return text + (runs.size() > kListedRunsMax ? ", ..." : "");
}

std::vector<fs::path> find_runs(const fs::path& folder = kRunsFolder) {
  std::vector<fs::path> all;
  std::error_code code;
  for (fs::directory_iterator at(folder, code), end; !code && at != end; at.increment(code))
    if (is_run(at->path())) all.push_back(at->path());
  std::ranges::sort(all);
  return all;
}

// Returns a list of the runs in ratoon-runs/, as a hint for the user.
std::string known_runs_hint() {
  const std::vector<fs::path> all = find_runs();
  return all.empty() ? std::string() : "; in " + std::string(kRunsFolder) + "/ are: " + list_text(all);
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
  return Error(ErrorKind::kInvalid, "which run? Name one of " + list_text(living.empty() ? all : living));
}

// Finds the run that saves its checkpoints in `place`: looks in ./ratoon-runs/, and beside `place`, where
// `ratoon launch` puts runs. If several runs save in `place`, returns the running one.
Result<fs::path> find_run_that_saves_in(const fs::path& place) {
  std::optional<fs::path> found;
  std::error_code ignored;
  const fs::path beside = fs::absolute(place, ignored).lexically_normal() / ".." / kRunsFolder;
  std::vector<fs::path> runs = find_runs();
  for (fs::path& run : find_runs(beside.lexically_normal())) runs.push_back(std::move(run));
  for (const fs::path& run : runs) {
    const std::string saves = save_location_of_run(run);
    if (!saves.empty() && fs::equivalent(saves, place, ignored) &&
        (!found || local::RunFolder::is_in_use(run)))
      found = run;
  }
  if (found) return *found;
  return Error(ErrorKind::kInvalid,
               place.string() + " has the checkpoints of a run, but no run in " + kRunsFolder +
                   "/, here or beside these checkpoints, saves there: name the folder of the run; "
                   "`ratoon checkpoint list " +
                   place.string() + "` and `ratoon report " + place.string() + "` show the checkpoints");
}

}  // namespace

Result<fs::path> folder_of_run(const std::string& name) {
  std::error_code ignored;
  if (fs::exists(fs::symlink_status(name, ignored))) return fs::path(name);
  if (const fs::path by_name = fs::path(kRunsFolder) / name; is_run(by_name)) return by_name;
  const std::string elsewhere = name.find('/') == std::string::npos
                                    ? std::string("neither a folder nor ") + kRunsFolder + "/" + name
                                    : "there is no such folder";
  return Error(ErrorKind::kNotFound, "there is no run '" + name + "': " + elsewhere + known_runs_hint() +
                                         "; name the folder of a run, or <save folder>/<run name>");
}

Result<fs::path> find_run(const std::string& name) {
  if (name.empty()) return find_only_run();
  if (is_run(name)) return fs::path(name);
  if (const fs::path by_name = fs::path(kRunsFolder) / name; is_run(by_name)) return by_name;
  if (checkpoint::is_run_folder(name)) return find_run_that_saves_in(name);
  return Error(ErrorKind::kNotFound, "there is no run '" + name + "': neither a run's folder nor " +
                                         kRunsFolder + "/" + name + known_runs_hint() +
                                         "; name the folder that `ratoon run` printed when the run began");
}

}  // namespace ratoon::cli
