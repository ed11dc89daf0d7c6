// Connects each rank of a world with each other one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/core/unique_fd.h"
#include "tests/support/nccl_stand_in/exchange.h"
#include "tests/support/nccl_stand_in/world_id.h"

namespace ratoon::test::nccl_stand_in {

struct Place {  // of one rank
  std::int32_t process = 0;
  std::int32_t device = 0;
  std::uint16_t port = 0;
};

struct WorldPlan {
  WorldId id;
  std::uint32_t rank = 0;
  std::uint32_t size = 1;
  std::int32_t device = 0;
};

struct Connected {
  Outcome outcome = Outcome::kDone;
  std::string problem;              // of an outcome that is not kDone, or of ranks that contradict each other
  std::vector<UniqueFd> sockets{};  // by rank; that of the rank itself stays closed
  std::vector<Place> places{};      // by rank
};

// `listener` is rank 0's; other ranks make their own. Returns when all ranks are connected, the signal is
// raised or a rank is lost.
[[nodiscard]] Connected connect_ranks(const WorldPlan& plan, Listener listener, const AbortSignal& signal);

}  // namespace ratoon::test::nccl_stand_in
