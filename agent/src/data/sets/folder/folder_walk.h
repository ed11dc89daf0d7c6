// agent/src/data/sets/folder/: Implements FolderDataset, a folder with one subfolder for each class. The code
// determines the order of the files, and computes digests of files.
//
// The files of a FolderDataset, in torchvision's order: classes are sorted, folders in a class are sorted by
// their whole path, and files in a folder are sorted.
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
  [[nodiscard]] std::uint64_t size() const { return folder_of_file_.size(); }
  [[nodiscard]] const std::vector<std::string>& classes() const { return classes_; }
  // Returns the path of file `id`, relative to the root. `id` must be below size().
  [[nodiscard]] std::string path(std::uint64_t id) const;
  [[nodiscard]] std::int64_t class_index(std::uint64_t id) const;
  // The files of class c have the ids from first_file_of_class(c) to first_file_of_class(c + 1) - 1.
  [[nodiscard]] std::uint64_t first_file_of_class(std::size_t which) const {
    return first_file_of_class_[which];
  }

  void begin_class(std::string name);
  void begin_folder(std::string path_below_root);
  void add_file(std::string_view name);
  void finish();

 private:
  std::vector<std::string> classes_;
  std::vector<std::uint64_t> first_file_of_class_;
  std::vector<std::string> folders_;
  std::vector<std::uint32_t> folder_of_file_;
  std::vector<std::uint64_t>
      name_offsets_;  // where each name begins in joined_names_; the last entry is the end
  std::string joined_names_;
};

struct FolderWalkOptions {
  std::span<const std::string> extensions;
  bool allows_empty_classes = false;
};

// Returns an Error if a folder cannot be read, a link leads to a folder that contains it, there is no class,
// or a class is empty.
[[nodiscard]] Result<FolderFiles> walk_folder(const std::filesystem::path& root, FolderWalkOptions options);

}  // namespace ratoon::data
