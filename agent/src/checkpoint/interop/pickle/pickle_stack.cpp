#include "agent/src/checkpoint/interop/pickle/pickle_stack.h"

#include "agent/src/checkpoint/interop/pickle/pickle_calls.h"

namespace ratoon::checkpoint {
namespace {

using Done = Result<void>;

Error too_few() {
  return broken_pickle("an instruction finds fewer values than it needs");
}

}  // namespace

Error broken_pickle(const std::string& what) {
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

Done PickleStack::push(PickleValue value) {
  stack_.push_back(static_cast<ValueId>(pickle_.values.size()));
  pickle_.values.push_back(std::move(value));
  return {};
}

Done PickleStack::mark() {
  marks_.push_back(stack_.size());
  return {};
}

Done PickleStack::make_tuple(std::size_t count) {
  if (height() < count) return too_few();
  ListValue tuple{.items{stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end()}, .is_tuple = true};
  stack_.resize(stack_.size() - count);
  return push(std::move(tuple));
}

Done PickleStack::make_marked_tuple() {
  const auto count = take_mark();
  return count ? make_tuple(*count) : Done(too_few());
}

Done PickleStack::append(std::size_t count) {
  if (height() < count + 1) return too_few();
  const auto begin = stack_.end() - static_cast<std::ptrdiff_t>(count);
  auto* list = std::get_if<ListValue>(&pickle_.values[*(begin - 1)]);
  if (list == nullptr || list->is_tuple)
    return broken_pickle("the pickle appends to a value that is not a list");
  list->items.insert(list->items.end(), begin, stack_.end());
  stack_.erase(begin, stack_.end());
  return {};
}

Done PickleStack::append_marked() {
  const auto count = take_mark();
  return count ? append(*count) : Done(too_few());
}

// The last `count` values on the stack are a key, its value, the next key, and so on.
Done PickleStack::set_items(std::size_t count) {
  if (height() < count + 1 || count % 2 != 0) return too_few();
  const auto begin = stack_.end() - static_cast<std::ptrdiff_t>(count);
  auto* dict = std::get_if<DictValue>(&pickle_.values[*(begin - 1)]);
  if (dict == nullptr) return broken_pickle("the pickle sets items of a value that is not a dictionary");
  for (auto item = begin; item != stack_.end(); item += 2) dict->items.emplace_back(*item, *(item + 1));
  stack_.erase(begin, stack_.end());
  return {};
}

Done PickleStack::set_marked_items() {
  const auto count = take_mark();
  return count ? set_items(*count) : Done(too_few());
}

Done PickleStack::put_memo(std::uint32_t index) {
  if (height() < 1) return too_few();
  memo_[index] = stack_.back();
  return {};
}

Done PickleStack::get_memo(std::uint32_t index) {
  const auto known = memo_.find(index);
  if (known == memo_.end()) return broken_pickle("the pickle reads a memo entry that it did not write");
  stack_.push_back(known->second);
  return {};
}

// Replaces the last `count` values on the stack by `made`, the value that was made of them.
Done PickleStack::replace(std::size_t count, Result<PickleValue> made) {
  if (!made) return made.error();
  stack_.resize(stack_.size() - count);
  return push(std::move(*made));
}

Done PickleStack::reduce() {
  if (height() < 2) return too_few();
  const ValueId callable = stack_[stack_.size() - 2];
  if (const auto tagged = find_typed_container(pickle_, callable, stack_.back())) {
    stack_.pop_back();
    stack_.back() = *tagged;
    return {};
  }
  return replace(2, call(pickle_, callable, stack_.back()));
}

Done PickleStack::replace_by_storage() {
  if (height() < 1) return too_few();
  return replace(1, find_storage(pickle_, stack_.back()));
}

Done PickleStack::build() {
  if (height() < 2) return too_few();
  auto done = set_attributes(pickle_, stack_[stack_.size() - 2], stack_.back());
  stack_.pop_back();
  return done;
}

Result<Pickle> PickleStack::finish() {
  if (stack_.size() != 1 || !marks_.empty())
    return broken_pickle("the pickle ends with more than one value, or with none");
  pickle_.root = stack_.back();
  return std::move(pickle_);
}

}  // namespace ratoon::checkpoint
