// FolderDataset: files in one folder per class, numbered in the order of torchvision's DatasetFolder and
// ImageFolder.
//
//   train/cat/0001.jpg  train/cat/0002.jpg  train/dog/a/0001.jpg
//
//   auto pets = ratoon::FolderDataset::open("train", {.extensions = {".jpg", ".png"}});
//   pets->classes();  // {"cat", "dog"}
//   ratoon::Sample sample;
//   pets->read(2, sample);  // the bytes of train/dog/a/0001.jpg, and 1 as std::int64_t
//
// The option `decode` is a function of the user that converts the bytes of each file into fields:
//
//   {.extensions = {".pgm"},
//    .columns = {{.name = "image", .type = ratoon::ElementType::kUint8, .shape = {{28, 28}}}},
//    .decode = [](std::span<const std::byte> file, ratoon::Sample& into) { ... into.add(...) ... }}
//
// Thread contract: any thread may call any function. Several threads call `decode` at once.
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

// FolderDigest selects the content that the data set's digest covers. With each value, the digest covers more
// content than with the previous value, and takes more time to compute.
enum class FolderDigest {
  kNames,  // names of classes and files, which opening the folder reads anyway
  // The digest covers the names and also the size of each file. For a million files, reading the sizes takes
  // a second on a local disk, and minutes over a network.
  kNamesAndSizes,
  kContents,  // reads every byte
};

struct FolderOptions {
  // A file is a sample if its name ends with one of `extensions`, in upper or lower case. {""} selects all
  // files. The default list has the file endings that torchvision's ImageFolder accepts.
  std::vector<std::string> extensions = {".jpg", ".jpeg", ".png",  ".ppm", ".bmp",
                                         ".pgm", ".tif",  ".tiff", ".webp"};
  bool allows_empty_classes = false;
  // The fields that the function `decode` adds to a sample, in this order. Without `decode`, a sample has the
  // column "bytes" with the file's bytes instead. FolderDataset always adds a last column, "label", with the
  // index of the class as std::int64_t.
  std::vector<Column> columns{};
  std::function<void(std::span<const std::byte> file, Sample& into)> decode{};
  FolderDigest digest = FolderDigest::kNamesAndSizes;
};

class FolderDataset final : public Dataset {
 public:
  // Throws Failure if the root has no class folder, if a folder cannot be read, or if a class has no file and
  // allows_empty_classes is false. A FolderDataset follows links. The constructor refuses a link that leads
  // to a parent folder of the link.
  FolderDataset(std::filesystem::path root, FolderOptions options);
  [[nodiscard]] static std::shared_ptr<FolderDataset> open(std::filesystem::path root, FolderOptions options);
  ~FolderDataset() override;

  // The names of the classes; the index of each name is the label of the class.
  [[nodiscard]] const std::vector<std::string>& classes() const;
  // The path of a sample below the root, such as "dog/a/0001.jpg".
  [[nodiscard]] std::string file_of(std::uint64_t id) const;
  [[nodiscard]] std::int64_t label_of(std::uint64_t id) const;

  [[nodiscard]] std::uint64_t size() const override;
  [[nodiscard]] std::span<const Column> columns() const override { return options_.columns; }
  // Returns a digest of the content that FolderDigest selects. The path of the root is never a part of the
  // digest. The first call of digest() computes the digest.
  [[nodiscard]] std::string digest() const override;
  void read(std::uint64_t id, Sample& into) const override;

 private:
  struct Files;

  void decode(std::span<const std::byte> bytes, const std::filesystem::path& path, Sample& into) const;

  std::filesystem::path root_;
  FolderOptions options_;
  std::unique_ptr<const Files> files_;
  mutable std::mutex mutex_;
  mutable std::string digest_;  // empty until the first call of digest(); guarded by mutex_
};

}  // namespace ratoon
