// SingleProcessLink: the Link for a run of one process without a coordinator. The number of an attempt is one
// above the number of the newest attempt in the run's folder. SingleProcessLink locks the folder against a
// second process.
#pragma once

#include "agent/src/session/link/link.h"
#include "agent/src/session/locations/folder_lock.h"

namespace ratoon::session {

class SingleProcessLink final : public Link {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Link>> open(const Options& options,
                                                          checkpoint::CallsWithTimeout& calls,
                                                          const std::function<bool()>& goes_on);

  [[nodiscard]] Result<Assignment> join(const std::vector<InventoryEntry>& inventory,
                                        Attempt newest_attempt) override;
  [[nodiscard]] int listening_fd() const override { return -1; }
  [[nodiscard]] std::string own_host() const override { return "127.0.0.1"; }
  void note_position(const ProcessReport& position) override;
  [[nodiscard]] WorldStatus world_status() const override { return WorldStatus::kGoOn; }
  [[nodiscard]] std::string reason() const override { return ""; }
  [[nodiscard]] CoordinatorRequests outside_requests() const override { return {}; }
  [[nodiscard]] Result<void> complete(const ProcessReport& position, const std::stop_token& leaves) override;

 private:
  explicit SingleProcessLink(FolderLocks locks) : locks_(std::move(locks)) {}

  FolderLocks locks_;  // held for as long as the process lives, however it ends
};

}  // namespace ratoon::session
