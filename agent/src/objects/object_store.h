// objects/: Object stores that are opened by their URI: the interface ObjectStore, and a store that is a
// folder.
//
// ObjectStore: named objects in a folder, on a web server or in an S3-compatible store. An object is always
// whole: readers never see a part of an upload. An object's name is its key, whose parts are separated by
// '/'.
//
//   auto store = open_store("s3://bucket/digits", {});
//   if (!store) return store.error();
//   MemorySink index;
//   if (auto got = (*store)->get("train/index.json", index); !got) return got.error();
//
// Thread contract: any thread may call any function, and any number of calls may run at once. A call ends
// early with kCancelled when a stop is requested with its stop_token.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/result.h>
#include <ratoon/store_options.h>

#include "agent/src/objects/object_info.h"
#include "base/core/clock.h"

namespace ratoon::objects {

// Receives the bytes of an object in the thread that called the store. If a sink returns an error, the
// function of the store returns the sink's error.
class ObjectSink {
 public:
  virtual ~ObjectSink() = default;
  // begin() is called before the first byte, and again if the download starts over: the sink must then
  // discard the bytes that it has received. After an interruption a download continues where it ended if the
  // store guarantees that the object has not changed. Otherwise the download starts over.
  [[nodiscard]] virtual Result<void> begin(const ObjectInfo& object) = 0;
  [[nodiscard]] virtual Result<void> write(std::string_view bytes) = 0;
};

// Supplies ranges of the bytes of an object that is uploaded. Several threads may read from an ObjectSource
// at once. A range may be requested more than once, and the source must give the same bytes each time.
class ObjectSource {
 public:
  virtual ~ObjectSource() = default;
  [[nodiscard]] virtual std::uint64_t size_bytes() const = 0;
  // Fills all of `into` with the bytes of the object from `offset` on. The requested range never goes beyond
  // size_bytes().
  [[nodiscard]] virtual Result<void> read(std::uint64_t offset, std::span<char> into) = 0;
};

struct GetOptions {
  std::optional<ByteRange> range{};
  std::stop_token stop{};
};

struct PutOptions {
  bool replaces = true;  // false: if the object exists, the store refuses with ErrorKind::kAlreadyExists
  std::stop_token stop{};
};

struct UploadOptions {
  bool replaces = true;  // false: as in PutOptions
  // `crc32c` is the expected checksum of all bytes of the object. If the bytes of the source have another
  // checksum, the upload fails with kCorrupted and stores nothing.
  std::optional<std::uint32_t> crc32c{};
  // An object of more than part_bytes bytes is uploaded to S3 in parts of part_bytes. If parts of this size
  // were more than S3 allows, the parts are larger. Parts are never smaller than 5 MiB, the minimum of S3. An
  // upload takes threads * part_bytes bytes of memory.
  std::uint64_t part_bytes = std::uint64_t{8} << 20;
  std::uint32_t threads = 4;
  // The upload calls `progress` with the number of bytes stored so far. The calls come from any thread, but
  // never two at the same time. If the upload starts again from the first byte, the number of stored bytes
  // starts at 0 again.
  std::function<void(std::uint64_t stored_bytes)> progress{};
  std::stop_token stop{};
};

struct UploadedObject {
  std::uint64_t size_bytes = 0;
  std::uint32_t crc32c = 0;  // of all its bytes; compared with the store's own checksum if it reports one

  friend bool operator==(const UploadedObject&, const UploadedObject&) = default;
};

// Error texts name the URI of the object, the cause and the next step. kNotFound means that the object does
// not exist, and kPermissionDenied that credentials are missing, wrong or insufficient. kUnavailable and
// kTimeout mean that all retries failed or that the time limit has passed. The error text names the last
// failure. kInvalid means that the call can never succeed, for example because the bucket does not exist.
// kCorrupted means that the store gave a reply that a correct store cannot give.
class ObjectStore {
 public:
  virtual ~ObjectStore() = default;

  // Returns the URI of the store without passwords and tokens, such as "s3://bucket/digits".
  [[nodiscard]] virtual const std::string& uri() const = 0;

  [[nodiscard]] virtual Result<ObjectInfo> get(std::string_view key, ObjectSink& sink,
                                               const GetOptions& options = {}) = 0;
  [[nodiscard]] virtual Result<ObjectInfo> head(std::string_view key, std::stop_token stop = {}) = 0;

  // Writes a small object in one request. put() retries its request until the store has confirmed the object.
  // If put() may only create the object, it also succeeds if an earlier request of the same call, whose reply
  // was lost, has created the object.
  [[nodiscard]] virtual Result<void> put(std::string_view key, std::string_view bytes,
                                         const PutOptions& options = {}) = 0;

  // Writes an object of any size from `source` to the store, piece by piece. At every moment a reader of the
  // key gets either the old object or the whole new object. Unfinished data may remain after an error;
  // abort_stale_uploads() removes it. After an error of the kinds kTimeout, kUnavailable or kCancelled the
  // store may have the whole object nevertheless.
  [[nodiscard]] virtual Result<UploadedObject> upload(std::string_view key, ObjectSource& source,
                                                      const UploadOptions& options = {}) = 0;

  // Aborts unfinished uploads to keys that begin with `prefix`, and removes their data. An upload is aborted
  // if it began at least `older_than` ago. In a folder, the last write to the temporary file must be at least
  // `older_than` ago instead. `older_than` must exceed the duration of any upload, because uploads that still
  // run are aborted, too. Returns the number of aborted uploads.
  [[nodiscard]] virtual Result<std::uint64_t> abort_stale_uploads(std::string_view prefix,
                                                                  Duration older_than,
                                                                  std::stop_token stop = {}) = 0;

  // Lists objects whose keys begin with `prefix`. For the first page, `page` is empty. For each later page,
  // `page` is the member `next` of the page before it.
  [[nodiscard]] virtual Result<ObjectPage> list(std::string_view prefix, std::string_view page = {},
                                                std::stop_token stop = {}) = 0;

  // Removes an object. remove() succeeds even if the object does not exist.
  [[nodiscard]] virtual Result<void> remove(std::string_view key, std::stop_token stop = {}) = 0;

  // If the object is a file of this machine, returns its path, so that the caller can use the file without a
  // copy. Otherwise returns nothing.
  [[nodiscard]] virtual std::optional<std::filesystem::path> local_path(std::string_view key) const;
};

// Opens a store by its URI. "/data/digits" and "file:///data/digits" are folders; a relative path starts at
// the working folder. "http://host/digits" and https URLs can only be read (no put, list or remove).
// "s3://bucket/digits" is a bucket.
[[nodiscard]] Result<std::shared_ptr<ObjectStore>> open_store(std::string_view uri,
                                                              const StoreOptions& options);

// Lists all objects whose keys begin with a prefix. list_all() returns the whole list at once, so the list
// must fit into memory.
[[nodiscard]] Result<std::vector<ObjectInfo>> list_all(ObjectStore& store, std::string_view prefix,
                                                       const std::stop_token& stop = {});

}  // namespace ratoon::objects
