#include "agent/src/checkpoint/tiers/stores/object_store_disk.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "agent/src/checkpoint/disk/durable.h"
#include "agent/src/objects/object_key.h"
#include "agent/src/objects/store_uri.h"
#include "base/core/durable_folder.h"

namespace ratoon::checkpoint {
namespace {

constexpr std::size_t kLongUploadBytesMin = std::size_t{1} << 20U;

using objects::ObjectStore;

class MemoryFile final : public WriteFile {
 public:
  MemoryFile(std::shared_ptr<BufferedObject> object, std::string shown)
      : object_(std::move(object)), shown_(std::move(shown)) {}

  Result<void> reserve(std::uint64_t) override { return {}; }  // most of it may be lent
  Result<void> write(std::uint64_t at, std::span<const std::byte> bytes) override {
    return said(object_->copy(at, bytes));
  }
  Result<void> write_borrowed(std::uint64_t at, std::span<const std::byte> bytes) override {
    return said(object_->borrow(at, bytes));
  }
  bool lends_without_copy() const override { return true; }
  Result<void> sync() override { return {}; }
  Result<void> close() override { return {}; }

 private:
  [[nodiscard]] Result<void> said(Result<void> added) const {
    if (added) return added;
    return added.error().with_context("keeping " + shown_ + " until it is sent");
  }

  const std::shared_ptr<BufferedObject> object_;
  const std::string shown_;
};

// Turns kCorrupted into kUnavailable: an invalid reply may come from a proxy, and does not mean that an
// object in the store is damaged.
template <class Value>
Result<Value> damage_as_unavailable(Result<Value> answer) {
  if (answer || answer.error().kind() != ErrorKind::kCorrupted) return answer;
  return Error(ErrorKind::kUnavailable, answer.error().message());
}

// Receives a downloaded range of an object and stores it in memory. If the download starts again from the
// beginning, the received bytes are overwritten.
class SpanObjectSink final : public objects::ObjectSink {
 public:
  explicit SpanObjectSink(std::span<std::byte> into) : into_(into) {}

  Result<void> begin(const objects::ObjectInfo&) override {
    filled_ = 0;
    return {};
  }
  Result<void> write(std::string_view bytes) override {
    if (bytes.size() > into_.size() - filled_)
      return Error(ErrorKind::kCorrupted, "the store gave more bytes than were asked for");
    std::memcpy(into_.data() + filled_, bytes.data(), bytes.size());
    filled_ += bytes.size();
    return {};
  }
  [[nodiscard]] std::size_t filled() const { return filled_; }

 private:
  const std::span<std::byte> into_;
  std::size_t filled_ = 0;
};

class StoreReadFile final : public ReadFile {
 public:
  StoreReadFile(std::shared_ptr<ObjectStore> store, objects::ObjectInfo object, std::stop_token stop)
      : store_(std::move(store)), object_(std::move(object)), stop_(std::move(stop)) {}

  Result<std::uint64_t> size() const override { return object_.size_bytes; }

  Result<void> read(std::uint64_t at, std::span<std::byte> bytes) const override {
    if (bytes.empty()) return {};
    if (at > object_.size_bytes || bytes.size() > object_.size_bytes - at) return cut(at + bytes.size());
    return damage_as_unavailable(read_with_retry([&] { return read_once(at, bytes); }, [] {}));
  }
  void drop_from_page_cache() const override {}  // every read goes to the store

 private:
  Result<void> read_once(std::uint64_t at, std::span<std::byte> bytes) const {
    SpanObjectSink sink(bytes);
    const auto got =
        store_->get(object_.key, sink, {.range = objects::ByteRange{at, at + bytes.size()}, .stop = stop_});
    if (!got) return got.error();
    return sink.filled() == bytes.size() ? Result<void>() : cut(at + sink.filled());
  }
  [[nodiscard]] Error cut(std::uint64_t at) const {
    return {ErrorKind::kCorrupted, objects::join_uri(store_->uri(), object_.key) + " ends before byte " +
                                       std::to_string(at) + ", which was expected in it"};
  }

