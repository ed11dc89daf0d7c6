// checkpoint/tiers/stores/: Saves checkpoints in object stores, through a Disk whose files are objects, and
// copies checkpoints to stores.
//
// ObjectStoreDisk: a Disk whose files are objects in an object store. A run that saves only in a bucket uses
// the same code to save, commit, load, verify and remove checkpoints as a run in a folder.
//
//   auto store = objects::open_store("s3://bucket/runs/digits", {});
//   RunStore run = *RunStore::open(std::make_shared<ObjectStoreDisk>(*store), random_hex_name());
//
// An object appears completely or not at all, and is durable as soon as it exists, so files need no sync.
// Calls on folders do nothing, because folders are only prefixes of object names. If the store is a folder of
// this machine, though, sync_folder() makes the removals of objects durable. A new file is visible only to
// this process until rename_no_replace() gives it its final name. The bytes of a new file stay in memory
// until rename_no_replace() uploads them. Bytes that write_borrowed() receives are not copied. The upload
// succeeds only if no object of the final name exists.
//
// Thread contract: any thread may use an ObjectStoreDisk, but only one thread at a time may use an open file.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "agent/src/checkpoint/disk/disk.h"
#include "agent/src/checkpoint/tiers/stores/buffered_object.h"
#include "agent/src/objects/object_store.h"
#include "base/core/threads/mutex.h"

namespace ratoon::checkpoint {

class ObjectStoreDisk final : public Disk {
 public:
  // Long calls end early with kCancelled when `stop` is requested.
  explicit ObjectStoreDisk(std::shared_ptr<objects::ObjectStore> store, std::stop_token stop = {});

  [[nodiscard]] objects::ObjectStore& store() const { return *store_; }
  // Returns all objects whose full names (with folders) begin with `beginning`.
  [[nodiscard]] Result<std::vector<objects::ObjectInfo>> list_objects(std::string_view beginning) const;
  // Writes a small object, and replaces an object of this name.
  [[nodiscard]] Result<void> put_replacing(const std::string& path, std::string_view bytes);
  // After set_progress_callback(), every long upload that begins calls `told` when it makes progress.
  void set_progress_callback(std::function<void()> told);

  [[nodiscard]] std::string shown(std::string_view path) const override;
  [[nodiscard]] Result<std::unique_ptr<WriteFile>> create(const std::string& path) override;
  [[nodiscard]] Result<std::unique_ptr<ReadFile>> open(const std::string& path) const override;
  // `from` must be a file that this ObjectStoreDisk created.
  [[nodiscard]] Result<void> rename_no_replace(const std::string& from, const std::string& to) override;
  [[nodiscard]] Result<void> remove(const std::string& path) override;
  [[nodiscard]] Result<void> remove_folder(const std::string& path) override;
  [[nodiscard]] Result<void> make_folder(const std::string& path) override;
  [[nodiscard]] Result<void> sync_folder(const std::string& path) override;
  [[nodiscard]] Result<std::vector<DiskEntry>> list(const std::string& path) const override;

 private:
  const std::shared_ptr<objects::ObjectStore> store_;
  const std::stop_token stop_;
  Mutex mutex_;
  std::function<void()> on_progress_ RATOON_GUARDED_BY(mutex_);  // reports progress; may be empty
  // Maps temporary paths to files that have no final name yet.
  std::map<std::string, std::shared_ptr<BufferedObject>, std::less<>> unpublished_files_
      RATOON_GUARDED_BY(mutex_);
};

// A function that wraps the Disk of a folder, for example to add a timeout, since a folder may be on a disk
// that hangs. If the function is empty, the Disk is not wrapped. Stores on servers need no wrapper, because
// requests to servers have timeouts of their own.
using FolderWrapper = std::function<std::shared_ptr<Disk>(std::shared_ptr<Disk>)>;

// Wraps a store that is a folder (file://). If the store is not a folder, returns it unchanged.
[[nodiscard]] std::shared_ptr<Disk> wrap_if_folder_store(std::shared_ptr<ObjectStoreDisk> store,
                                                         const FolderWrapper& folders);

}  // namespace ratoon::checkpoint
