// FolderDataset: files in a folder a class, numbered as torchvision's DatasetFolder and ImageFolder number
// them.
//
//   train/cat/0001.jpg  train/cat/0002.jpg  train/dog/a/0001.jpg
//
//   auto pets = ratoon::FolderDataset::open("train", {.extensions = {".jpg", ".png"}});
//   pets->classes();  // {"cat", "dog"}
//   ratoon::Sample sample;
//   pets->read(2, sample);  // the bytes of train/dog/a/0001.jpg, and 1 as std::int64_t
//
// With `decode` the user's own function makes the fields of each file:
//
//   {.extensions = {".pgm"},
//    .columns = {{.name = "image", .type = ratoon::ElementType::kUint8, .shape = {{28, 28}}}},
//    .decode = [](std::span<const std::byte> file, ratoon::Sample& into) { ... into.add(...) ... }}
//
// Thread contract: any thread; `decode` is called by several at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include <ratoon/dataset.h>

namespace ratoon {

// What names the content of a folder. Each costs more than the one before.
enum class FolderDigest {
  kNames,          // of classes and files. What opening the folder reads anyway
  kNamesAndSizes,  // asks for the size of each file: a second a million on a local disk, minutes over a
                   // network
  kContents,       // reads every byte
};

struct FolderOptions {
  // A file counts if its name ends with one of these, in letters of any case; {""} counts all. These are
  // those of torchvision's ImageFolder.
  std::vector<std::string> extensions = {".jpg", ".jpeg", ".png",  ".ppm", ".bmp",
                                         ".pgm", ".tif",  ".tiff", ".webp"};
  bool allows_empty_classes = false;
  // What `decode` adds, in its order. Without it: one column, "bytes", with the file as it is. The class is
  // the last column in any case: "label", an std::int64_t.
  std::vector<Column> columns{};
  std::function<void(std::span<const std::byte> file, Sample& into)> decode{};
  FolderDigest digest = FolderDigest::kNamesAndSizes;
};

class FolderDataset final : public Dataset {
 public:
  // Throws Failure if there is no class, a class has no file, or a folder cannot be read: nothing is left out
  // in silence. Links are followed; one that leads back to a folder around it is refused.
  FolderDataset(std::filesystem::path root, FolderOptions options);
  [[nodiscard]] static std::shared_ptr<FolderDataset> open(std::filesystem::path root, FolderOptions options);
  ~FolderDataset() override;

  // The names of the classes; the place of each is its label.
  [[nodiscard]] const std::vector<std::string>& classes() const;
  // Below the root, such as "dog/a/0001.jpg".
  [[nodiscard]] std::string file_of(std::uint64_t id) const;
  [[nodiscard]] std::int64_t label_of(std::uint64_t id) const;

  [[nodiscard]] std::uint64_t size() const override;
  [[nodiscard]] std::span<const Column> columns() const override { return options_.columns; }
  // Of what FolderDigest says, never of where the root is. Computed when it is first asked for.
  [[nodiscard]] std::string digest() const override;
  void read(std::uint64_t id, Sample& into) const override;

 private:
  struct Files;

  void decode(std::span<const std::byte> bytes, const std::filesystem::path& path, Sample& into) const;

  std::filesystem::path root_;
  FolderOptions options_;
  std::unique_ptr<const Files> files_;
  mutable std::mutex mutex_;
  mutable std::string digest_;  // empty until it is asked for; guarded by mutex_
};

}  // namespace ratoon
