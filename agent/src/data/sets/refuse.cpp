#include "agent/src/data/sets/refuse.h"

#include <ratoon/failure.h>

#include "base/contract/exit_code.h"

namespace ratoon::data {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void throw_failure(ExitCode code, const std::string& sentence) {
  throw Failure(static_cast<int>(code), sentence);
}

// Returns true if the folder contains any file or folder. A folder that cannot be read counts as empty.
bool has_files(const fs::path& folder) {
  std::error_code code;
  const fs::directory_iterator first(folder, code);
  return !code && first != fs::directory_iterator();
}

}  // namespace

void throw_dataset_failure(const std::string& sentence) {
  throw_failure(ExitCode::kConfiguration, sentence);
}

void throw_dataset_failure(const Error& error) {
  throw_failure(error.kind() == ErrorKind::kInvalid ? ExitCode::kConfiguration : ExitCode::kStorage,
                error.message());
}

void throw_open_failure(const fs::path& path, const Error& error) {
  if (error.kind() != ErrorKind::kNotFound) throw_dataset_failure(error);
  if (is_path_probably_wrong(path)) throw_failure(ExitCode::kConfiguration, error.message());
  throw_failure(ExitCode::kStorage, error.message() + ". Check whether the volume of the path is mounted");
}

bool is_path_probably_wrong(const fs::path& path) {
  std::error_code code;
  fs::path at = fs::absolute(path, code).lexically_normal();
  if (code) return false;
  if (!at.has_filename()) at = at.parent_path();  // "folder/"
  // The loop checks whether each entry itself exists, not the target of a link, so a link whose target is
  // missing counts as existing.
  for (bool is_first = true;; is_first = false) {
    const fs::file_type type = fs::symlink_status(at, code).type();
    if (type == fs::file_type::not_found && at != at.root_path()) {
      at = at.parent_path();
      continue;
    }
    return !is_first && fs::is_directory(at, code) && has_files(at);
  }
}

}  // namespace ratoon::data
