// The kind of the file system on which a folder is: in memory, where no operation waits for a disk, or
// reachable from this machine alone, where a lock excludes each process that can reach the folder.
#pragma once

#include <cstdint>
#include <filesystem>

#include <ratoon/result.h>

namespace ratoon::checkpoint {

// Pure; `kind` is the f_type of statfs(). A kind that is not known here counts as a network file system: some
// of those keep locks to one machine.
[[nodiscard]] bool is_local_kind(std::int64_t kind);

[[nodiscard]] bool is_in_memory(int folder);
// These functions tell it for a folder that may not exist yet. They may themselves wait for a disk.
[[nodiscard]] Result<bool> is_in_memory(const std::filesystem::path& folder);
[[nodiscard]] Result<bool> is_local(const std::filesystem::path& folder);

}  // namespace ratoon::checkpoint