  const std::shared_ptr<ObjectStore> store_;
  const objects::ObjectInfo object_;
  const std::stop_token stop_;
};

}  // namespace

ObjectStoreDisk::ObjectStoreDisk(std::shared_ptr<ObjectStore> store, std::stop_token stop)
    : store_(std::move(store)), stop_(std::move(stop)) {}

std::string ObjectStoreDisk::shown(std::string_view path) const {
  return objects::join_uri(store_->uri(), path);
}

Result<std::unique_ptr<WriteFile>> ObjectStoreDisk::create(const std::string& path) {
  if (auto checked = check_path(path); !checked) return checked.error();
  auto object = std::make_shared<BufferedObject>();
  const MutexLock lock(mutex_);
  if (!unpublished_files_.emplace(path, object).second)
    return Error(ErrorKind::kAlreadyExists, shown(path) + " is being written by this process already");
  return std::unique_ptr<WriteFile>(std::make_unique<MemoryFile>(std::move(object), shown(path)));
}

Result<std::unique_ptr<ReadFile>> ObjectStoreDisk::open(const std::string& path) const {
  if (auto checked = check_path(path); !checked) return checked.error();
  auto object = store_->head(path, stop_);
  if (!object) return object.error();
  object->key = path;
  return std::unique_ptr<ReadFile>(std::make_unique<StoreReadFile>(store_, *std::move(object), stop_));
}

void ObjectStoreDisk::set_progress_callback(std::function<void()> told) {
  const MutexLock lock(mutex_);
  on_progress_ = std::move(told);
}

Result<void> ObjectStoreDisk::rename_no_replace(const std::string& from, const std::string& to) {
  if (auto checked = check_path(to); !checked) return checked;
  std::shared_ptr<BufferedObject> object;
  std::function<void()> tell;
  {
    const MutexLock lock(mutex_);
    const auto found = unpublished_files_.find(from);
    if (found == unpublished_files_.end())
      return Error(ErrorKind::kNotFound, shown(from) + " was not written by this process");
    object = found->second;
    if (!object->is_whole())
      return Error(ErrorKind::kInvalid, shown(from) + " has gaps, which an object of a store cannot have");
    // Report only the progress of large uploads. If small uploads, such as claims, were reported, a large
    // upload that hangs would seem to make progress.
    if (object->size_bytes() >= kLongUploadBytesMin) tell = on_progress_;
  }
  const auto told = [tell](std::uint64_t) {
    if (tell) tell();
  };
  const auto uploaded = store_->upload(to, *object, {.replaces = false, .progress = told, .stop = stop_});
  if (!uploaded) return uploaded.error();
  const MutexLock lock(mutex_);
  unpublished_files_.erase(from);
  return {};
}

Result<void> ObjectStoreDisk::remove(const std::string& path) {
  if (auto checked = check_path(path); !checked) return checked;
  {
    const MutexLock lock(mutex_);
    if (unpublished_files_.erase(path) != 0) return {};
  }
  return store_->remove(path, stop_);
}

Result<void> ObjectStoreDisk::put_replacing(const std::string& path, std::string_view bytes) {
  if (auto checked = check_path(path); !checked) return checked;
  return store_->put(path, bytes, {.replaces = true, .stop = stop_});
}

// Do nothing, because folders of an object store are only prefixes of object names.
Result<void> ObjectStoreDisk::remove_folder(const std::string&) {
  return {};
}
Result<void> ObjectStoreDisk::make_folder(const std::string&) {
  return {};
}

// A store that is a folder removes a folder together with its last object: then sync the folder above it.
Result<void> ObjectStoreDisk::sync_folder(const std::string& path) {
  auto folder = path.empty() ? std::nullopt : store_->local_path(path);
  if (!folder) return {};
  Result<void> synced;
  for (auto names = 1 + std::ranges::count(path, '/'); names >= 0; --names, *folder = folder->parent_path()) {
    synced = ratoon::sync_folder(*folder);
    if (!failed_with(synced, ErrorKind::kNotFound)) return synced;
  }
  return {};
}

Result<std::vector<objects::ObjectInfo>> ObjectStoreDisk::list_objects(std::string_view beginning) const {
  return damage_as_unavailable(
      read_with_retry([&] { return objects::list_all(*store_, beginning, stop_); }, [] {}));
}

Result<std::vector<DiskEntry>> ObjectStoreDisk::list(const std::string& path) const {
  const std::string prefix = path.empty() ? "" : path + "/";
  const auto objects = list_objects(prefix);
  if (!objects) return objects.error();
  std::vector<DiskEntry> entries;
  for (const objects::ObjectInfo& object : *objects) {
    const std::string_view name = std::string_view(object.key).substr(prefix.size());
    const std::size_t slash = name.find('/');
    const bool is_folder = slash != std::string_view::npos;
    entries.push_back({.name = std::string(name.substr(0, slash)), .is_folder = is_folder});
  }
  std::sort(entries.begin(), entries.end());
  entries.erase(std::unique(entries.begin(), entries.end()), entries.end());
  return entries;
}

std::shared_ptr<Disk> wrap_if_folder_store(std::shared_ptr<ObjectStoreDisk> store,
                                           const FolderWrapper& folders) {
  const auto uri = objects::parse_store_uri(store->store().uri());
  const bool is_folder = uri && uri->scheme == objects::StoreScheme::kFile;
  return is_folder && folders ? folders(std::move(store)) : store;
}

}  // namespace ratoon::checkpoint
