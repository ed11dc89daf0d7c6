#include "operator/core/observation_index.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <tuple>
#include <utility>

namespace ratoon::core {
namespace {

using SortedIndexes = std::vector<std::uint32_t>;
// The member's index is the first sort key. Nearly all members differ in their index, so a comparison rarely
// reaches the role's name.
using MemberKey = std::tuple<std::uint32_t, std::uint32_t, std::string_view>;

// Returns the sort key of a member, a pod or the identity of a process.
template <class Item>
MemberKey member_key(const Item& item) {
  return {item.index, item.incarnation, item.role};
}
MemberKey member_key(const api::ProcessFacts& process) {
  return member_key(process.identity);
}
MemberKey member_key(const api::AssignedProcess& seat) {
  return member_key(seat.process);
}

template <class Item>
SortedIndexes sorted_indexes_of(const std::vector<Item>& items) {
  SortedIndexes order(items.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, {}, [&](std::uint32_t at) { return member_key(items[at]); });
  return order;
}

template <class Item>
std::vector<const Item*> find_items_of_member(const std::vector<Item>& items, const SortedIndexes& order,
                                              const MemberKey& key) {
  std::vector<const Item*> found;
  if (order.size() != items.size()) {
    for (const auto& item : items)
      if (member_key(item) == key) found.push_back(&item);
    return found;
  }
  for (const auto at :
       std::ranges::equal_range(order, key, {}, [&](std::uint32_t each) { return member_key(items[each]); }))
    found.push_back(&items[at]);
  return found;
}

}  // namespace

Observation with_index(Observation seen) {
  seen.index = {.processes = sorted_indexes_of(seen.processes),
                .seats = sorted_indexes_of(seen.world),
                .pods = sorted_indexes_of(seen.pods)};
  return seen;
}

std::vector<const api::ProcessFacts*> processes_of(const Observation& seen, const api::MemberStatus& member) {
  return find_items_of_member(seen.processes, seen.index.processes, member_key(member));
}

const api::ProcessFacts* find_process(const Observation& seen, const ProcessIdentity& identity) {
  for (const auto* process : find_items_of_member(seen.processes, seen.index.processes, member_key(identity)))
    if (process->identity == identity) return process;
  return nullptr;
}

std::vector<const api::AssignedProcess*> assigned_processes_of(const Observation& seen,
                                                               const api::MemberStatus& member) {
  return find_items_of_member(seen.world, seen.index.seats, member_key(member));
}

const api::AssignedProcess* find_assigned_process(const Observation& seen, const ProcessIdentity& identity) {
  for (const auto* seat : find_items_of_member(seen.world, seen.index.seats, member_key(identity)))
    if (seat->process == identity) return seat;
  return nullptr;
}

std::vector<const api::Pod*> pods_of(const Observation& seen, const api::MemberStatus& member) {
  return find_items_of_member(seen.pods, seen.index.pods, member_key(member));
}

}  // namespace ratoon::core
