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

#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/result.h>
#include <ratoon/store_options.h>

#include "agent/src/objects/object_info.h"

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

struct GetOptions {
  std::optional<ByteRange> range{};
  std::stop_token stop{};
};

struct PutOptions {
  bool replaces = true;  // false: an object of that name is ErrorKind::kAlreadyExists, decided by the store
  std::stop_token stop{};
};

// Errors name the object's URI, what was found and what to do. kNotFound: no such object (or bucket);
// kPermissionDenied: credentials are missing, wrong or not enough; kUnavailable and kTimeout: attempts or
// time are used up, with the last reason; kInvalid: this cannot work; kCorrupted: the store broke its word.
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
