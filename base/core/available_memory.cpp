#include "base/core/available_memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <string>

#include "base/core/own_cgroup.h"

namespace ratoon {
namespace {

namespace fs = std::filesystem;

// The names of the files with a cgroup's memory limit and memory use, in one version of cgroups (1 or 2).
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

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

std::uint64_t left_of(const fs::path& group, const Names& names) {
  const std::optional<std::uint64_t> limit = number_after(text_of(group / names.limit), "");
  const std::optional<std::uint64_t> used = number_after(text_of(group / names.used), "");
  if (!limit || !used) return kUnlimited;
  const std::uint64_t cache =
      number_after(text_of(group / "memory.stat"), std::string(names.reclaimable) + " ").value_or(0);
  const std::uint64_t taken = *used - std::min(*used, cache);
  return *limit - std::min(*limit, taken);
}

// Returns the smallest amount of memory left under the limits of the cgroup and of all its parents.
std::uint64_t left_around(const OwnCgroup& own) {
  const Names& names = own.is_unified ? kVersion2 : kVersion1;
  std::error_code ignored;
  std::uint64_t left = left_of(own.mount, names);
  for (fs::path group = own.folder; group.string().size() > own.mount.string().size();
       group = group.parent_path()) {
    if (fs::exists(group / names.used, ignored)) left = std::min(left, left_of(group, names));
  }
  return left;
}

}  // namespace

Result<std::uint64_t> available_memory(const fs::path& root) {
  const fs::path meminfo = root / "proc/meminfo";
  const std::optional<std::uint64_t> kib = number_after(text_of(meminfo), "MemAvailable:");
  if (!kib) return Error(ErrorKind::kNotFound, meminfo.string() + " has no line MemAvailable");
  const std::uint64_t available = *kib * 1024;
  const auto own = own_cgroup("memory", root);
  return own ? std::min(available, left_around(*own)) : available;
}

}  // namespace ratoon
