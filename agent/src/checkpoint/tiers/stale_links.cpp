#include "agent/src/checkpoint/tiers/stale_links.h"

#include <cerrno>
#include <set>
#include <system_error>
#include <vector>

#include <unistd.h>

#include "agent/src/checkpoint/disk/durable.h"
#include "agent/src/checkpoint/format/file_names.h"
#include "agent/src/checkpoint/tiers/latest.h"
#include "agent/src/checkpoint/tiers/name_pattern.h"

namespace ratoon::checkpoint {
namespace {

namespace fs = std::filesystem;

struct NamePatternInFolder {
  const fs::path& run_folder;
  std::string_view pattern;
  const std::string& run_name;
  std::optional<Attempt> newest{};  // newest attempt that has packs
  bool has_changing_names = false;  // each checkpoint has its own name
};

bool is_stale_link(const NamePatternInFolder& names, const std::string& name) {
  std::error_code code;
  const fs::path target = fs::read_symlink(names.run_folder / name, code);
  const auto pack = code ? std::nullopt : pack_in_link(name, target);
  return pack && fs::symlink_status(names.run_folder / *pack, code).type() == fs::file_type::not_found;
}

// Returns "latest" for ".latest.0123.tmp", a temporary link that a killed process left; returns nothing for
// other names.
std::optional<std::string> final_name_of(const std::string& name) {
  constexpr std::string_view kEnding = ".tmp";
  if (!name.starts_with('.') || !name.ends_with(kEnding)) return std::nullopt;
  const std::size_t mark = name.rfind('.', name.size() - kEnding.size() - 1);
  if (mark == std::string::npos || mark < 2) return std::nullopt;
  return name.substr(1, mark - 1);
}

std::optional<Attempt> newest_attempt_with_packs(const fs::path& run_folder) {
  std::optional<Attempt> newest;
  std::error_code code;
  for (fs::directory_iterator at(run_folder / kPacks, code), end; !code && at != end; at.increment(code)) {
    const auto attempt = parse_attempt_name(at->path().filename().string());
    if (attempt && (!newest || *newest < *attempt)) newest = attempt;
  }
  return newest;
}

// Returns true for a temporary link that can be removed. Such a link leads to a pack of an attempt before the
// newest attempt, so the process that made the link has ended.
bool is_leftover_link(const NamePatternInFolder& names, const std::string& path, const std::string& name) {
  std::error_code code;
  const auto pack = pack_in_link(name, fs::read_symlink(names.run_folder / path, code));
  if (code || !pack) return false;
  const std::string of_attempt = pack->substr(std::string_view(kPacks).size() + 1);
  const auto attempt = parse_attempt_name(of_attempt.substr(0, of_attempt.find('/')));
  return attempt && names.newest && *attempt < *names.newest;
}

// Removes links and objects in `folder` whose checkpoint no longer exists. `folder` is "" or ends with '/'.
// The part of the pattern that applies to names in this folder starts at index `begin`. A link or object that
// cannot be read stays. Returns the number of removed links and objects.
Result<std::uint64_t> remove_stale_names_in(const NamePatternInFolder& names, const std::string& folder,
                                            std::size_t begin) {
  const std::size_t slash = names.pattern.find('/', begin);
  std::vector<fs::directory_entry> there;
  std::error_code code;
  for (fs::directory_iterator at(names.run_folder / folder, code), end; !code && at != end;
       at.increment(code))
    there.push_back(*at);
  std::uint64_t removed = 0;
  for (const fs::directory_entry& entry : there) {
    const std::string file = entry.path().filename().string();
    const std::string name = folder + file;
    const auto unnamed = slash == std::string_view::npos ? final_name_of(file) : std::nullopt;
    const bool is_left = unnamed && can_expand_to(names.pattern, folder + *unnamed, names.run_name) &&
                         is_leftover_link(names, name, folder + *unnamed);
    if (is_left && ::unlink(entry.path().c_str()) == 0) ++removed;
    if (!can_expand_to(names.pattern.substr(0, slash), name, names.run_name)) continue;
    if (slash != std::string_view::npos) {
      if (entry.symlink_status(code).type() != fs::file_type::directory) continue;
      const auto below = remove_stale_names_in(names, name + "/", slash + 1);
      if (!below) return below;
      if (*below > 0) ::rmdir(entry.path().c_str());  // fails if it is not empty
      removed += *below;
    } else if (names.has_changing_names && is_stale_link(names, name)) {
      if (::unlink(entry.path().c_str()) == 0)
        ++removed;
      else if (errno != ENOENT)
        return system_error(errno, "removing " + entry.path().string());
    }
  }
  return removed;
}

}  // namespace

Result<void> remove_stale_links(const fs::path& run_folder, std::string_view pattern,
                                const std::string& run_name) {
  const auto removed =
      remove_stale_names_in({run_folder, pattern, run_name, newest_attempt_with_packs(run_folder),
                             changes_with_checkpoints(pattern)},
                            "", 0);
  return removed ? Result<void>() : removed.error();
}

Result<void> remove_stale_pointers(ObjectStoreDisk& store, std::string_view pattern,
                                   const std::string& run_name) {
  const auto objects = store.list_objects(fixed_beginning(pattern, run_name));
  if (!objects) return objects.error();
  std::vector<std::pair<std::string, std::string>> pointers;  // names, and the packs that they lead to
  for (const objects::ObjectInfo& object : *objects) {
    if (object.size_bytes > kPointerBytesMax || !can_expand_to(pattern, object.key, run_name)) continue;
    const auto text = read_whole_file(store, object.key, kPointerBytesMax);
    if (!text && text.error().kind() != ErrorKind::kNotFound) return text.error();
    const auto pack = text ? pack_in_pointer(*text) : std::nullopt;
    if (pack) pointers.emplace_back(object.key, *pack);
  }
  if (pointers.empty()) return {};
  // List the packs after reading the pointers: a pack is created before its pointer, so the list contains
  // every pack that still exists.
  const auto packs = store.list_objects(std::string(kPacks) + "/");
  if (!packs) return packs.error();
  std::set<std::string> there;
  for (const objects::ObjectInfo& pack : *packs) there.insert(pack.key);
  for (const auto& [name, pack] : pointers) {
    if (there.contains(pack)) continue;
    if (auto removed = store.remove(name); !removed) return removed;
  }
  return {};
}

}  // namespace ratoon::checkpoint
