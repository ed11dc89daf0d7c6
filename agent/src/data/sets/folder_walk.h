// The files of a FolderDataset, in torchvision's order: classes sorted; in each, folders sorted by their
// whole path; in each of those, files sorted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/result.h>

namespace ratoon::data {

class FolderFiles {
 public:
  [[nodiscard]] std::uint64_t size() const { return folder_of_.size(); }
  [[nodiscard]] const std::vector<std::string>& classes() const { return classes_; }
  // Below the root. `id` is below size().
  [[nodiscard]] std::string path(std::uint64_t id) const;
  [[nodiscard]] std::int64_t label(std::uint64_t id) const;
  // The files of a class are those of [first_of(c), first_of(c + 1)).
  [[nodiscard]] std::uint64_t first_of(std::size_t which) const { return first_of_class_[which]; }

  void begin_class(std::string name);
  void begin_folder(std::string path_below_root);
  void add_file(std::string_view name);
  void end();

 private:
  std::vector<std::string> classes_;
  std::vector<std::uint64_t> first_of_class_;
  std::vector<std::string> folders_;
  std::vector<std::uint32_t> folder_of_;
  std::vector<std::uint64_t> name_begin_;  // in names_, and its end
  std::string names_;
};

struct FolderWalkOptions {
  std::span<const std::string> extensions;
  bool allows_empty_classes = false;
};

// An Error where a folder cannot be read, a link leads in a circle, there is no class, or an empty one.
[[nodiscard]] Result<FolderFiles> walk_folder(const std::filesystem::path& root, FolderWalkOptions options);

}  // namespace ratoon::data
