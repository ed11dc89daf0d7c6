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

// Returns the nearest existing folder above a path that does not exist. Returns an empty path if the path
// exists, or if a link without a target or a file is in its place or above it.
fs::path nearest_existing_folder(const fs::path& path) {
  std::error_code code;
  fs::path at = fs::absolute(path, code).lexically_normal();
  if (code) return {};
  if (!at.has_filename()) at = at.parent_path();  // "folder/"
  // The loop checks whether each entry itself exists, not the target of a link, so a link whose target is
  // missing counts as existing.
  for (bool is_first = true;; is_first = false) {
    const fs::file_type type = fs::symlink_status(at, code).type();
    if (type != fs::file_type::not_found || at == at.root_path())
      return !is_first && fs::is_directory(at, code) ? at : fs::path();
    at = at.parent_path();
  }
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
  throw_dataset_failure(error.kind() == ErrorKind::kNotFound ? explain_missing_path(path, error) : error);
}

Error explain_missing_path(const fs::path& path, const Error& error) {
  const fs::path folder = nearest_existing_folder(path);
  const std::string nearest =
      folder.empty() ? "" : ". The nearest existing folder above it is " + folder.string();
  if (has_files(folder)) {
    return {ErrorKind::kInvalid, error.message() + nearest +
                                     ", and this folder is not empty, so the path is probably mistyped: "
                                     "correct the path"};
  }
  return {ErrorKind::kNotFound,
          error.message() + nearest + ". Check whether the volume of the path is mounted"};
}

}  // namespace ratoon::data
