#include "base/core/own_cgroup.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <vector>

#include "base/core/split_join.h"

namespace ratoon {
namespace {

namespace fs = std::filesystem;

// Inside a container, `path` is often the cgroup's path on the host, which does not exist in the container.
// The folder of the cgroup is then the mount point itself.
OwnCgroup cgroup_at(fs::path mount, std::string_view path, bool is_unified) {
  std::error_code ignored;
  fs::path folder = (mount / fs::path(path).relative_path() / "").parent_path();
  if (!fs::is_directory(folder, ignored)) folder = mount;
  return {.mount = std::move(mount), .folder = std::move(folder), .is_unified = is_unified};
}

}  // namespace

std::optional<OwnCgroup> own_cgroup(std::string_view controller, const fs::path& root) {
  const fs::path groups = root / "sys/fs/cgroup";
  std::optional<OwnCgroup> unified;
  std::ifstream lines(root / "proc/self/cgroup");
  for (std::string line; std::getline(lines, line);) {  // number:controllers:path
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::vector<std::string> controllers = split(line.substr(first + 1, second - first - 1), ',');
    const std::string path = line.substr(second + 1);
    if (std::ranges::find(controllers, controller) != controllers.end())
      return cgroup_at(groups / controller, path, false);
    if (second == first + 1) unified = cgroup_at(groups, path, true);
  }
  return unified;
}

std::optional<std::uint64_t> number_after(std::string_view text, std::string_view word) {
  for (const std::string& line : split(text, '\n')) {
    if (!line.starts_with(word)) continue;
    const std::size_t begin = std::min(line.find_first_not_of(" \t", word.size()), line.size());
    std::uint64_t number = 0;
    const auto [end, problem] = std::from_chars(line.data() + begin, line.data() + line.size(), number);
    return problem == std::errc() ? std::optional(number) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace ratoon
