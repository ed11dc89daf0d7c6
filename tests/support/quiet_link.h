// QuietLink: for an engine without messages: no world comes, and nothing is requested.
#pragma once

#include "agent/src/session/link/link.h"

namespace ratoon::test {

class QuietLink : public session::Link {
 public:
  Result<Assignment> join(const std::vector<InventoryEntry>&, Attempt) override {
    return Error(ErrorKind::kCancelled, "no world");
  }
  int listening_fd() const override { return -1; }
  std::string own_host() const override { return "127.0.0.1"; }
  void note_position(const session::ProcessReport&) override {}
  session::WorldStatus world_status() const override { return session::WorldStatus::kGoOn; }
  std::string reason() const override { return ""; }
  session::CoordinatorRequests outside_requests() const override { return {}; }
  Result<void> complete(const session::ProcessReport&, const std::stop_token&) override { return {}; }
};

}  // namespace ratoon::test
