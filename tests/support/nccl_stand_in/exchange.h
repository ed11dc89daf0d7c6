// Bytes to and from several ranks at once, over sockets, until an abort.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/core/unique_fd.h"

namespace ratoon::test::nccl_stand_in {

// What can end all waits of a communicator, for good.
class AbortSignal {
 public:
  AbortSignal();
  void raise() const;
  [[nodiscard]] int fd() const { return event_.get(); }  // readable once it is raised

 private:
  UniqueFd event_;
};

enum class Outcome { kDone, kAborted, kLost };

// What one rank is sent, and what is awaited from it. Both may be empty: then its end is watched for alone.
struct Lane {
  int socket = -1;
  std::span<const std::byte> to_send = {};
  std::span<std::byte> to_receive = {};
};

struct Exchanged {
  Outcome outcome = Outcome::kDone;
  std::size_t lost = 0;  // which lane
};

// A rank whose own lane is complete closes its end before the other lanes are.
enum class EarlyEnd { kIsLoss, kIsFine };

// Returns when all lanes are complete, a rank is lost, or the signal is raised.
[[nodiscard]] Exchanged exchange(std::vector<Lane> lanes, const AbortSignal& signal,
                                 EarlyEnd early_end = EarlyEnd::kIsLoss);

}  // namespace ratoon::test::nccl_stand_in
