// The kind of the file system on which a folder is: in memory, where no operation waits for a disk, or
// reachable from this machine alone, where a lock excludes each process that can reach the folder.
#pragma once

#include <cstdint>
#include <filesystem>

#include <ratoon/result.h>

namespace ratoon::checkpoint {

// Pure; `kind` is the f_type of statfs(). An unknown kind counts as a network file system, on which a lock
// may exclude only processes of one machine.
[[nodiscard]] bool is_local_kind(std::int64_t kind);

[[nodiscard]] bool is_in_memory(int folder);
// The functions below take a folder that may not exist yet. The calls may themselves wait for a disk.
[[nodiscard]] Result<bool> is_in_memory(const std::filesystem::path& folder);
[[nodiscard]] Result<bool> is_local(const std::filesystem::path& folder);

}  // namespace ratoon::checkpoint
