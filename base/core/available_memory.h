// How much more memory this process may take before the kernel has to kill a process: the smaller one of the
// machine's free memory and the rest of the limit of every cgroup around the process (versions 1 and 2; a
// container's limit is one).
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

// `root` is where /proc and /sys are.
[[nodiscard]] Result<std::uint64_t> available_memory(const std::filesystem::path& root = "/");

}  // namespace ratoon
