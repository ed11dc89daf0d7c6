// Writes a file atomically, as save_file_atomically() does, from bytes that are not all in memory.
#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

#include <ratoon/atomic_file.h>
#include <ratoon/result.h>

namespace ratoon {

// `fill` writes all bytes to the descriptor of the temporary file. If `fill` returns an error,
// fill_file_atomically() returns this error, removes the temporary file and leaves `path` unchanged.
[[nodiscard]] Result<void> fill_file_atomically(const std::filesystem::path& path,
                                                const std::function<Result<void>(int fd)>& fill,
                                                AtomicFileOptions options = {});

// Returns the name of the file for which a killed writer left this temporary file: "shard.mds" for
// ".shard.mds.tmp-0123456789abcdef". Returns an empty text if the name is not the name of a temporary file.
[[nodiscard]] std::string_view target_name_of_temporary(std::string_view file_name);

}  // namespace ratoon
