// StoreDisk: an object store as a Disk, so that all of the engine works on it: a run whose only home is a
// bucket saves, commits, loads, verifies and cleans up with the code that does so in a folder.
//
//   auto store = objects::open_store("s3://bucket/runs/digits", {});
//   RunStore run = *RunStore::open(std::make_shared<StoreDisk>(*store), draw_name());
//
// What differs from a folder: an object appears whole or not at all and is durable when it does, so there is
// nothing to sync; folders are but beginnings of names. A new file is this process's own until it gets its
// name: it lies in memory, but for what was lent where that lies, and rename_new() uploads it with the
// condition that the name is free.
//
// Thread contract: that of Disk.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "agent/src/checkpoint/disk/disk.h"
#include "agent/src/checkpoint/tiers/unnamed_object.h"
#include "agent/src/objects/object_store.h"

namespace ratoon::checkpoint {

class StoreDisk final : public Disk {
 public:
  // Calls that take long end early with kCancelled once `stop` is requested.
  explicit StoreDisk(std::shared_ptr<objects::ObjectStore> store, std::stop_token stop = {});

  [[nodiscard]] objects::ObjectStore& store() const { return *store_; }
  // All objects whose names begin so, in whatever folder.
  [[nodiscard]] Result<std::vector<objects::ObjectInfo>> list_objects(std::string_view beginning) const;
  // Called while a long upload goes on, one that begins from now on.
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
  std::function<void()> told_;  // of progress; may be empty; guarded by mutex_
  // By temporary path; guarded by mutex_.
  std::map<std::string, std::shared_ptr<UnnamedObject>, std::less<>> unnamed_;
};

// What folders are seen through, since they may hang with their disks; empty: nothing. What is asked of a
// server has its own deadlines.
using SeeFolders = std::function<std::shared_ptr<Disk>(std::shared_ptr<Disk>)>;

// A store that is a folder (file://) through that, any other as it is.
[[nodiscard]] std::shared_ptr<Disk> see_store(std::shared_ptr<StoreDisk> store, const SeeFolders& folders);

}  // namespace ratoon::checkpoint
