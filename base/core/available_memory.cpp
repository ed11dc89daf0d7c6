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
struct CgroupFileNames {
  const char* limit;
  const char* used;
  const char* reclaimable;  // a line of memory.stat
};
constexpr CgroupFileNames kCgroupV1Files{"memory.limit_in_bytes", "memory.usage_in_bytes",
                                         "total_inactive_file"};
constexpr CgroupFileNames kCgroupV2Files{"memory.max", "memory.current", "inactive_file"};

std::string read_text_file(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

constexpr std::uint64_t kNoMemoryLimit = std::numeric_limits<std::uint64_t>::max();

std::uint64_t memory_left_in_cgroup(const fs::path& group, const CgroupFileNames& names) {
  const std::optional<std::uint64_t> limit = number_after(read_text_file(group / names.limit), "");
  const std::optional<std::uint64_t> used = number_after(read_text_file(group / names.used), "");
  if (!limit || !used) return kNoMemoryLimit;
  const std::uint64_t cache =
      number_after(read_text_file(group / "memory.stat"), std::string(names.reclaimable) + " ").value_or(0);
  const std::uint64_t taken = *used - std::min(*used, cache);
  return *limit - std::min(*limit, taken);
}

// Returns how much memory the limits of the cgroup and all its parents still allow.
std::uint64_t memory_left_in_cgroups(const OwnCgroup& own) {
  const CgroupFileNames& names = own.is_unified ? kCgroupV2Files : kCgroupV1Files;
  std::error_code ignored;
  std::uint64_t left = memory_left_in_cgroup(own.mount, names);
  for (fs::path group = own.folder; group.string().size() > own.mount.string().size();
       group = group.parent_path()) {
    if (fs::exists(group / names.used, ignored)) left = std::min(left, memory_left_in_cgroup(group, names));
  }
  return left;
}

}  // namespace

Result<std::uint64_t> available_memory(const fs::path& root) {
  const fs::path meminfo = root / "proc/meminfo";
  const std::optional<std::uint64_t> kib = number_after(read_text_file(meminfo), "MemAvailable:");
  if (!kib) return Error(ErrorKind::kNotFound, meminfo.string() + " has no line MemAvailable");
  const std::uint64_t available = *kib * 1024;
  const auto own = own_cgroup("memory", root);
  return own ? std::min(available, memory_left_in_cgroups(*own)) : available;
}

}  // namespace ratoon
