// KeepBest: options that say which checkpoints Session::save_best() keeps.
//
//   session.save_best("validation loss", loss, {.keep = 3});
//   session.save_best("accuracy", accuracy, {.is_lower_better = false});
#pragma once

#include <cstdint>

namespace ratoon {

struct KeepBest {
  std::uint32_t keep = 1;  // how many checkpoints to keep, 1 to 100
  bool is_lower_better = true;
};

}  // namespace ratoon
