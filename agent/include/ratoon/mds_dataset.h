// MdsDataset: shards as MosaicML Streaming writes them (MDS, version 2), in a folder, on a web server or in
// an S3-compatible store.
//
//   auto digits = ratoon::MdsDataset::open("data/digits", {.split = "train"});
//   ratoon::Sample sample;
//   digits->read(4711, sample);
//   std::int64_t label = sample.field(digits->column("label")).as<std::int64_t>();
//
//   auto far = ratoon::MdsDataset::open("s3://bucket/digits", {.cache_folder = "/scratch/shards"});
//
// What a column becomes (docs/reference/mds.md has every encoding):
//   int, uint8 ... float64     a number
//   ndarray...                 an array of the type and shape that the encoding's name or the sample says
//   str, json, str_int, ...    text; mds_values.h reads the numbers that are written out
//   bytes, jpeg, png           bytes; mds_values.h reads the height, width and channels of images
//   pil                        uint8, (height, width) or (height, width, bytes of a pixel)
//   jpeg_array, list[...]      bytes; elements() takes them apart
//   pkl                        refused
//
// Fields lie in the shard's mapping wherever they can, at any alignment. They live until their sample's next
// begin(), which read() is, while the data set lives: the sample holds its shard, which may have been given
// up by then.
//
// Thread contract: any thread. No lock is taken once a shard is open.
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
  std::string split{};  // the folder below each of the data set's that holds its index.json: "train"

  // ---- data sets that are elsewhere: http(s)://host/path, s3://bucket/prefix
  // Where fetched shards are kept, unpacked; several processes and data sets share it. Given for a folder of
  // this machine as well, its shards are copied from there first: for volumes that are slow.
  std::filesystem::path cache_folder{};
  // Of all files in it: those go first that are not needed soon. 0: no limit.
  std::uint64_t cache_bytes_max = 0;
  StoreOptions store{};
  std::uint32_t fetch_threads = 4;  // that fetch, unpack and check shards before they are read

  // ---- files of this machine
  // A shard's hashes are checked when a process opens it for the first time. Switching that off is for
  // folders that something else has checked; lengths and offsets are checked all the same, and what is
  // fetched is.
  bool verifies_local_files = true;
  // Whether shards are mapped. A mapped file that somebody else cuts short, or that the disk cannot read,
  // ends the process with SIGBUS, and no program can prevent that. Where files may change, or a network's
  // volume may go, read them into memory instead.
  bool maps_files = true;
  // Of shards that are in memory, unpacked or read: more are given up, those first that nobody expects and
  // that were not read lately. A compressed shard takes more while it is fetched into a cache, and that is
  // not counted: its bytes and those it unpacks to, for each thread that does so.
  std::uint64_t memory_bytes_max = std::uint64_t{2} << 30;
};

class MdsDataset final : public Dataset {
 public:
  // `uri` is a folder ("data/digits", "file:///data/digits") or a URL. Throws Failure if there is no index,
  // or one that cannot be read.
  [[nodiscard]] static std::shared_ptr<MdsDataset> open(const std::string& uri,
                                                        const MdsOptions& options = {});
  // Several, the samples of each behind those of the one before. Their columns are the same. Throws
  // std::invalid_argument if there is none.
  [[nodiscard]] static std::shared_ptr<MdsDataset> open(const std::vector<std::string>& uris,
                                                        const MdsOptions& options = {});
  ~MdsDataset() override;

  [[nodiscard]] std::uint64_t size() const override;
  [[nodiscard]] std::span<const Column> columns() const override;
  // SHA-256 over columns and, of each shard, samples, length and hashes; without hashes in the index, two
  // data sets with shards of the same lengths are the same to it.
  [[nodiscard]] std::string digest() const override;
  void read(std::uint64_t id, Sample& into) const override;
  [[nodiscard]] std::vector<std::uint64_t> shard_sizes() const override;
  // Begins to fetch, unpack and check the shards of these samples, in their order, behind those that were
  // expected before, as many as there is room for; what is expected is given up and evicted last, the latest
  // first.
  void expect(std::span<const std::uint64_t> ids) const override;
  // What nobody expects any more is not fetched, and is the first to be given up or evicted.
  void expect_no_more(std::span<const std::uint64_t> ids) const override;

  // Streaming's name for what a column is encoded as: "ndarray:float32:28,28".
  [[nodiscard]] const std::string& encoding(std::size_t column) const;

  // Fills `into` with the elements of a list column's field, one field each: bytes of a file, or for
  // list[pil] uint8 as of a column pil. They lie where `list` does. Throws Failure if `list` is no list of
  // that column.
  void elements(std::size_t column, const Field& list, Sample& into) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;

 public:
  explicit MdsDataset(std::unique_ptr<Parts> parts);  // for open(): nobody else has Parts
};

}  // namespace ratoon
