#include "agent/src/board/notes.h"

#include <algorithm>
#include <charconv>

namespace ratoon::board {
namespace {

constexpr std::size_t kCostOfOne = 128;   // of a node, its strings and its place among the readers
constexpr std::size_t kAttemptsMax = 16;  // the current one and those to come

Notes::Answer done(Notes::Reader to, const Frame& request, std::vector<std::string> words) {
  return {to, make_frame(Status::kDone, request.attempt, std::move(words))};
}

Notes::Answer refuse(Notes::Reader to, const Frame& request, std::string why) {
  return {to, make_frame(Status::kRefused, request.attempt, {std::move(why)})};
}

std::size_t cost_of(const std::string& key, std::size_t value_size) {
  return kCostOfOne + key.size() + value_size;
}

std::size_t cost_of(const Frame& request) {
  return size_of(request) + request.words.size() * kCostOfOne;
}

std::optional<std::int64_t> read_number(const std::string& text) {
  std::int64_t number = 0;
  const auto* const end = text.data() + text.size();
  const auto [at, problem] = std::from_chars(text.data(), end, number);
  return at == end && problem == std::errc() ? std::optional(number) : std::nullopt;
}

bool has_right_words(const Frame& request) {
  switch (static_cast<Op>(request.kind)) {
    case Op::kSet:
    case Op::kAdd:
    case Op::kAppend:
      return request.words.size() == 2;
    case Op::kErase:
      return request.words.size() == 1;
    case Op::kCount:
      return request.words.empty();
    case Op::kGet:
    case Op::kWait:
    case Op::kCheck:
      return true;
  }
  return false;
}

}  // namespace

Notes::Answers Notes::begin(std::uint64_t attempt) {
  attempt_ = std::max(attempt_, attempt);
  for (auto it = attempts_.begin(); it != attempts_.end() && it->first < attempt_; it = attempts_.erase(it)) {
    for (const auto& [key, value] : it->second.values) bytes_ -= cost_of(key, value.size());
  }
  Answers answers;
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    const Frame& request = it->second.request;
    if (request.attempt >= attempt_) {
      ++it;
      continue;
    }
    answers.push_back({it->first, make_frame(Status::kOver, request.attempt, {std::to_string(attempt_)})});
    bytes_ -= cost_of(request);
    it = waiting_.erase(it);
  }
  return answers;
}

Notes::Answers Notes::take(Reader from, Frame request) {
  if (request.attempt < attempt_) {
    return {{from, make_frame(Status::kOver, request.attempt, {std::to_string(attempt_)})}};
  }
  if (!has_right_words(request)) {
    return {refuse(from, request,
                   "op " + std::to_string(request.kind) + " with " + std::to_string(request.words.size()) +
                       " words: is it of another version of Ratoon?")};
  }
  if (!attempts_.contains(request.attempt) && request.attempt != attempt_ && attempts_.size() >= kAttemptsMax)
    return {refuse(from, request, "the board has too many attempts that are still to begin")};
  const auto& words = request.words;
  auto& values = attempts_[request.attempt].values;
  switch (static_cast<Op>(request.kind)) {
    case Op::kSet:
      return put(from, request, words[1], {});
    case Op::kAppend: {
      const auto found = values.find(words[0]);
      return put(from, request, found == values.end() ? words[1] : found->second + words[1], {});
    }
    case Op::kAdd:
      return add(from, request);
    case Op::kCheck: {
      const bool are_there =
          std::ranges::all_of(words, [&](const auto& key) { return values.contains(key); });
      return {done(from, request, {are_there ? "1" : "0"})};
    }
    case Op::kErase: {
      const auto found = values.find(words[0]);
      if (found == values.end()) return {done(from, request, {"0"})};
      bytes_ -= cost_of(found->first, found->second.size());
      values.erase(found);
      return {done(from, request, {"1"})};
    }
    case Op::kCount:
      return {done(from, request, {std::to_string(values.size())})};
    case Op::kGet:
    case Op::kWait:
      break;
  }
  if (!has_room(cost_of(request))) return {refuse(from, request, "the board is full")};
  Waiting waiting{.request = std::move(request)};
  if (auto answer = look(from, waiting)) return {std::move(*answer)};
  bytes_ += cost_of(waiting.request);
  waiting_.emplace(from, std::move(waiting));
  return {};
}

void Notes::forget(Reader reader) {
  const auto found = waiting_.find(reader);
  if (found == waiting_.end()) return;
  const auto& [request, next] = found->second;
  auto& readers = attempts_[request.attempt].readers;
  const auto those = readers.find(request.words[next]);
  std::erase(those->second, reader);
  if (those->second.empty()) readers.erase(those);
  bytes_ -= cost_of(request);
  waiting_.erase(found);
}

// The answer, or its place among the readers of the next key that is missing.
std::optional<Notes::Answer> Notes::look(Reader reader, Waiting& waiting) {
  const Frame& request = waiting.request;
  auto& [values, readers] = attempts_[request.attempt];
  // Once more from the start, as a key may be gone again, when all seem to be there.
  for (const std::size_t start : {waiting.next, std::size_t{0}}) {
    for (waiting.next = start; waiting.next < request.words.size(); ++waiting.next) {
      if (values.contains(request.words[waiting.next])) continue;
      readers[request.words[waiting.next]].push_back(reader);
      return std::nullopt;
    }
  }
  std::vector<std::string> found;
  if (request.kind == static_cast<std::uint8_t>(Op::kGet)) {
    std::size_t size = 0;
    for (const std::string& key : request.words) size += sizeof(std::uint32_t) + values[key].size();
    if (size > kFrameMax / 2) {
      return refuse(reader, request,
                    "the values have " + std::to_string(size) + " bytes together: ask for fewer");
    }
    for (const std::string& key : request.words) found.push_back(values[key]);
  }
  return done(reader, request, std::move(found));
}

Notes::Answers Notes::put(Reader from, const Frame& request, std::string value,
                          std::vector<std::string> words) {
  auto& [values, readers] = attempts_[request.attempt];
  const std::string& key = request.words[0];
  const auto old = values.find(key);
  const std::size_t freed = old == values.end() ? 0 : cost_of(key, old->second.size());
  const std::size_t needed = cost_of(key, value.size());
  if (needed > freed && !has_room(needed - freed)) return {refuse(from, request, "the board is full")};
  bytes_ = bytes_ - freed + needed;
  values.insert_or_assign(key, std::move(value));

  Answers answers{done(from, request, std::move(words))};
  const auto woken = readers.extract(key);
  if (woken.empty()) return answers;
  for (const Reader reader : woken.mapped()) {
    const auto found = waiting_.find(reader);
    auto answer = look(reader, found->second);
    if (!answer) continue;
    answers.push_back(std::move(*answer));
    bytes_ -= cost_of(found->second.request);
    waiting_.erase(found);
  }
  return answers;
}

Notes::Answers Notes::add(Reader from, const Frame& request) {
  const auto& values = attempts_[request.attempt].values;
  const auto found = values.find(request.words[0]);
  const auto old = found == values.end() ? std::optional<std::int64_t>(0) : read_number(found->second);
  const auto more = read_number(request.words[1]);
  std::int64_t sum = 0;
  if (!old || !more || __builtin_add_overflow(*old, *more, &sum)) {
    return {refuse(from, request, "adding to '" + request.words[0] + "': no whole number of 64 bits")};
  }
  return put(from, request, std::to_string(sum), {std::to_string(sum)});
}

}  // namespace ratoon::board
