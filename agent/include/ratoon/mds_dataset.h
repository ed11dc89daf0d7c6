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
// The MDS encoding of a column determines the type of its fields (docs/reference/mds.md lists all encodings):
//   int, uint8 ... float64     a number
//   ndarray...                 an array of the type and shape that the encoding or the sample gives
//   str, json, str_int, ...    text; mds_values.h parses the numbers in it
//   bytes, jpeg, png           bytes; mds_values.h reads the height, width and channels of images
//   pil                        uint8, (height, width) or (height, width, bytes per pixel)
//   jpeg_array, list[...]      bytes; elements() splits them
//   pkl                        refused
//
// If a shard is mapped into memory, fields point into the mapping, at any alignment. Fields in a mapped shard
// are valid until the next read() into their sample, and only while the data set exists. A sample keeps the
// shard of its fields in memory, even if the data set releases the shard.
//
// Thread contract: any thread may call any function. Reading from an open shard takes no lock.
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
  // The local folder that keeps fetched and unpacked shards. Several processes and data sets can share this
  // folder. If the data set is a local folder, its shards are first copied to cache_folder, which helps if
  // the volume of the data set is slow.
  std::filesystem::path cache_folder{};
  // The limit in bytes for all files in the cache folder; 0: no limit. If the cache exceeds the limit, Ratoon
  // first deletes files of shards that no call of expect() has announced.
  std::uint64_t cache_bytes_max = 0;
  StoreOptions store{};
  std::uint32_t fetch_threads = 4;  // threads that fetch, unpack and check shards before they are read

  // ---- Options for local files.
  // A process checks a shard's hashes when it opens the shard for the first time. Set verifies_local_files to
  // false only if another program has checked the hashes. Lengths, offsets and the hashes of fetched shards
  // are checked even if verifies_local_files is false.
  bool verifies_local_files = true;
  // Whether shards are mapped into memory. If another process truncates a mapped file, or if the disk cannot
  // read the file, this process ends with SIGBUS, and no program can prevent that. If files may change or a
  // network volume may be lost, set maps_files to false: shards are then read into memory.
  bool maps_files = true;
  // The limit in bytes for shards that are unpacked or read into memory. If the shards exceed the limit,
  // Ratoon first releases the least recently used shard that no call of expect() has announced. Announced
  // shards are released last. While a thread fetches a compressed shard, it also needs memory for the
  // compressed and the unpacked bytes. memory_bytes_max does not limit the memory for these fetches.
  std::uint64_t memory_bytes_max = std::uint64_t{2} << 30;
};

class MdsDataset final : public Dataset {
 public:
  // `uri` is a folder ("data/digits", "file:///data/digits") or a URL. Throws Failure if the file index.json
  // is missing or cannot be read.
  [[nodiscard]] static std::shared_ptr<MdsDataset> open(const std::string& uri,
                                                        const MdsOptions& options = {});
  // Opens several data sets with the same columns as one data set, whose samples follow in the order of
  // `uris`. Throws std::invalid_argument if `uris` is empty.
  [[nodiscard]] static std::shared_ptr<MdsDataset> open(const std::vector<std::string>& uris,
                                                        const MdsOptions& options = {});
  ~MdsDataset() override;

  [[nodiscard]] std::uint64_t size() const override;
  [[nodiscard]] std::span<const Column> columns() const override;
  // Returns the SHA-256 of the columns and of each shard's number of samples, length and hashes. If the file
  // index.json has no hashes, a change of bytes that keeps all lengths does not change the digest.
  [[nodiscard]] std::string digest() const override;
  void read(std::uint64_t id, Sample& into) const override;
  [[nodiscard]] std::vector<std::uint64_t> shard_sizes() const override;
  // Starts to fetch, unpack and check the shards of the samples `ids`, in this order, after the shards of
  // earlier calls of expect(). expect() does not exceed the memory limit. Expected shards are released from
  // memory and evicted from the cache last, beginning with the shard that will be read last.
  void expect(std::span<const std::uint64_t> ids) const override;
  // Cancels an earlier expect(): a shard that is no longer expected is not fetched, and is released or
  // evicted before expected shards.
  void expect_no_more(std::span<const std::uint64_t> ids) const override;

  // Returns MosaicML Streaming's name of a column's encoding, such as "ndarray:float32:28,28".
  [[nodiscard]] const std::string& encoding(std::size_t column) const;

  // Splits a field of a list column: fills `into` with one field per element. An element of a list column is
  // the bytes of a file or, with the encoding list[pil], a uint8 array. The new fields point into the memory
  // of the field `list`. Throws Failure if `list` is not a field of the list column.
  void elements(std::size_t column, const Field& list, Sample& into) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> impl_;

 public:
  explicit MdsDataset(std::unique_ptr<Parts> parts);  // for open(): other code has no Parts
};

}  // namespace ratoon
