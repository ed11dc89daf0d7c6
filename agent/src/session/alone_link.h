// A run without a coordinator: one process, attempts counted from the manifests, a lock on the folder against
// a second.
#pragma once

#include "agent/src/session/folder_lock.h"
#include "agent/src/session/link.h"

namespace ratoon::session {

class AloneLink final : public Link {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Link>> open(const Options& options,
                                                          checkpoint::PatientCalls& calls,
                                                          const std::function<bool()>& goes_on);

  [[nodiscard]] Result<Assignment> join(const std::vector<InventoryEntry>& inventory,
                                        Attempt newest_attempt) override;
  [[nodiscard]] int listening_fd() const override { return -1; }
  [[nodiscard]] std::string own_host() const override { return "127.0.0.1"; }
  void note(const Position& position) override;
  [[nodiscard]] Standing standing() const override { return Standing::kGoOn; }
  [[nodiscard]] std::string reason() const override { return ""; }
  [[nodiscard]] Wanted wanted() const override { return {}; }
  [[nodiscard]] Result<void> complete(const Position& position, const std::stop_token& leaves) override;

 private:
  explicit AloneLink(FolderLocks locks) : locks_(std::move(locks)) {}

  FolderLocks locks_;  // held for as long as the process lives, however it ends
};

}  // namespace ratoon::session
