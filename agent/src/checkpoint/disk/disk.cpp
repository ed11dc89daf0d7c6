#include "agent/src/checkpoint/disk/disk.h"

namespace ratoon::checkpoint {

Result<void> check_path(std::string_view path) {
  const std::string_view whole = path;
  while (true) {
    const auto slash = path.find('/');
    const std::string_view name = path.substr(0, slash);
    if (name.empty() || name == "." || name == ".." || name.find('\0') != std::string_view::npos) {
      return Error(ErrorKind::kInvalid,
                   "'" + std::string(whole) +
                       "' is not a path below the folder: expected names separated by '/', "
                       "and no name that is empty, '.' or '..'");
    }
    if (slash == std::string_view::npos) return {};
    path.remove_prefix(slash + 1);
  }
}

std::string folder_of(std::string_view path) {
  const auto slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? std::string_view() : path.substr(0, slash));
}

}  // namespace ratoon::checkpoint
