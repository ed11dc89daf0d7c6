// MdsDataset: shards in the format of MosaicML Streaming (MDS, version 2), in a folder, on a web server or in
// an S3-compatible store.
//
//   auto digits = ratoon::MdsDataset::open("data/digits", {.split = "train"});
//   ratoon::Sample sample;
//   digits->read(4711, sample);
//   std::int64_t label = sample.field(digits->column("label")).as<std::int64_t>();
//
//   auto far = ratoon::MdsDataset::open("s3://bucket/digits", {.cache_folder = "/scratch/shards"});
//
// The type of a column's field follows from its encoding (docs/reference/mds.md has every encoding):
//   int, uint8 ... float64     a number
//   ndarray...                 an array of the type and shape that the encoding or the sample gives
//   str, json, str_int, ...    text; mds_values.h parses the numbers in it
//   bytes, jpeg, png           bytes; mds_values.h reads the height, width and channels of images
//   pil                        uint8, (height, width) or (height, width, bytes of a pixel)
//   jpeg_array, list[...]      bytes; elements() splits them
//   pkl                        refused
//
// If possible, fields point into the shard's mapping, at any alignment. Fields in a mapping are valid until
// the next begin() of their sample, which read() calls, while the data set exists. The sample holds a
// reference to its shard, so the data set may release the shard earlier.
//
// Thread contract: any thread. Reading takes no lock once a shard is open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/dataset.h>
#include <ratoon/store_options.h>

namespace ratoon {

struct MdsOptions {
  std::string split{};  // the subfolder with the index.json, in each of the data set's folders: "train"

  // ---- Options for remote data sets: http(s)://host/path, s3://bucket/prefix.
  // The folder for fetched and unpacked shards. Several processes and data sets can share this folder. If the
  // data set is a local folder, its shards are copied here first, which helps with slow volumes.
  std::filesystem::path cache_folder{};
  // The limit for all files in the cache. Files that are not needed soon are evicted first. 0: no limit.
  std::uint64_t cache_bytes_max = 0;
  StoreOptions store{};
  std::uint32_t fetch_threads = 4;  // threads that fetch, unpack and check shards before they are read

  // ---- Options for local files.
  // A shard's hashes are checked when a process opens it for the first time. Set verifies_local_files to
  // false only for folders that another program has checked. Lengths, offsets and the hashes of fetched
  // shards are checked in any case.
  bool verifies_local_files = true;
  // Whether shards are mapped into memory. If another process truncates a mapped file, or if the disk cannot
  // read it, the process ends with SIGBUS, and no program can prevent that. Set maps_files to false, so that
  // shards are read into memory, if files may change or a network volume may be lost.
  bool maps_files = true;
  // The limit for shards in memory, unpacked or read. Above the limit, shards are released: first shards
  // without a hint of expect(), the least recently used first. While a compressed shard is fetched into a
  // cache, each thread also needs memory for its compressed and unpacked bytes, which is not counted.
  std::uint64_t memory_bytes_max = std::uint64_t{2} << 30;
};

class MdsDataset final : public Dataset {
 public:
  // `uri` is a folder ("data/digits", "file:///data/digits") or a URL. Throws Failure if the index is missing
  // or cannot be read.
  [[nodiscard]] static std::shared_ptr<MdsDataset> open(const std::string& uri,
                                                        const MdsOptions& options = {});
  // Opens several data sets with the same columns as one; each one's samples follow those of the previous
  // one. Throws std::invalid_argument if `uris` is empty.
  [[nodiscard]] static std::shared_ptr<MdsDataset> open(const std::vector<std::string>& uris,
                                                        const MdsOptions& options = {});
  ~MdsDataset() override;

  [[nodiscard]] std::uint64_t size() const override;
  [[nodiscard]] std::span<const Column> columns() const override;
  // SHA-256 over the columns and, for each shard, its samples, length and hashes. If the index has no hashes,
  // two data sets with shards of the same lengths have the same digest.
  [[nodiscard]] std::string digest() const override;
  void read(std::uint64_t id, Sample& into) const override;
  [[nodiscard]] std::vector<std::uint64_t> shard_sizes() const override;
  // Starts to fetch, unpack and check the shards of the samples `ids`, in this order and after the shards of
  // earlier calls, within the memory limit. Expected shards are released and evicted last, beginning with the
  // shard that was expected latest.
  void expect(std::span<const std::uint64_t> ids) const override;
  // Withdraws the hint of expect(): a shard that is no longer expected is not fetched, and is released or
  // evicted first.
  void expect_no_more(std::span<const std::uint64_t> ids) const override;

  // Returns MosaicML Streaming's name of a column's encoding, such as "ndarray:float32:28,28".
  [[nodiscard]] const std::string& encoding(std::size_t column) const;

  // Fills `into` with one field per element of a field of a list column: the bytes of a file or, for
  // list[pil], uint8 as in a column pil. The fields point into the memory of `list`. Throws Failure if `list`
  // is not a list of that column.
  void elements(std::size_t column, const Field& list, Sample& into) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;

 public:
  explicit MdsDataset(std::unique_ptr<Parts> parts);  // for open(): other code has no Parts
};

}  // namespace ratoon
