#include "agent/src/board/key_value_store.h"

#include <algorithm>
#include <utility>

namespace ratoon::board {
namespace {

constexpr std::size_t kCostOfOne = 128;  // the approximate memory of a map node, its strings and its readers

KeyValueStore::Answer done(KeyValueStore::Reader to, const Frame& request, std::vector<std::string> words) {
  return {to, make_frame(Status::kDone, request.attempt, std::move(words))};
}

KeyValueStore::Answer refuse(KeyValueStore::Reader to, const Frame& request, std::string why) {
  return {to, make_frame(Status::kRefused, request.attempt, {std::move(why)})};
}

std::size_t cost_of(const std::string& key, std::size_t value_size) {
  return kCostOfOne + key.size() + value_size;
}

std::size_t cost_of(const Frame& request) {
  return size_of(request) + request.words.size() * kCostOfOne;
}

bool has_right_words(const Frame& request) {
  switch (static_cast<Op>(request.kind)) {
    case Op::kSet:
    case Op::kAdd:
    case Op::kAppend:
      return request.words.size() == 2;
    case Op::kErase:
    case Op::kMark:
      return request.words.size() == 1;
    case Op::kCount:
      return request.words.empty();
    case Op::kGet:
    case Op::kWait:
    case Op::kCheck:
      return true;
    case Op::kHello:
    case Op::kProve:
      return false;  // handled by the handshake
  }
  return false;
}

}  // namespace

KeyValueStore::Answers KeyValueStore::begin(std::uint64_t attempt) {
  Answers answers;
  if (attempt <= attempt_) return answers;
  attempt_ = attempt;
  for (const auto& [reader, waiting] : waiting_) {
    const std::uint64_t before = waiting.request.attempt;
    answers.push_back({reader, make_frame(Status::kOver, before, {std::to_string(attempt_)})});
  }
  entries_.clear();
  readers_.clear();
  waiting_.clear();
  used_.clear();
  bytes_ = 0;
  return answers;
}

KeyValueStore::Answers KeyValueStore::take(Reader from, std::uint32_t rank, Frame request) {
  if (request.attempt < attempt_)
    return {{from, make_frame(Status::kOver, request.attempt, {std::to_string(attempt_)})}};
  if (request.attempt > attempt_) {
    return {refuse(from, request,
                   "the key-value store of rank 0 serves attempt " + std::to_string(attempt_) +
                       ", but the request is for attempt " + std::to_string(request.attempt))};
  }
  if (!has_right_words(request)) {
    return {refuse(from, request,
                   "request " + std::to_string(request.kind) + " with " +
                       std::to_string(request.words.size()) +
                       " arguments is not valid: run the same version of Ratoon on all ranks")};
  }
  switch (static_cast<Op>(request.kind)) {
    case Op::kGet:
    case Op::kWait:
      return wait(from, rank, std::move(request));
    case Op::kCheck: {
      const bool are_there =
          std::ranges::all_of(request.words, [&](const auto& key) { return entries_.contains(key); });
      return {done(from, request, {are_there ? "1" : "0"})};
    }
    case Op::kCount:
      return {done(from, request, {std::to_string(entries_.size())})};
    case Op::kSet:
    case Op::kAdd:
    case Op::kAppend:
    case Op::kErase:
    case Op::kMark:
    case Op::kHello:
    case Op::kProve:
      break;
  }
  return change({.from = from, .rank = rank, .request = request});
}

KeyValueStore::Answers KeyValueStore::change(const Asked& asked) {
  const auto& words = asked.request.words;
  const auto op = static_cast<Op>(asked.request.kind);
  if (op == Op::kMark) return put(asked, mark_key(asked.rank), words[0], {});
  if (auto obstacle = find_obstacle(asked, words[0]))
    return {refuse(asked.from, asked.request, *std::move(obstacle))};
  if (op == Op::kErase) return erase(asked);
  if (op == Op::kAdd) return add(asked);
  return put(asked, words[0], op == Op::kAppend ? value_of(words[0]) + words[1] : words[1], {});
}

std::optional<std::string> KeyValueStore::find_obstacle(const Asked& asked, const std::string& key) const {
  if (key.starts_with(kMarkPrefix)) return "'" + key + "' is a rank's mark: only the request kMark sets it";
  const auto found = entries_.find(key);
  if (found == entries_.end() || found->second.rank == asked.rank) return std::nullopt;
  if (found->second.is_counted && static_cast<Op>(asked.request.kind) == Op::kAdd) return std::nullopt;
  return "'" + key + "' was set by rank " + std::to_string(found->second.rank) + ", and rank " +
         std::to_string(asked.rank) + " may not change it";
}

KeyValueStore::Answers KeyValueStore::wait(Reader from, std::uint32_t rank, Frame request) {
  Waiting waiting{.request = std::move(request), .rank = rank};
  const Used needed{.bytes = cost_of(waiting.request)};
  if (!charge(rank, {}, needed))
    return {refuse(from, waiting.request, "the board is full: erase keys that are no longer needed")};
  if (auto answer = look(from, waiting)) {
    static_cast<void>(charge(rank, needed, {}));
    return {std::move(*answer)};
  }
  waiting_.emplace(from, std::move(waiting));
  return {};
}

void KeyValueStore::forget(Reader reader) {
  const auto found = waiting_.find(reader);
  if (found == waiting_.end()) return;
  const auto& [request, rank, next] = found->second;
  const auto those = readers_.find(request.words[next]);
  std::erase(those->second, reader);
  if (those->second.empty()) readers_.erase(those);
  static_cast<void>(charge(rank, {.bytes = cost_of(request)}, {}));
  waiting_.erase(found);
}

// Returns the answer if all keys of the request exist. If a key is missing, the reader waits for this key.
std::optional<KeyValueStore::Answer> KeyValueStore::look(Reader reader, Waiting& waiting) {
  const Frame& request = waiting.request;
  // Check again from the first key, because a key that existed before may have been erased.
  for (const std::size_t start : {waiting.next, std::size_t{0}}) {
    for (waiting.next = start; waiting.next < request.words.size(); ++waiting.next) {
      if (entries_.contains(request.words[waiting.next])) continue;
      readers_[request.words[waiting.next]].push_back(reader);
      return std::nullopt;
    }
  }
  std::vector<std::string> found;
  if (request.kind == static_cast<std::uint8_t>(Op::kGet)) {
    std::size_t size = 0;
    for (const std::string& key : request.words)
      size += sizeof(std::uint32_t) + entries_.find(key)->second.value.size();
    if (size > kFrameMax / 2) {
      return refuse(reader, request,
                    "the values have " + std::to_string(size) + " bytes together: request fewer keys");
    }
    for (const std::string& key : request.words) found.push_back(value_of(key));
  }
  return done(reader, request, std::move(found));
}

KeyValueStore::Answers KeyValueStore::put(const Asked& asked, const std::string& key, std::string value,
                                          std::vector<std::string> words) {
  const auto old = entries_.find(key);
  const bool is_new = old == entries_.end();
  const std::uint32_t rank = is_new ? asked.rank : old->second.rank;
  const Used freed = is_new ? Used() : Used{.bytes = cost_of(key, old->second.value.size()), .keys = 1};
  const Used needed{.bytes = cost_of(key, value.size()), .keys = 1};
  if (!charge(rank, freed, needed))
    return {refuse(asked.from, asked.request, "the board is full: erase keys that are no longer needed")};
  const bool is_counted = asked.request.kind == static_cast<std::uint8_t>(Op::kAdd);
  entries_.insert_or_assign(key,
                            StoredValue{.value = std::move(value), .rank = rank, .is_counted = is_counted});

  Answers answers{done(asked.from, asked.request, std::move(words))};
  const auto woken = readers_.extract(key);
  if (woken.empty()) return answers;
  for (const Reader reader : woken.mapped()) {
    const auto found = waiting_.find(reader);
    auto answer = look(reader, found->second);
    if (!answer) continue;
    answers.push_back(std::move(*answer));
    static_cast<void>(charge(found->second.rank, {.bytes = cost_of(found->second.request)}, {}));
    waiting_.erase(found);
  }
  return answers;
}

KeyValueStore::Answers KeyValueStore::add(const Asked& asked) {
  const auto& words = asked.request.words;
  const auto old = entries_.contains(words[0]) ? read_number<std::int64_t>(value_of(words[0])) : 0;
  const auto more = read_number<std::int64_t>(words[1]);
  std::int64_t sum = 0;
  if (!old || !more || __builtin_add_overflow(*old, *more, &sum)) {
    return {refuse(
        asked.from, asked.request,
        "adding to '" + words[0] + "': the value, the number and the sum must be whole numbers of 64 bits")};
  }
  return put(asked, words[0], std::to_string(sum), {std::to_string(sum)});
}

KeyValueStore::Answers KeyValueStore::erase(const Asked& asked) {
  const auto found = entries_.find(asked.request.words[0]);
  if (found == entries_.end()) return {done(asked.from, asked.request, {"0"})};
  const Used freed{.bytes = cost_of(found->first, found->second.value.size()), .keys = 1};
  static_cast<void>(charge(found->second.rank, freed, {}));
  entries_.erase(found);
  return {done(asked.from, asked.request, {"1"})};
}

std::string KeyValueStore::value_of(const std::string& key) const {
  const auto found = entries_.find(key);
  return found == entries_.end() ? std::string() : found->second.value;
}

bool KeyValueStore::charge(std::uint32_t rank, const Used& freed, const Used& needed) {
  Used& used = used_[rank];
  const Used after{.bytes = used.bytes - freed.bytes + needed.bytes,
                   .keys = used.keys - freed.keys + needed.keys};
  const std::size_t of_all = bytes_ - freed.bytes + needed.bytes;
  const bool is_more = needed.bytes > freed.bytes || needed.keys > freed.keys;
  if (is_more &&
      (after.bytes > limits_.bytes_of_rank || after.keys > limits_.keys_of_rank || of_all > limits_.bytes))
    return false;
  used = after;
  bytes_ = of_all;
  return true;
}

}  // namespace ratoon::board
