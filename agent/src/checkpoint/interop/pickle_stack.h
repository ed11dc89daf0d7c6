// The stack on which a pickle's instructions lay out values, with its marks and its memory. Values are never
// removed from the graph, and so their numbers stay good.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/checkpoint/interop/pickle_values.h"

namespace ratoon::checkpoint {

[[nodiscard]] Error broken_pickle(const std::string& what);

class PickleStack {
 public:
  // Of everything that is kept, for a bound.
  [[nodiscard]] std::size_t size() const { return pickle_.values.size() + stack_.size() + marks_.size(); }

  Result<void> push(PickleValue value);
  Result<void> mark();
  // Of the last so many values, or of those since the last mark, which is taken away.
  Result<void> make_tuple(std::size_t count);
  Result<void> make_marked_tuple();
  Result<void> append(std::size_t count);
  Result<void> append_marked();
  Result<void> set_items(std::size_t count);
  Result<void> set_marked_items();

  Result<void> remember(std::uint32_t index);
  Result<void> recall(std::uint32_t index);

  // What pickle_calls.h says, of the last values.
  Result<void> reduce();
  Result<void> build();
  Result<void> replace_by_storage();

  // The graph, whose root is the one value that is left.
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
