#include "agent/src/objects/folder_walk.h"

#include <cerrno>
#include <system_error>
#include <vector>

namespace ratoon::objects {
namespace {

namespace fs = std::filesystem;

bool is_gone(const std::error_code& code) {
  return code.value() == ENOENT || code.value() == ENOTDIR;
}

// A walk through a loop of links ends: the path grows with each round until the system reports ELOOP.
Result<bool> is_folder_to_walk(const fs::directory_entry& entry, LinkHandling links,
                               const std::string& doing) {
  std::error_code code;
  if (links == LinkHandling::kLeftAlone) return entry.symlink_status(code).type() == fs::file_type::directory;
  const bool is_folder = entry.is_directory(code);
  if (code.value() == ELOOP) return system_error(code.value(), doing);
  return is_folder;
}

}  // namespace

Result<void> walk_folder(const fs::path& top, LinkHandling links, const std::string& doing,
                         const std::function<Result<void>(const fs::directory_entry&)>& visit) {
  std::vector<fs::path> folders{top};
  while (!folders.empty()) {
    const fs::path folder = std::move(folders.back());
    folders.pop_back();
    std::error_code code;
    fs::directory_iterator at(folder, code);
    if (is_gone(code)) continue;
    for (; !code && at != fs::directory_iterator(); at.increment(code)) {
      const auto is_folder = is_folder_to_walk(*at, links, doing);
      if (!is_folder) return is_folder.error();
      if (*is_folder)
        folders.push_back(at->path());
      else if (auto visited = visit(*at); !visited)
        return visited;
    }
    if (code) return system_error(code.value(), doing);
  }
  return {};
}

}  // namespace ratoon::objects
