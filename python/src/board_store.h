// BoardStore: the keys and values with which torch.distributed connects the ranks, on the board of the
// attempt. The board takes only ranks that have the attempt's secret.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ratoon/session.h>

#include "agent/src/board/client.h"
#include "base/core/threads/mutex.h"

namespace ratoon::python {

class BoardStore {
 public:
  using Words = std::vector<std::string>;

  // Rank 0 serves the board.
  explicit BoardStore(const Session& session);

  // Returns the words of the answer, or throws a RatoonError. The call waits for keys that no rank has set
  // yet, up to `timeout`; without one it waits for as long as it takes.
  [[nodiscard]] Words ask(board::Op op, Words words, std::optional<std::chrono::duration<double>> timeout);

  // Ends the calls that wait, and all later ones. Any thread may call it.
  void give_up() { *is_given_up_ = true; }

 private:
  const std::shared_ptr<std::atomic<bool>> is_given_up_ = std::make_shared<std::atomic<bool>>(false);
  Mutex mutex_;
  board::Client client_ RATOON_GUARDED_BY(mutex_);
};

}  // namespace ratoon::python
