// Where a run's checkpoints lie, opened to be looked at: its folder, or its place in a store, reached as a
// start of the run reaches it. A run may be writing meanwhile.
//
//   const auto place = RunPlace::open("s3://bucket/runs/digits");
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

class RunPlace {
 public:
  // "checkpoints/digits", "digits" of `ratoon run`, "file:///data/runs/digits" or "s3://bucket/runs/digits".
  // kInvalid where nothing of a run is in it; the message names the places of runs that lie below.
  [[nodiscard]] static Result<RunPlace> open(const std::string& address);

  [[nodiscard]] checkpoint::Disk& disk() const { return *disk_; }
  // When a file of it was written; nothing where it is gone, and in a store.
  [[nodiscard]] std::optional<WallTime> written_at(const std::string& path) const;

 private:
  RunPlace(std::filesystem::path folder, std::shared_ptr<checkpoint::Disk> disk)
      : folder_(std::move(folder)), disk_(std::move(disk)) {}
  explicit RunPlace(std::shared_ptr<checkpoint::Disk> store) : disk_(std::move(store)) {}
  static Result<RunPlace> open_in_store(const std::shared_ptr<objects::ObjectStore>& store);

  std::filesystem::path folder_;  // empty: it is a store
  std::shared_ptr<checkpoint::Disk> disk_;
};

}  // namespace ratoon::cli
