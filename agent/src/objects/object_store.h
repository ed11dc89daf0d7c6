// objects/: Object stores by URI, and the store that is a folder.
//
// ObjectStore: named objects in a folder, on a web server or in an S3-compatible store. An object is either
// whole or absent. An object's name is its key, whose parts are separated by '/'.
//
//   auto store = open_store("s3://bucket/digits", {});
//   if (!store) return store.error();
//   MemorySink index;
//   if (auto got = (*store)->get("train/index.json", index); !got) return got.error();
//
// Thread contract: any thread, any number of calls at once. A call ends when its stop_token requests a stop.
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

// Receives an object's bytes, in the calling thread. If a sink returns an error, the call returns that error.
class ObjectSink {
 public:
  virtual ~ObjectSink() = default;
  // begin() is called before the first byte, and again when the bytes written so far are discarded. An
  // interrupted download is resumed if the store can promise that the object is the same; if not, the
  // download starts over.
  [[nodiscard]] virtual Result<void> begin(const ObjectInfo& object) = 0;
  [[nodiscard]] virtual Result<void> write(std::string_view bytes) = 0;
};

// Supplies ranges of an object's bytes, to several threads at once. A range may be requested more than once
// and must have the same bytes each time.
class ObjectSource {
 public:
  virtual ~ObjectSource() = default;
  [[nodiscard]] virtual std::uint64_t size_bytes() const = 0;
  // Fills all of `into` with the bytes from `offset` on. The range is always within size_bytes().
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
  // The expected checksum of all bytes. If the source supplies other bytes, the call fails with kCorrupted
  // and nothing is stored.
  std::optional<std::uint32_t> crc32c{};
  // S3 receives a larger object in parts of this size. The parts are larger if there would be too many parts,
  // and never smaller than S3's minimum (5 MiB). An upload uses threads * part_bytes of memory.
  std::uint64_t part_bytes = std::uint64_t{8} << 20;
  std::uint32_t threads = 4;
  // Receives the number of bytes stored so far, from any thread, one call at a time. If the upload starts
  // over, the number begins at 0 again.
  std::function<void(std::uint64_t stored_bytes)> progress{};
  std::stop_token stop{};
};

struct UploadedObject {
  std::uint64_t size_bytes = 0;
  std::uint32_t crc32c = 0;  // of all its bytes; compared with the store's own checksum if it reports one

  friend bool operator==(const UploadedObject&, const UploadedObject&) = default;
};

// Errors name the object's URI, the cause and the next step. kNotFound: the object does not exist;
// kPermissionDenied: credentials are missing, wrong or insufficient; kUnavailable and kTimeout: attempts or
// time are used up, and the error names the last failure; kInvalid: the call cannot succeed, for example
// because the bucket does not exist; kCorrupted: the store violated its contract.
class ObjectStore {
 public:
  virtual ~ObjectStore() = default;

  // Returns the store's URI without secrets, such as "s3://bucket/digits".
  [[nodiscard]] virtual const std::string& uri() const = 0;

  [[nodiscard]] virtual Result<ObjectInfo> get(std::string_view key, ObjectSink& sink,
                                               const GetOptions& options = {}) = 0;
  [[nodiscard]] virtual Result<ObjectInfo> head(std::string_view key, std::stop_token stop = {}) = 0;

  // Writes a small object in one request. The request is repeated until the store confirms the object. If the
  // object must be new, and a request whose reply was lost created it, the call succeeds.
  [[nodiscard]] virtual Result<void> put(std::string_view key, std::string_view bytes,
                                         const PutOptions& options = {}) = 0;

  // Streams an object of any size. At any moment the key shows either the old object or the whole new object.
  // After an error only data remains that abort_stale_uploads() removes. After the errors kTimeout,
  // kUnavailable and kCancelled the whole object may be stored nevertheless.
  [[nodiscard]] virtual Result<UploadedObject> upload(std::string_view key, ObjectSource& source,
                                                      const UploadOptions& options = {}) = 0;

  // Removes the remains of uploads to keys that begin with `prefix` if the uploads began (in a folder: were
  // last written) at least `older_than` ago. Uploads that are still running are aborted, too, so `older_than`
  // must exceed the duration of any upload. Returns how many uploads were removed.
  [[nodiscard]] virtual Result<std::uint64_t> abort_stale_uploads(std::string_view prefix,
                                                                  Duration older_than,
                                                                  std::stop_token stop = {}) = 0;

  // Lists objects whose keys begin with `prefix`. `page` is empty or the previous page's `next`.
  [[nodiscard]] virtual Result<ObjectPage> list(std::string_view prefix, std::string_view page = {},
                                                std::stop_token stop = {}) = 0;

  // Deletes an object. Succeeds if the object does not exist.
  [[nodiscard]] virtual Result<void> remove(std::string_view key, std::stop_token stop = {}) = 0;

  // Returns the object's path if the object is a file of this machine, so that no copy is needed. Stores
  // whose objects are no files of this machine return nothing.
  [[nodiscard]] virtual std::optional<std::filesystem::path> local_path(std::string_view key) const;
};

// Accepts "/data/digits" or "file:///data/digits" (folders; a relative path starts at the working folder),
// "http://host/digits" and https (read only: no put, list or remove), and "s3://bucket/digits".
[[nodiscard]] Result<std::shared_ptr<ObjectStore>> open_store(std::string_view uri,
                                                              const StoreOptions& options);

// Lists all objects below a prefix. The whole list must fit into memory.
[[nodiscard]] Result<std::vector<ObjectInfo>> list_all(ObjectStore& store, std::string_view prefix,
                                                       const std::stop_token& stop = {});

}  // namespace ratoon::objects
