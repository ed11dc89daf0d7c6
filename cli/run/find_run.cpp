#include "cli/run/find_run.h"

#include <algorithm>
#include <system_error>
#include <vector>

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

Result<fs::path> find_only_run() {
  std::vector<fs::path> all;
  std::error_code code;
  for (fs::directory_iterator at(kRunsFolder, code), end; !code && at != end; at.increment(code))
    if (is_run(at->path())) all.push_back(at->path());
  std::ranges::sort(all);
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

}  // namespace

Result<fs::path> place_of_run(const std::string& wish) {
  std::error_code ignored;
  if (fs::exists(fs::symlink_status(wish, ignored))) return fs::path(wish);
  if (const fs::path by_name = fs::path(kRunsFolder) / wish; is_run(by_name)) return by_name;
  const std::string elsewhere = wish.find('/') == std::string::npos
                                    ? std::string("neither a folder nor ") + kRunsFolder + "/" + wish
                                    : "there is no such folder";
  return Error(ErrorKind::kNotFound, "there is no run '" + wish + "': " + elsewhere);
}

Result<fs::path> find_run(const std::string& wish) {
  if (wish.empty()) return find_only_run();
  if (is_run(wish)) return fs::path(wish);
  if (const fs::path by_name = fs::path(kRunsFolder) / wish; is_run(by_name)) return by_name;
  return Error(ErrorKind::kNotFound,
               "there is no run '" + wish + "': neither a run's folder nor " + kRunsFolder + "/" + wish);
}

}  // namespace ratoon::cli
