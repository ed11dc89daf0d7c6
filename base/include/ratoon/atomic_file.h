// Writes a file so that, even after a crash, the file has either all its old or all its new bytes.
//
//   auto saved = ratoon::save_file_atomically("out/metrics.json", std::as_bytes(std::span(text)));
//   if (!saved) std::cerr << saved.error().message() << '\n';
//
// If the bytes are not all in memory, append them piece by piece:
//
//   auto saved = ratoon::save_file_atomically("out/table.bin", [&](const ratoon::AppendBytes& append) {
//     for (const auto& row : rows)
//       if (auto appended = append(std::as_bytes(std::span(row))); !appended) return appended;
//     return ratoon::Result<void>();
//   });
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string_view>

#include <ratoon/result.h>

namespace ratoon {

struct AtomicFileOptions {
  bool replaces = true;  // false: an existing file is ErrorKind::kAlreadyExists, decided atomically
  unsigned mode = 0666;  // minus the umask
};

// Writes a temporary file beside `path`, syncs it, renames it and syncs the folder, which must exist. When
// the call returns success, the bytes survive a power cut. On failure the old file stays and no temporary
// file is left.
[[nodiscard]] Result<void> save_file_atomically(const std::filesystem::path& path,
                                                std::span<const std::byte> bytes,
                                                AtomicFileOptions options = {});
[[nodiscard]] Result<void> save_file_atomically(const std::filesystem::path& path, std::string_view text,
                                                AtomicFileOptions options = {});

// A function that appends bytes to the file. If AppendBytes returns an error, the WriteFileBody that called
// it must return the same error.
using AppendBytes = std::function<Result<void>(std::span<const std::byte>)>;
using WriteFileBody = std::function<Result<void>(const AppendBytes& append)>;

// Saves the bytes that `write` appends. If `write` returns an error, save_file_atomically() returns that
// error and keeps the old file.
[[nodiscard]] Result<void> save_file_atomically(const std::filesystem::path& path, const WriteFileBody& write,
                                                AtomicFileOptions options = {});

// Removes the temporary files that killed writers of this path left beside it. Keeps the temporary files of
// running writers, which hold a lock on them. The function removes no file on a file system without flock().
void sweep_temporary_files(const std::filesystem::path& path);

}  // namespace ratoon
