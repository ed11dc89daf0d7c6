// Opens the place of a run's checkpoints for reading: a folder, or a prefix in an object store. Reading from
// a store needs the same credentials as the run itself. The run may still be writing.
//
//   const auto place = RunLocation::open("s3://bucket/runs/digits");
//   const auto survey = take_survey(place->disk());
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/disk.h"
#include "agent/src/objects/object_store.h"
#include "base/core/clock.h"

namespace ratoon::cli {

class RunLocation {
 public:
  // Opens a path ("checkpoints/digits"), the run of a job in ratoon-runs/ ("digits"), or a URL
  // (file:///data/runs/digits, s3://bucket/runs/digits). Returns kInvalid if there is no run; the message
  // names the runs below `address`.
  [[nodiscard]] static Result<RunLocation> open(const std::string& address);

  [[nodiscard]] checkpoint::Disk& disk() const { return *disk_; }
  // Returns when a file was written, or nothing if it no longer exists or is in an object store.
  [[nodiscard]] std::optional<WallTime> written_at(const std::string& path) const;

 private:
  RunLocation(std::filesystem::path folder, std::shared_ptr<checkpoint::Disk> disk)
      : folder_(std::move(folder)), disk_(std::move(disk)) {}
  explicit RunLocation(std::shared_ptr<checkpoint::Disk> store) : disk_(std::move(store)) {}
  static Result<RunLocation> open_in_store(const std::shared_ptr<objects::ObjectStore>& store);

  std::filesystem::path folder_;  // empty: it is a store
  std::shared_ptr<checkpoint::Disk> disk_;
};

}  // namespace ratoon::cli
