// checkpoint/tiers/stores/: Checkpoints in object stores: a store as a disk, and copies in stores.
//
// ObjectStoreDisk: an object store as a Disk, so that all checkpoint code works on it: a run whose only home
// is a bucket saves, commits, loads, verifies and cleans up with the same code as in a folder.
//
//   auto store = objects::open_store("s3://bucket/runs/digits", {});
//   RunStore run = *RunStore::open(std::make_shared<ObjectStoreDisk>(*store), draw_name());
//
// An ObjectStoreDisk differs from a folder: an object appears completely or not at all, and is then durable,
// so there is nothing to sync. Folders are only prefixes of names. A new file is private to this process
// until it gets its name. The file stays in memory, except for bytes that were lent, until rename_new()
// uploads it on the condition that the name is free.
//
// Thread contract: as for every Disk (disk.h).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "agent/src/checkpoint/disk/disk.h"
#include "agent/src/checkpoint/tiers/stores/buffered_object.h"
#include "agent/src/objects/object_store.h"

namespace ratoon::checkpoint {

class ObjectStoreDisk final : public Disk {
 public:
  // Calls that take long end early with kCancelled once `stop` is requested.
  explicit ObjectStoreDisk(std::shared_ptr<objects::ObjectStore> store, std::stop_token stop = {});

  [[nodiscard]] objects::ObjectStore& store() const { return *store_; }
  // Returns all objects whose names begin with `beginning`, in all folders.
  [[nodiscard]] Result<std::vector<objects::ObjectInfo>> list_objects(std::string_view beginning) const;
  // `told` is called during each long upload that begins after this call.
  void tell_progress_to(std::function<void()> told);

  [[nodiscard]] std::string shown(std::string_view path) const override;
  [[nodiscard]] Result<std::unique_ptr<WriteFile>> create(const std::string& path) override;
  [[nodiscard]] Result<std::unique_ptr<ReadFile>> open(const std::string& path) const override;
  // `from` is a file that this object created.
  [[nodiscard]] Result<void> rename_new(const std::string& from, const std::string& to) override;
  [[nodiscard]] Result<void> remove(const std::string& path) override;
  [[nodiscard]] Result<void> remove_folder(const std::string& path) override;
  [[nodiscard]] Result<void> make_folder(const std::string& path) override;
  [[nodiscard]] Result<void> sync_folder(const std::string& path) override;
  [[nodiscard]] Result<std::vector<DiskEntry>> list(const std::string& path) const override;

 private:
  const std::shared_ptr<objects::ObjectStore> store_;
  const std::stop_token stop_;
  std::mutex mutex_;
  std::function<void()> told_;  // reports progress; may be empty; guarded by mutex_
  // mutex_ guards unnamed_, whose keys are temporary paths.
  std::map<std::string, std::shared_ptr<BufferedObject>, std::less<>> unnamed_;
};

// Wraps the Disk of a folder, for example with a timeout, since a folder may hang with its disk. Empty: no
// wrapper. Requests to servers have their own timeouts.
using FolderWrapper = std::function<std::shared_ptr<Disk>(std::shared_ptr<Disk>)>;

// Wraps a store that is a folder (file://). Returns a store that is not a folder unchanged.
[[nodiscard]] std::shared_ptr<Disk> wrap_store(std::shared_ptr<ObjectStoreDisk> store,
                                               const FolderWrapper& folders);

}  // namespace ratoon::checkpoint
