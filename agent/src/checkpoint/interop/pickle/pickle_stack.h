// PickleStack: the state in which the instructions of a pickle build values: the stack, the marks on it, and
// the memo (a table of earlier values). Values are never removed from the graph, so that their ids stay
// valid.
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

[[nodiscard]] Error broken_pickle_error(const std::string& what);

class PickleStack {
 public:
  // Returns the number of values, stack entries and marks; the reader limits this number.
  [[nodiscard]] std::size_t size() const { return pickle_.values.size() + stack_.size() + marks_.size(); }

  Result<void> push(PickleValue value);
  Result<void> mark();
  // Each of the following functions removes the last `count` values on the stack, or the values above the
  // last mark, and puts them into a tuple, a list or a dictionary.
  Result<void> make_tuple(std::size_t count);
  Result<void> make_marked_tuple();
  Result<void> append(std::size_t count);
  Result<void> append_marked();
  Result<void> set_items(std::size_t count);
  Result<void> set_marked_items();

  Result<void> put_memo(std::uint32_t index);
  Result<void> get_memo(std::uint32_t index);

  // Each of the following functions calls a function of pickle_calls.h with the last values on the stack.
  Result<void> reduce();
  Result<void> build();
  Result<void> replace_by_storage();

  // Returns the graph of all values. The graph's root is the only value that remains on the stack.
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
