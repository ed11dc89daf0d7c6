// The protocol of save_file_atomically() for bytes that do not lie in memory at once.
#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

#include <ratoon/atomic_file.h>
#include <ratoon/result.h>

namespace ratoon {

// `fill` writes all bytes to the descriptor of the temporary file; its error is the call's, and nothing is
// left.
[[nodiscard]] Result<void> fill_file_atomically(const std::filesystem::path& path,
                                                const std::function<Result<void>(int fd)>& fill,
                                                AtomicFileOptions options = {});

// Whose temporary file that is, since a killed writer leaves one: "shard.mds" of
// ".shard.mds.tmp-0123456789abcdef"; empty for any other name.
[[nodiscard]] std::string_view name_behind_temporary(std::string_view file_name);

}  // namespace ratoon
