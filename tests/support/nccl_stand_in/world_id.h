// The content of an ncclGetUniqueId(): the port on which rank 0 listens, and a secret that the ranks of one
// world share.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include <nccl.h>

#include "tests/support/nccl_stand_in/loopback.h"

namespace ratoon::test::nccl_stand_in {

using Secret = std::array<std::byte, 32>;

struct WorldId {
  std::uint16_t port = 0;
  Secret secret{};
};

[[nodiscard]] ncclUniqueId encode(const WorldId& id);
[[nodiscard]] std::optional<WorldId> decode(const ncclUniqueId& id);

// Listens on a new port, and keeps the socket until take_listener().
[[nodiscard]] std::optional<WorldId> open_world();
// The socket of a world that this process opened, once.
[[nodiscard]] std::optional<Listener> take_listener(const WorldId& id);

}  // namespace ratoon::test::nccl_stand_in
