// Bytes to and from several ranks at once, over sockets, until an abort.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/core/unique_fd.h"

namespace ratoon::test::nccl_stand_in {

// The signal that ends all waits of a communicator, for good.
class AbortSignal {
 public:
  AbortSignal();
  void raise() const;
  [[nodiscard]] int fd() const { return event_.get(); }  // readable once it is raised

 private:
  UniqueFd event_;
};

enum class Outcome { kDone, kAborted, kLost };

// The bytes that one rank is sent, and the bytes that are awaited from it. Both may be empty: then only the
// end of the connection is watched.
struct Lane {
  int socket = -1;
  std::span<const std::byte> to_send = {};
  std::span<std::byte> to_receive = {};
};

struct Exchanged {
  Outcome outcome = Outcome::kDone;
  std::size_t lost = 0;  // which lane
};

// A rank whose own exchange is complete closes its end before the other exchanges are.
enum class EarlyEnd { kIsLoss, kIsFine };

// Returns when all lanes are complete, a rank is lost, or the signal is raised.
[[nodiscard]] Exchanged exchange(std::vector<Lane> lanes, const AbortSignal& signal,
                                 EarlyEnd early_end = EarlyEnd::kIsLoss);

}  // namespace ratoon::test::nccl_stand_in
