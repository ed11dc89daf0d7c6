// The work of a collective on its stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nccl.h>

#include "base/core/unique_fd.h"
#include "tests/support/nccl_stand_in/exchange.h"
#include "tests/support/nccl_stand_in/reduce.h"

namespace ratoon::test::nccl_stand_in {

enum class Kind : std::uint32_t { kAllReduce, kBroadcast, kAllGather, kFinalize };

// The factor of each number before the sum: read when the operation was made, or when the work runs.
struct Factor {
  Scalar value{};
  const void* on_device = nullptr;
};

struct Work {
  Kind kind = Kind::kAllReduce;
  const void* from = nullptr;
  void* into = nullptr;
  std::size_t count = 0;  // of numbers in `from`
  ncclDataType_t type = ncclUint8;
  ncclRedOp_t op = ncclSum;
  std::optional<Factor> factor{};
  std::uint32_t root = 0;
};

struct Links {
  std::uint32_t rank = 0;
  std::uint32_t size = 1;
  std::vector<UniqueFd> sockets{};  // by rank
};

struct Worked {
  Outcome outcome = Outcome::kDone;
  std::string problem{};
};

// `turn` is the work's number on its communicator, and the same on all ranks.
[[nodiscard]] Worked perform(const Work& work, std::uint64_t turn, const Links& links,
                             const AbortSignal& signal);

// The bytes that the work writes.
[[nodiscard]] std::size_t result_size(const Work& work, std::uint32_t world_size);

}  // namespace ratoon::test::nccl_stand_in
