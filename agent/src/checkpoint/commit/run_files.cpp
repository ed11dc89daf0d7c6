#include "agent/src/checkpoint/commit/run_files.h"

#include <system_error>

#include "agent/src/checkpoint/format/file_names.h"

namespace ratoon::checkpoint {

namespace fs = std::filesystem;

bool is_run_folder(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_directory(folder / kManifests, ignored);
}

bool belongs_to_run(const fs::path& file) {
  std::error_code code;
  const fs::path folder =
      fs::weakly_canonical(file.has_parent_path() ? file.parent_path() : fs::path("."), code);
  if (code) return false;
  fs::path name = file.filename();
  for (fs::path at = folder; at.has_relative_path(); name = at.filename(), at = at.parent_path())
    if (is_reserved_in_run_folder(name.string()) && is_run_folder(at)) return true;
  return false;
}

}  // namespace ratoon::checkpoint
