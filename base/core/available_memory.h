// Computes how much more memory this process may use before the kernel's OOM killer acts. The result is the
// smaller of two amounts: the machine's free memory, and the memory left under the limits of the process's
// cgroup and the cgroup's parents. Both versions of cgroups are read. A container's limit is a limit of its
// cgroup.
//
//   const auto free_bytes = available_memory();
//   if (free_bytes && *free_bytes < wanted_bytes) return refuse(wanted_bytes, *free_bytes);
//
// Caches that the kernel can reclaim count as free.
#pragma once

#include <cstdint>
#include <filesystem>

#include <ratoon/result.h>

namespace ratoon {

// `root` is the folder that contains /proc and /sys.
[[nodiscard]] Result<std::uint64_t> available_memory(const std::filesystem::path& root = "/");

}  // namespace ratoon
