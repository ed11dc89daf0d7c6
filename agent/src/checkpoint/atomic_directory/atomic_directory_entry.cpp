// Reads the AtomicDirectory's folder: the finished directories, the target of the link, and the directories
// that interrupted saves left. Changes nothing.
#include "agent/src/checkpoint/atomic_directory/atomic_directory_entry.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <vector>

#include "agent/src/checkpoint/atomic_directory/folder_tree.h"
#include "base/core/atomic_fill.h"

namespace ratoon {

namespace fs = std::filesystem;
using namespace folder_tree;  // NOLINT

namespace {

constexpr std::string_view kPinnedEnding = "_force";

}  // namespace

std::optional<AtomicDirectory::Entry> AtomicDirectory::parse(const std::string& name) const {
  std::string_view rest = name;
  if (!rest.starts_with(options_.prefix)) return std::nullopt;
  rest.remove_prefix(options_.prefix.size());
  Entry found{.name = name};
  if ((found.is_unfinished = rest.ends_with(kUnfinishedEnding))) rest.remove_suffix(kUnfinishedEnding.size());
  if ((found.is_pinned = rest.ends_with(kPinnedEnding))) rest.remove_suffix(kPinnedEnding.size());
  const auto [end, code] = std::from_chars(rest.data(), rest.data() + rest.size(), found.number);
  const bool is_number = code == std::errc() && end == rest.data() + rest.size();
  if (!is_number || std::to_string(found.number) != rest) return std::nullopt;
  return found;
}

std::optional<std::string> AtomicDirectory::linked_name() const {
  const fs::path link = folder_ / options_.link;
  std::error_code code;
  const auto status = fs::symlink_status(link, code);
  if (status.type() == fs::file_type::not_found) return std::nullopt;
  throw_if_failed(code, "looking at " + link.string());
  if (!fs::is_symlink(status))
    throw_failure(ExitCode::kConfiguration, link.string() +
                                                " is no link: remove it, or give AtomicDirectory another "
                                                "name for its link");
  return link_target_name(link);
}

std::vector<AtomicDirectory::Entry> AtomicDirectory::finished() const {
  std::vector<Entry> found;
  for (const fs::path& path : list_entries(folder_)) {
    const auto other = parse(path.filename().string());
    if (other && !other->is_unfinished && is_directory_itself(path)) found.push_back(*other);
  }
  std::ranges::sort(found, std::greater(), &Entry::number);
  return found;
}

std::string AtomicDirectory::how_to_link(const Entry& found) const {
  return "ln -sfn " + found.name + " " + (folder_ / options_.link).string();
}

// Returns the directory that the link names. If no directory is finished, the returned entry has number 0 and
// link_target_exists false.
AtomicDirectory::Entry AtomicDirectory::find() const {
  const fs::path link = folder_ / options_.link;
  const auto name = linked_name();
  Entry found{.name = {}, .link_target_exists = false};
  if (name) {
    const auto parsed = parse(*name);
    if (!parsed || parsed->is_unfinished)
      throw_failure(ExitCode::kConfiguration,
                    link.string() + " names '" + *name + "', which is no directory '" + options_.prefix +
                        "<number>': give AtomicDirectory the prefix of these directories");
    found = *parsed;
    found.link_target_exists = is_directory_itself(folder_ / *name);
  }
  if (found.link_target_exists) return found;
  if (const auto others = finished(); !others.empty())
    throw_failure(ExitCode::kCheckpointsBad,
                  link.string() +
                      (name ? " names '" + *name + "', which does not exist" : " does not exist") + ", but " +
                      (folder_ / others.front().name).string() + " exists: link the newest directory (" +
                      how_to_link(others.front()) + "), or move all finished directories away to start over");
  return found;
}

std::optional<fs::path> AtomicDirectory::latest() const {
  const Entry found = find();
  return found.link_target_exists ? std::optional(folder_ / found.name) : std::nullopt;
}

std::set<std::string> AtomicDirectory::cut_short() const {
  std::set<std::string> names;
  for (const fs::path& path : list_entries(folder_)) {
    if (target_name_of_temporary(path.filename().string()) == options_.link && is_link(path))
      names.insert(link_target_name(path));
  }
  return names;
}

// Returns the directory that an interrupted save has renamed to its final name and not linked yet. Returns
// nothing if the link names no directory: in that case find() has checked that no directory is finished.
std::optional<AtomicDirectory::Entry> AtomicDirectory::find_unlinked(const Entry& linked) const {
  std::vector<Entry> newer;
  if (linked.link_target_exists) newer = finished();
  std::erase_if(newer, [&](const Entry& one) { return one.number <= linked.number || one.is_pinned; });
  if (newer.empty()) return std::nullopt;
  const Entry& newest = newer.front();
  // A crash of finalize() leaves at most one renamed directory without a link.
  if (newest.number == linked.number + 1 && cut_short().contains(newest.name)) return newest;
  throw_failure(ExitCode::kCheckpointsBad,
                (folder_ / newest.name).string() + " is newer than " + linked.name + ", the target of " +
                    (folder_ / options_.link).string() +
                    ", and is not removed, since it may be complete: link it (" + how_to_link(newest) +
                    "), or move all newer directories away to go on from " + linked.name);
}

}  // namespace ratoon
