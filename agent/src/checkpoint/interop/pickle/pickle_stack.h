// PickleStack: the stack on which a pickle's instructions build values, with its marks and its memo. Values
// are never removed from the graph, so that their ids stay valid.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/checkpoint/interop/pickle/pickle_values.h"

namespace ratoon::checkpoint {

[[nodiscard]] Error broken_pickle(const std::string& what);

class PickleStack {
 public:
  // The number of values, stack entries and marks, which the reader limits.
  [[nodiscard]] std::size_t size() const { return pickle_.values.size() + stack_.size() + marks_.size(); }

  Result<void> push(PickleValue value);
  Result<void> mark();
  // The functions below remove the last `count` values, or the values since the last mark, and return them.
  Result<void> make_tuple(std::size_t count);
  Result<void> make_marked_tuple();
  Result<void> append(std::size_t count);
  Result<void> append_marked();
  Result<void> set_items(std::size_t count);
  Result<void> set_marked_items();

  Result<void> remember(std::uint32_t index);
  Result<void> recall(std::uint32_t index);

  // The functions below apply the functions of pickle_calls.h to the last values.
  Result<void> reduce();
  Result<void> build();
  Result<void> replace_by_storage();

  // Returns the graph; its root is the one value that is left on the stack.
  Result<Pickle> finish();

 private:
  [[nodiscard]] std::size_t height() const;
  std::optional<std::size_t> take_mark();
  Result<void> replace(std::size_t count, Result<PickleValue> made);

  Pickle pickle_;
  std::vector<ValueId> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint32_t, ValueId> memo_;
};

}  // namespace ratoon::checkpoint
