// RecordDataset: one file of records of the same size, such as CIFAR-10's binary files, MNIST's or tokens by
// the row. It is mapped, not read: opening costs the same for a gigabyte and a terabyte.
//
// A file that was cut before it is opened is refused, unless the cut is between two records: then the digest
// is another one, and no run goes on over it. A file that somebody cuts while it is mapped, or that its disk
// cannot read, ends the process with SIGBUS, and no program can prevent that: write a new version under
// another name and rename it; what is open stays whole.
//
//   using ratoon::ElementType;
//   auto cifar = ratoon::RecordDataset::open("data/data_batch_1.bin",
//       {.columns = {{.name = "label", .type = ElementType::kUint8, .shape = {{}}},
//                    {.name = "image", .type = ElementType::kUint8, .shape = {{3, 32, 32}}}}});
//
// Thread contract: any thread.
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
  // The parts of a record, in their order, without gaps; each has a shape. A record is as long as all
  // together.
  std::vector<Column> columns{};
  std::uint64_t header_bytes = 0;  // before the first record
  // A name of the content that its owner gives and answers for ("web 2026-03"): nothing is read to find the
  // digest.
  std::string declared_digest{};
};

class RecordDataset final : public Dataset {
 public:
  // Throws Failure if there is no such file or its length is no whole number of records,
  // std::invalid_argument if the options describe no record.
  RecordDataset(const std::filesystem::path& file, RecordOptions options);
  [[nodiscard]] static std::shared_ptr<RecordDataset> open(const std::filesystem::path& file,
                                                           RecordOptions options);
  ~RecordDataset() override;

  [[nodiscard]] std::uint64_t size() const override { return size_; }
  [[nodiscard]] std::span<const Column> columns() const override { return options_.columns; }
  // Of the columns and every record, unless one was declared. The records are read once, when it is first
  // asked for, and their hash is kept beside them as FILE.ratoon-digest where that can be written. Later
  // starts take it from there, as long as the file has the length and the time of its last change that it
  // had. (docs/train/data.md)
  [[nodiscard]] std::string digest() const override;
  // The fields lie in the file's mapping: they live as long as the data set.
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
  mutable std::string digest_;  // empty until it is asked for; guarded by mutex_
};

}  // namespace ratoon
