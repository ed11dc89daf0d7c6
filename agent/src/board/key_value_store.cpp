#include "agent/src/board/key_value_store.h"

#include <algorithm>
#include <utility>

namespace ratoon::board {
namespace {

// The approximate memory of a map node, its strings and its readers.
constexpr std::size_t kOverheadBytes = 128;

KeyValueStore::Answer make_done_answer(KeyValueStore::Reader to, const Frame& request,
                                       std::vector<std::string> words) {
  return {to, make_frame(Status::kDone, request.attempt, std::move(words))};
}

KeyValueStore::Answer make_refusal(KeyValueStore::Reader to, const Frame& request, std::string why) {
  return {to, make_frame(Status::kRefused, request.attempt, {std::move(why)})};
}

std::size_t memory_bytes_of(const std::string& key, std::size_t value_size) {
  return kOverheadBytes + key.size() + value_size;
}

std::size_t memory_bytes_of(const Frame& request) {
  return encoded_size(request) + request.words.size() * kOverheadBytes;
}

bool has_valid_arguments(const Frame& request) {
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

KeyValueStore::Answers KeyValueStore::begin_attempt(std::uint64_t attempt) {
  Answers answers;
  if (attempt <= attempt_) return answers;
  attempt_ = attempt;
  for (const auto& [reader, waiting] : waiting_requests_) {
    const std::uint64_t before = waiting.request.attempt;
    answers.push_back({reader, make_frame(Status::kOver, before, {std::to_string(attempt_)})});
  }
  entries_.clear();
  readers_by_key_.clear();
  waiting_requests_.clear();
  usage_by_rank_.clear();
  used_bytes_ = 0;
  return answers;
}

KeyValueStore::Answers KeyValueStore::handle_request(Reader from, std::uint32_t rank, Frame request) {
  if (request.attempt < attempt_)
    return {{from, make_frame(Status::kOver, request.attempt, {std::to_string(attempt_)})}};
  if (request.attempt > attempt_) {
    return {make_refusal(from, request,
                         "the key-value store of rank 0 serves attempt " + std::to_string(attempt_) +
                             ", but the request is for attempt " + std::to_string(request.attempt))};
  }
  if (!has_valid_arguments(request)) {
    return {make_refusal(from, request,
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
      return {make_done_answer(from, request, {are_there ? "1" : "0"})};
    }
    case Op::kCount:
      return {make_done_answer(from, request, {std::to_string(entries_.size())})};
    case Op::kSet:
    case Op::kAdd:
    case Op::kAppend:
    case Op::kErase:
    case Op::kMark:
    case Op::kHello:
    case Op::kProve:
      break;
  }
  return handle_write({.from = from, .rank = rank, .request = request});
}

KeyValueStore::Answers KeyValueStore::handle_write(const RankRequest& rank_request) {
  const auto& words = rank_request.request.words;
  const auto op = static_cast<Op>(rank_request.request.kind);
  if (op == Op::kMark) return put(rank_request, rank_mark_key(rank_request.rank), words[0], {});
  if (auto obstacle = find_write_obstacle(rank_request, words[0]))
    return {make_refusal(rank_request.from, rank_request.request, *std::move(obstacle))};
  if (op == Op::kErase) return erase(rank_request);
  if (op == Op::kAdd) return add(rank_request);
  return put(rank_request, words[0], op == Op::kAppend ? value_of(words[0]) + words[1] : words[1], {});
}

std::optional<std::string> KeyValueStore::find_write_obstacle(const RankRequest& rank_request,
                                                              const std::string& key) const {
  if (key.starts_with(kRankMarkPrefix))
    return "'" + key + "' is a rank's mark: only the request kMark sets it";
  const auto found = entries_.find(key);
  if (found == entries_.end() || found->second.rank == rank_request.rank) return std::nullopt;
  if (found->second.is_counter && static_cast<Op>(rank_request.request.kind) == Op::kAdd) return std::nullopt;
  return "'" + key + "' was set by rank " + std::to_string(found->second.rank) + ", and rank " +
         std::to_string(rank_request.rank) + " may not change it";
}

KeyValueStore::Answers KeyValueStore::wait(Reader from, std::uint32_t rank, Frame request) {
  WaitingRequest waiting{.request = std::move(request), .rank = rank};
  const Usage needed{.bytes = memory_bytes_of(waiting.request)};
  if (!update_usage(rank, {}, needed))
    return {make_refusal(from, waiting.request, "the store is full: erase keys that are no longer needed")};
  if (auto answer = try_to_answer(from, waiting)) {
    static_cast<void>(update_usage(rank, needed, {}));
    return {std::move(*answer)};
  }
  waiting_requests_.emplace(from, std::move(waiting));
  return {};
}

void KeyValueStore::cancel_wait(Reader reader) {
  const auto found = waiting_requests_.find(reader);
  if (found == waiting_requests_.end()) return;
  const auto& [request, rank, next] = found->second;
  const auto those = readers_by_key_.find(request.words[next]);
  std::erase(those->second, reader);
  if (those->second.empty()) readers_by_key_.erase(those);
  static_cast<void>(update_usage(rank, {.bytes = memory_bytes_of(request)}, {}));
  waiting_requests_.erase(found);
}

// Returns the answer if all keys of the request exist. If a key is missing, the reader waits for this key.
std::optional<KeyValueStore::Answer> KeyValueStore::try_to_answer(Reader reader, WaitingRequest& waiting) {
  const Frame& request = waiting.request;
  // Check again from the first key, because a key that existed before may have been erased.
  for (const std::size_t start : {waiting.next, std::size_t{0}}) {
    for (waiting.next = start; waiting.next < request.words.size(); ++waiting.next) {
      if (entries_.contains(request.words[waiting.next])) continue;
      readers_by_key_[request.words[waiting.next]].push_back(reader);
      return std::nullopt;
    }
  }
  std::vector<std::string> found;
  if (request.kind == static_cast<std::uint8_t>(Op::kGet)) {
    std::size_t size = 0;
    for (const std::string& key : request.words)
      size += sizeof(std::uint32_t) + entries_.find(key)->second.value.size();
    if (size > kFrameBytesMax / 2) {
      return make_refusal(reader, request,
                          "the values have " + std::to_string(size) + " bytes together: request fewer keys");
    }
    for (const std::string& key : request.words) found.push_back(value_of(key));
  }
  return make_done_answer(reader, request, std::move(found));
}

KeyValueStore::Answers KeyValueStore::put(const RankRequest& rank_request, const std::string& key,
                                          std::string value, std::vector<std::string> words) {
  const auto old = entries_.find(key);
  const bool is_new = old == entries_.end();
  const std::uint32_t rank = is_new ? rank_request.rank : old->second.rank;
  const Usage freed =
      is_new ? Usage() : Usage{.bytes = memory_bytes_of(key, old->second.value.size()), .keys = 1};
  const Usage needed{.bytes = memory_bytes_of(key, value.size()), .keys = 1};
  if (!update_usage(rank, freed, needed))
    return {make_refusal(rank_request.from, rank_request.request,
                         "the store is full: erase keys that are no longer needed")};
  const bool is_counter = rank_request.request.kind == static_cast<std::uint8_t>(Op::kAdd);
  entries_.insert_or_assign(key,
                            StoredValue{.value = std::move(value), .rank = rank, .is_counter = is_counter});

  Answers answers{make_done_answer(rank_request.from, rank_request.request, std::move(words))};
  const auto woken = readers_by_key_.extract(key);
  if (woken.empty()) return answers;
  for (const Reader reader : woken.mapped()) {
    const auto found = waiting_requests_.find(reader);
    auto answer = try_to_answer(reader, found->second);
    if (!answer) continue;
    answers.push_back(std::move(*answer));
    static_cast<void>(
        update_usage(found->second.rank, {.bytes = memory_bytes_of(found->second.request)}, {}));
    waiting_requests_.erase(found);
  }
  return answers;
}

KeyValueStore::Answers KeyValueStore::add(const RankRequest& rank_request) {
  const auto& words = rank_request.request.words;
  const auto old = entries_.contains(words[0]) ? parse_number<std::int64_t>(value_of(words[0])) : 0;
  const auto more = parse_number<std::int64_t>(words[1]);
  std::int64_t sum = 0;
  if (!old || !more || __builtin_add_overflow(*old, *more, &sum)) {
    return {make_refusal(
        rank_request.from, rank_request.request,
        "adding to '" + words[0] + "': the old value, the number and the sum must be 64-bit integers")};
  }
  return put(rank_request, words[0], std::to_string(sum), {std::to_string(sum)});
}

KeyValueStore::Answers KeyValueStore::erase(const RankRequest& rank_request) {
  const auto found = entries_.find(rank_request.request.words[0]);
  if (found == entries_.end()) return {make_done_answer(rank_request.from, rank_request.request, {"0"})};
  const Usage freed{.bytes = memory_bytes_of(found->first, found->second.value.size()), .keys = 1};
  static_cast<void>(update_usage(found->second.rank, freed, {}));
  entries_.erase(found);
  return {make_done_answer(rank_request.from, rank_request.request, {"1"})};
}

std::string KeyValueStore::value_of(const std::string& key) const {
  const auto found = entries_.find(key);
  return found == entries_.end() ? std::string() : found->second.value;
}

bool KeyValueStore::update_usage(std::uint32_t rank, const Usage& freed, const Usage& needed) {
  Usage& used = usage_by_rank_[rank];
  const Usage after{.bytes = used.bytes - freed.bytes + needed.bytes,
                    .keys = used.keys - freed.keys + needed.keys};
  const std::size_t of_all = used_bytes_ - freed.bytes + needed.bytes;
  const bool is_more = needed.bytes > freed.bytes || needed.keys > freed.keys;
  if (is_more &&
      (after.bytes > limits_.bytes_per_rank || after.keys > limits_.keys_per_rank || of_all > limits_.bytes))
    return false;
  used = after;
  used_bytes_ = of_all;
  return true;
}

}  // namespace ratoon::board
