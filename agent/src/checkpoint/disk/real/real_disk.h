// checkpoint/disk/real/: Implements Disk with the file system of this machine.
//
// RealDisk: a Disk whose files are in a folder of this machine's file system. Every path is opened name by
// name from the folder's descriptor: thus neither "..", nor a link, nor a rename of a parent folder leads to
// a file outside the folder.
#pragma once

#include <filesystem>
#include <memory>

#include "agent/src/checkpoint/disk/disk.h"
#include "agent/src/checkpoint/disk/real/direct_writes.h"
#include "base/core/unique_fd.h"

namespace ratoon::checkpoint {

class RealDisk : public Disk {
 public:
  // Creates the folder if it does not exist. The path to the folder may contain links.
  [[nodiscard]] static Result<std::unique_ptr<RealDisk>> open_folder(const std::filesystem::path& folder);
  // Opens a folder that must exist. open_existing_folder() creates and syncs nothing, so that permission to
  // read the folder is enough.
  [[nodiscard]] static Result<std::unique_ptr<RealDisk>> open_existing_folder(
      const std::filesystem::path& folder);

  [[nodiscard]] std::string shown(std::string_view path) const override;
  [[nodiscard]] Result<std::unique_ptr<WriteFile>> create(const std::string& path) override;
  [[nodiscard]] Result<std::unique_ptr<ReadFile>> open(const std::string& path) const override;
  [[nodiscard]] Result<void> rename_no_replace(const std::string& from, const std::string& to) override;
  [[nodiscard]] Result<void> remove(const std::string& path) override;
  [[nodiscard]] Result<void> remove_folder(const std::string& path) override;
  [[nodiscard]] Result<void> make_folder(const std::string& path) override;
  [[nodiscard]] Result<void> sync_folder(const std::string& path) override;
  [[nodiscard]] Result<std::vector<DiskEntry>> list(const std::string& path) const override;

 private:
  struct FolderAndName;  // a folder's descriptor and a name in it
  RealDisk(std::filesystem::path folder, UniqueFd fd, UniqueFd for_trial)
      : folder_(std::move(folder)),
        fd_(std::move(fd)),
        direct_writes_(std::make_shared<DirectWrites>(std::move(for_trial))) {}

  [[nodiscard]] Result<FolderAndName> find(const std::string& path) const;
  [[nodiscard]] Result<UniqueFd> open_folder_at(const std::string& path) const;  // "": the folder of the disk
  [[nodiscard]] Error error(const std::string& doing, std::string_view path) const;  // of errno

  const std::filesystem::path folder_;
  const UniqueFd fd_;
  const std::shared_ptr<DirectWrites> direct_writes_;  // files may outlive the disk
};

}  // namespace ratoon::checkpoint
