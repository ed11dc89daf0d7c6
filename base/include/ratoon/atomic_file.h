// Writing a file so that, after any crash, it holds either its old bytes or all of its new ones.
//
//   auto saved = ratoon::save_file_atomically("out/metrics.json", std::as_bytes(std::span(text)));
//   if (!saved) std::cerr << saved.error().message() << '\n';
#pragma once

#include <cstddef>
#include <filesystem>
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

}  // namespace ratoon
