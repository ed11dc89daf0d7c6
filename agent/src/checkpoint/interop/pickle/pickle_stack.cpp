#include "agent/src/checkpoint/interop/pickle/pickle_stack.h"

#include "agent/src/checkpoint/interop/pickle/pickle_calls.h"

namespace ratoon::checkpoint {
namespace {

using VoidResult = Result<void>;

Error too_few_values_error() {
  return broken_pickle_error("an instruction finds fewer values than it needs");
}

}  // namespace

Error broken_pickle_error(const std::string& what) {
  return Error(ErrorKind::kCorrupted, what + "; get the file again");
}

// Returns the number of values on the stack above the last mark. No instruction may remove stack entries that
// are below the last mark.
std::size_t PickleStack::height() const {
  return stack_.size() - (marks_.empty() ? 0 : marks_.back());
}

std::optional<std::size_t> PickleStack::take_mark() {
  if (marks_.empty()) return std::nullopt;
  const std::size_t count = height();
  marks_.pop_back();
  return count;
}

VoidResult PickleStack::push(PickleValue value) {
  stack_.push_back(static_cast<ValueId>(pickle_.values.size()));
  pickle_.values.push_back(std::move(value));
  return {};
}

VoidResult PickleStack::mark() {
  marks_.push_back(stack_.size());
  return {};
}

VoidResult PickleStack::make_tuple(std::size_t count) {
  if (height() < count) return too_few_values_error();
  ListValue tuple{.items{stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end()}, .is_tuple = true};
  stack_.resize(stack_.size() - count);
  return push(std::move(tuple));
}

VoidResult PickleStack::make_marked_tuple() {
  const auto count = take_mark();
  return count ? make_tuple(*count) : VoidResult(too_few_values_error());
}

VoidResult PickleStack::append(std::size_t count) {
  if (height() < count + 1) return too_few_values_error();
  const auto begin = stack_.end() - static_cast<std::ptrdiff_t>(count);
  auto* list = std::get_if<ListValue>(&pickle_.values[*(begin - 1)]);
  if (list == nullptr || list->is_tuple)
    return broken_pickle_error("the pickle appends to a value that is not a list");
  list->items.insert(list->items.end(), begin, stack_.end());
  stack_.erase(begin, stack_.end());
  return {};
}

VoidResult PickleStack::append_marked() {
  const auto count = take_mark();
  return count ? append(*count) : VoidResult(too_few_values_error());
}

// The last `count` values on the stack are a key, its value, the next key, and so on.
VoidResult PickleStack::set_items(std::size_t count) {
  if (height() < count + 1 || count % 2 != 0) return too_few_values_error();
  const auto begin = stack_.end() - static_cast<std::ptrdiff_t>(count);
  auto* dict = std::get_if<DictValue>(&pickle_.values[*(begin - 1)]);
  if (dict == nullptr)
    return broken_pickle_error("the pickle sets items of a value that is not a dictionary");
  for (auto item = begin; item != stack_.end(); item += 2) dict->items.emplace_back(*item, *(item + 1));
  stack_.erase(begin, stack_.end());
  return {};
}

VoidResult PickleStack::set_marked_items() {
  const auto count = take_mark();
  return count ? set_items(*count) : VoidResult(too_few_values_error());
}

VoidResult PickleStack::put_memo(std::uint32_t index) {
  if (height() < 1) return too_few_values_error();
  memo_[index] = stack_.back();
  return {};
}

VoidResult PickleStack::get_memo(std::uint32_t index) {
  const auto known = memo_.find(index);
  if (known == memo_.end()) return broken_pickle_error("the pickle reads a memo entry that it did not write");
  stack_.push_back(known->second);
  return {};
}

// Replaces the last `count` values on the stack by `made`, the value that was made of them.
VoidResult PickleStack::replace(std::size_t count, Result<PickleValue> made) {
  if (!made) return made.error();
  stack_.resize(stack_.size() - count);
  return push(std::move(*made));
}

VoidResult PickleStack::reduce() {
  if (height() < 2) return too_few_values_error();
  const ValueId callable = stack_[stack_.size() - 2];
  if (const auto tagged = find_typed_container(pickle_, callable, stack_.back())) {
    stack_.pop_back();
    stack_.back() = *tagged;
    return {};
  }
  return replace(2, call(pickle_, callable, stack_.back()));
}

VoidResult PickleStack::replace_by_storage() {
  if (height() < 1) return too_few_values_error();
  return replace(1, find_storage(pickle_, stack_.back()));
}

VoidResult PickleStack::build() {
  if (height() < 2) return too_few_values_error();
  auto done = set_attributes(pickle_, stack_[stack_.size() - 2], stack_.back());
  stack_.pop_back();
  return done;
}

Result<Pickle> PickleStack::finish() {
  if (stack_.size() != 1 || !marks_.empty())
    return broken_pickle_error("the pickle ends with more than one value, or with none");
  pickle_.root = stack_.back();
  return std::move(pickle_);
}

}  // namespace ratoon::checkpoint
