// Writing a file so that, after any crash, it holds either its old bytes or all of its new ones.
//
//   auto saved = ratoon::save_file_atomically("out/metrics.json", std::as_bytes(std::span(text)));
//   if (!saved) std::cerr << saved.error().message() << '\n';
//
// What does not lie in memory at once is appended piece by piece:
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
  unsigned mode = 0666;  // less what the umask takes
};

// Writes a temporary file beside `path`, syncs it, renames it and syncs the folder, which must exist. When it
// returns success, the bytes survive a power cut. On failure the old file stands and no temporary file is
// left.
[[nodiscard]] Result<void> save_file_atomically(const std::filesystem::path& path,
                                                std::span<const std::byte> bytes,
                                                AtomicFileOptions options = {});
[[nodiscard]] Result<void> save_file_atomically(const std::filesystem::path& path, std::string_view text,
                                                AtomicFileOptions options = {});

// The bytes follow those of the calls before. An error of it is to be returned by who called it.
using AppendBytes = std::function<Result<void>(std::span<const std::byte>)>;
using WriteFileBody = std::function<Result<void>(const AppendBytes& append)>;

// The same of bytes that `write` appends. Its error is the call's, and the old file stands.
[[nodiscard]] Result<void> save_file_atomically(const std::filesystem::path& path, const WriteFileBody& write,
                                                AtomicFileOptions options = {});

// Removes what killed writers of this very path left beside it. Files of living ones, which hold a lock on
// them, stay; so does everything on file systems without flock().
void sweep_temporary_files(const std::filesystem::path& path);

}  // namespace ratoon
