// RecordDataset: one file of records of the same size, such as the binary files of CIFAR-10 and MNIST, or
// rows of tokens. The file is mapped into memory, so opening a terabyte takes no longer than opening a
// gigabyte.
//
// A file that ends within a record is refused. A file that was truncated between two records has a different
// digest than the whole file, so no run resumes with the truncated file. If a mapped file is truncated, or if
// its disk cannot read it, the process ends with SIGBUS, and no program can prevent that. To replace the
// file, write the new version under another name and rename it to the old name: an open data set then keeps
// the old version.
//
//   using ratoon::ElementType;
//   auto cifar = ratoon::RecordDataset::open("data/data_batch_1.bin",
//       {.columns = {{.name = "label", .type = ElementType::kUint8, .shape = {{}}},
//                    {.name = "image", .type = ElementType::kUint8, .shape = {{3, 32, 32}}}}});
//
// Thread contract: any thread may call any function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include <ratoon/dataset.h>

namespace ratoon {

struct RecordOptions {
  // The fields of a record, in their order, without gaps. Each field needs a shape. The length of a record is
  // the sum of the lengths of its fields.
  std::vector<Column> columns{};
  std::uint64_t header_bytes = 0;  // before the first record
  // The user's name for the content, such as "web 2026-03". The declared name replaces the computed digest,
  // so the file is not read for a digest. Change the declared name when the content of the file changes.
  std::string declared_digest{};
};

class RecordDataset final : public Dataset {
 public:
  // Throws Failure if the file does not exist or ends within a record. Throws std::invalid_argument if the
  // options describe no record.
  RecordDataset(const std::filesystem::path& file, RecordOptions options);
  [[nodiscard]] static std::shared_ptr<RecordDataset> open(const std::filesystem::path& file,
                                                           RecordOptions options);
  ~RecordDataset() override;

  [[nodiscard]] std::uint64_t size() const override { return size_; }
  [[nodiscard]] std::span<const Column> columns() const override { return options_.columns; }
  // Returns a digest of the columns and of every record, or the declared digest if the options have one. The
  // first call of digest() reads all records and tries to store their hash beside the file as
  // FILE.ratoon-digest. Later processes use the stored hash while the file's length and modification time are
  // unchanged (docs/train/data.md).
  [[nodiscard]] std::string digest() const override;
  // The fields of `into` point into the mapped file and are valid while the data set exists.
  void read(std::uint64_t id, Sample& into) const override;
  void expect(std::span<const std::uint64_t> ids) const override;

 private:
  struct File;

  std::unique_ptr<const File> file_;
  RecordOptions options_;
  std::uint64_t size_ = 0;
  std::size_t record_bytes_ = 0;
  std::vector<std::size_t> column_bytes_;
  mutable std::mutex mutex_;
  mutable std::string digest_;  // empty until the first call of digest(); guarded by mutex_
};

}  // namespace ratoon
