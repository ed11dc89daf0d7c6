// ObjectStore: objects with names in a folder, on a web server or in an S3-compatible store. An object is
// whole or it is not there; its name is its key, parts of it separated by '/'.
//
//   auto store = open_store("s3://bucket/digits", {});
//   if (!store) return store.error();
//   MemorySink index;
//   if (auto got = (*store)->get("train/index.json", index); !got) return got.error();
//
// Thread contract: any thread, any number at once. What a call takes may be ended through its stop_token.
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

// Takes an object's bytes, in the thread of the call. An error returned here ends the call with that error.
class ObjectSink {
 public:
  virtual ~ObjectSink() = default;
  // Before the first byte, and again where all that was written does not count: a download that was cut is
  // continued where the store can promise that it is the same object, else it begins anew.
  [[nodiscard]] virtual Result<void> begin(const ObjectInfo& object) = 0;
  [[nodiscard]] virtual Result<void> write(std::string_view bytes) = 0;
};

// Gives an object's bytes by ranges, to several threads at once. Some ranges are asked for more than once,
// and have the same bytes each time.
class ObjectSource {
 public:
  virtual ~ObjectSource() = default;
  [[nodiscard]] virtual std::uint64_t size_bytes() const = 0;
  // Fills all of `into` with the bytes from `offset` on. Never asked for more than there is.
  [[nodiscard]] virtual Result<void> read(std::uint64_t offset, std::span<char> into) = 0;
};

struct GetOptions {
  std::optional<ByteRange> range{};
  std::stop_token stop{};
};

struct PutOptions {
  bool replaces = true;  // false: an object of that name is ErrorKind::kAlreadyExists, decided by the store
  std::stop_token stop{};
};

struct UploadOptions {
  bool replaces = true;  // false: as in PutOptions
  // Of all the bytes. A source that gives others is kCorrupted, and nothing is stored.
  std::optional<std::uint32_t> crc32c{};
  // An object of S3 that is larger goes in parts of that size; in larger ones where the store would get too
  // many, and never in smaller ones than it takes (5 MiB). The call's memory is threads * part_bytes.
  std::uint64_t part_bytes = std::uint64_t{8} << 20;
  std::uint32_t threads = 4;
  // How much is stored so far, from any thread, one call at a time. It falls back where all begins anew.
  std::function<void(std::uint64_t stored_bytes)> progress{};
  std::stop_token stop{};
};

struct UploadedObject {
  std::uint64_t size_bytes = 0;
  std::uint32_t crc32c = 0;  // of all its bytes; compared with what the store computed, where it does

  friend bool operator==(const UploadedObject&, const UploadedObject&) = default;
};

// Errors name the object's URI, what was found and what to do. kNotFound: no such object;
// kPermissionDenied: credentials are missing, wrong or not enough; kUnavailable and kTimeout: attempts or
// time are used up, with the last reason; kInvalid: this cannot work, as where there is no such bucket;
// kCorrupted: the store broke its word.
class ObjectStore {
 public:
  virtual ~ObjectStore() = default;

  // "s3://bucket/digits" or "file:///data/digits", without what may be secret in it.
  [[nodiscard]] virtual const std::string& uri() const = 0;

  [[nodiscard]] virtual Result<ObjectInfo> get(std::string_view key, ObjectSink& sink,
                                               const GetOptions& options = {}) = 0;
  [[nodiscard]] virtual Result<ObjectInfo> head(std::string_view key, std::stop_token stop = {}) = 0;

  // Small objects: all of it in one request. Repeated until it is known to be there; one that is only to be
  // created and was created by a request whose reply was lost counts as created.
  [[nodiscard]] virtual Result<void> put(std::string_view key, std::string_view bytes,
                                         const PutOptions& options = {}) = 0;

  // Objects of any size, streamed. The name shows the old object or all of the new one at any moment. After
  // an error nothing of it stays but what abort_stale_uploads() removes; after kTimeout, kUnavailable and
  // kCancelled the object may be there all the same, whole.
  [[nodiscard]] virtual Result<UploadedObject> upload(std::string_view key, ObjectSource& source,
                                                      const UploadOptions& options = {}) = 0;

  // Removes what uploads to keys that begin with `prefix` left when their process was killed, if they began
  // (in a folder: last wrote) that long ago. An upload that is still under way is lost as well: `older_than`
  // is longer than any takes. How many there were.
  [[nodiscard]] virtual Result<std::uint64_t> abort_stale_uploads(std::string_view prefix,
                                                                  Duration older_than,
                                                                  std::stop_token stop = {}) = 0;

  // Objects whose keys begin with `prefix`, from the page that `next` of the page before named.
  [[nodiscard]] virtual Result<ObjectPage> list(std::string_view prefix, std::string_view page = {},
                                                std::stop_token stop = {}) = 0;

  // An object that is not there counts as removed.
  [[nodiscard]] virtual Result<void> remove(std::string_view key, std::stop_token stop = {}) = 0;

  // Where the object is a file of this machine, so that nobody need copy it. Nothing for other stores.
  [[nodiscard]] virtual std::optional<std::filesystem::path> local_path(std::string_view key) const;
};

// "/data/digits" or "file:///data/digits" (folders; a relative path is one of the working folder),
// "http://host/digits" and https (read only: no put, list or remove), "s3://bucket/digits".
[[nodiscard]] Result<std::shared_ptr<ObjectStore>> open_store(std::string_view uri,
                                                              const StoreOptions& options);

// Every object of a prefix; for prefixes whose listing fits into memory.
[[nodiscard]] Result<std::vector<ObjectInfo>> list_all(ObjectStore& store, std::string_view prefix,
                                                       const std::stop_token& stop = {});

}  // namespace ratoon::objects
