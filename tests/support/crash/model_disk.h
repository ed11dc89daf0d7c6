// ModelDisk: a disk in memory that records every operation, so that crash_states.h can compute the states
// after a power cut; it can also refuse, tear or flip bytes at an operation that a test chooses.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "agent/src/checkpoint/disk/disk.h"

namespace ratoon::test {

using FileId = std::uint32_t;    // an inode
using FolderId = std::uint32_t;  // 0: the root

struct Named {
  bool is_folder = false;
  std::uint32_t id = 0;
};

// A change of a folder's list of names, which is on the disk only after SyncFolder.
struct Link {
  FolderId folder = 0;
  std::string name;
  Named what;
};
struct Unlink {
  FolderId folder = 0;
  std::string name;
};
struct Move {  // within one folder: one entry of its journal
  FolderId folder = 0;
  std::string from;
  std::string to;
  Named what;  // whose name it is: the new name may be on the disk where the old one never was
};
struct Write {
  FileId file = 0;
  std::uint64_t at = 0;
  std::string bytes;
};
struct SyncFile {
  FileId file = 0;
};
// A sync that failed, as ext4 does it: waiting data is forgotten, though it can still be read until the power
// fails, and the next sync reports success.
struct LosePages {
  FileId file = 0;
};
struct SyncFolder {
  FolderId folder = 0;
};
// The engine told its caller that this checkpoint is durable.
struct Acknowledge {
  std::string what;
};
using DiskOp = std::variant<Link, Unlink, Move, Write, SyncFile, LosePages, SyncFolder, Acknowledge>;

// The names and bytes of a disk at one moment.
struct DiskImage {
  std::map<FolderId, std::map<std::string, Named>> folders{{0, {}}};
  std::map<FileId, std::string> files;
};

// Called before each call of the engine that would change or read data; a returned error is given to the
// engine.
enum class DiskCall {
  kCreate,
  kReserve,
  kWrite,
  kSync,
  kClose,
  kOpen,
  kRead,
  kRename,
  kRemove,
  kMakeFolder,
  kSyncFolder,
  kList
};
struct Fault {
  std::optional<Error> error{};
  bool loses_pages = false;           // of a sync
  bool is_swallowed = false;          // success is said and nothing is done
  bool does_it_all_the_same = false;  // the error comes after the effect: a lost reply
  std::uint64_t flip_bit = 0;         // of a read that succeeds: 1 + the number of the bit, modulo its length
  std::optional<std::uint64_t> short_write{};  // so many bytes come to the file, then the error
};
using FaultPlan = std::function<Fault(DiskCall call, const std::string& path)>;

class ModelDisk : public checkpoint::Disk, public std::enable_shared_from_this<ModelDisk> {
 public:
  ModelDisk() = default;
  explicit ModelDisk(DiskImage image);

  void set_faults(FaultPlan plan) { faults_ = std::move(plan); }
  void acknowledge(std::string what) { log_.emplace_back(Acknowledge{std::move(what)}); }
  [[nodiscard]] const std::vector<DiskOp>& log() const { return log_; }
  [[nodiscard]] const DiskImage& image() const { return image_; }
  [[nodiscard]] std::vector<std::string> all_paths() const;  // of files

  // Calls that other libraries make and our engine does not.
  [[nodiscard]] Result<void> rename_over(const std::string& from, const std::string& to);

  // Damage from outside, which is in no log.
  [[nodiscard]] std::string* bytes_of(const std::string& path);

  [[nodiscard]] std::string shown(std::string_view path) const override;
  [[nodiscard]] Result<std::unique_ptr<checkpoint::WriteFile>> create(const std::string& path) override;
  [[nodiscard]] Result<std::unique_ptr<checkpoint::ReadFile>> open(const std::string& path) const override;
  [[nodiscard]] Result<void> rename_no_replace(const std::string& from, const std::string& to) override;
  [[nodiscard]] Result<void> remove(const std::string& path) override;
  [[nodiscard]] Result<void> remove_folder(const std::string& path) override;
  [[nodiscard]] Result<void> make_folder(const std::string& path) override;
  [[nodiscard]] Result<void> sync_folder(const std::string& path) override;
  [[nodiscard]] Result<std::vector<checkpoint::DiskEntry>> list(const std::string& path) const override;

 private:
  friend class ModelWriteFile;
  friend class ModelReadFile;
  struct Place {
    FolderId folder = 0;
    std::string name;
  };
  [[nodiscard]] Fault fault(DiskCall call, const std::string& path) const;
  [[nodiscard]] Result<FolderId> folder_at(const std::string& path) const;
  [[nodiscard]] Result<Place> place_of(const std::string& path) const;
  [[nodiscard]] const Named* find(const Place& place) const;
  [[nodiscard]] Result<void> rename(const std::string& from, const std::string& to, bool replaces);
  [[nodiscard]] Result<void> with_fault(DiskCall call, const std::string& path,
                                        const std::function<Result<void>()>& act);
  void record(DiskOp op);

  DiskImage image_;
  std::vector<DiskOp> log_;
  std::uint32_t next_id_ = 1;
  FaultPlan faults_;
};

// Applies one operation to an image; names that do not exist are skipped.
void carry_out(DiskImage& image, const DiskOp& op);

}  // namespace ratoon::test
