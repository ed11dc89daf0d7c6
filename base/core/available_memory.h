// How much more memory this process may take before the kernel has to kill a process. It is the smaller of
// two numbers: the machine's free memory, and what is left under the limits of all cgroups around the process
// (versions 1 and 2; a container's limit is such a limit).
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
