#include "base/core/available_memory.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

namespace ratoon {
namespace {

namespace fs = std::filesystem;

// What the files of a version of cgroups are called.
struct Names {
  const char* limit;
  const char* used;
  const char* reclaimable;  // a line of memory.stat
};
constexpr Names kVersion1{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"};
constexpr Names kVersion2{"memory.max", "memory.current", "inactive_file"};

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::optional<std::uint64_t> number_in(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  std::uint64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data() + begin, text.data() + text.size(), number);
  if (problem != std::errc()) return std::nullopt;  // "max", or no such file
  return number;
}

// The number after a word that begins a line.
std::optional<std::uint64_t> number_after(const std::string& text, const std::string& word) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(word)) return number_in(std::string_view(line).substr(word.size()));
  }
  return std::nullopt;
}

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

std::uint64_t left_of(const fs::path& group, const Names& names) {
  const std::optional<std::uint64_t> limit = number_in(text_of(group / names.limit));
  const std::optional<std::uint64_t> used = number_in(text_of(group / names.used));
  if (!limit || !used) return kUnlimited;
  const std::uint64_t cache =
      number_after(text_of(group / "memory.stat"), std::string(names.reclaimable) + " ").value_or(0);
  const std::uint64_t taken = *used - std::min(*used, cache);
  return *limit - std::min(*limit, taken);
}

// The least that is left of the group or any around it. Inside a container the path is often the host's, and
// only the mount itself is there.
std::uint64_t left_around(const fs::path& mount, std::string_view path, const Names& names) {
  fs::path group = mount / fs::path(path).relative_path();
  std::error_code ignored;
  std::uint64_t left = left_of(mount, names);
  for (; group.string().size() > mount.string().size(); group = group.parent_path()) {
    if (fs::exists(group / names.used, ignored)) left = std::min(left, left_of(group, names));
  }
  return left;
}

}  // namespace

Result<std::uint64_t> available_memory(const fs::path& root) {
  const fs::path meminfo = root / "proc/meminfo";
  const std::optional<std::uint64_t> kib = number_after(text_of(meminfo), "MemAvailable:");
  if (!kib) return Error(ErrorKind::kNotFound, meminfo.string() + " does not say MemAvailable");
  std::uint64_t available = *kib * 1024;
  const fs::path groups = root / "sys/fs/cgroup";
  std::istringstream lines(text_of(root / "proc/self/cgroup"));
  for (std::string line; std::getline(lines, line);) {  // number:controllers:path
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string path = line.substr(second + 1);
    if (controllers == ",,") available = std::min(available, left_around(groups, path, kVersion2));
    if (controllers.find(",memory,") != std::string::npos)
      available = std::min(available, left_around(groups / "memory", path, kVersion1));
  }
  return available;
}

}  // namespace ratoon
