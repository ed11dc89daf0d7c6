// RoundRobinQueue: items that wait by owner, for example by namespace. The owners take turns, so an owner
// with many items delays the items of another owner by one turn at most. If the limit is exceeded, the owner
// with the most items loses its oldest item. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace ratoon::runtime {

template <class Item>
class RoundRobinQueue {
 public:
  explicit RoundRobinQueue(std::size_t items_max) : items_max_(items_max) {}

  // Adds the item at the end of its owner's queue. Returns the item that was dropped, or nothing.
  std::optional<Item> push(const std::string& owner, Item item) {
    std::optional<Item> lost;
    if (size_ >= items_max_) lost = take_from(longest());
    line_of(owner).push_back(std::move(item));
    ++size_;
    return lost;
  }
  // Adds the item in front of the other items of its owner, even beyond the limit.
  void push_front(const std::string& owner, Item item) {
    line_of(owner).push_front(std::move(item));
    ++size_;
  }
  // Takes the oldest item of the first owner for which `may_pass(owner)` is true, and moves this owner behind
  // the other owners. Returns nothing if no owner's item may be taken.
  template <class MayPass>
  [[nodiscard]] std::optional<Item> take(const MayPass& may_pass) {
    const auto owner = std::ranges::find_if(owner_order_, may_pass);
    if (owner == owner_order_.end()) return std::nullopt;
    return take_from(*owner);
  }
  [[nodiscard]] std::optional<Item> take() {
    return take([](const std::string&) { return true; });
  }

  [[nodiscard]] bool is_empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  std::deque<Item>& line_of(const std::string& owner) {
    const auto [line, is_new] = queues_.try_emplace(owner);
    if (is_new) owner_order_.push_back(owner);
    return line->second;
  }
  [[nodiscard]] std::string longest() const {
    return std::ranges::max_element(queues_, {}, [](const auto& line) { return line.second.size(); })->first;
  }
  Item take_from(const std::string& owner) {
    const auto line = queues_.find(owner);
    Item first = std::move(line->second.front());
    line->second.pop_front();
    --size_;
    const auto turn = std::ranges::find(owner_order_, line->first);
    std::string served = std::move(*turn);
    owner_order_.erase(turn);
    if (line->second.empty())
      queues_.erase(line);
    else
      owner_order_.push_back(std::move(served));
    return first;
  }

  const std::size_t items_max_;
  std::map<std::string, std::deque<Item>> queues_;  // by owner; none is empty
  std::deque<std::string> owner_order_;             // the owners in the order of their turns
  std::size_t size_ = 0;
};

}  // namespace ratoon::runtime
