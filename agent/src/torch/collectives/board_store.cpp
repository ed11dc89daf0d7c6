#include "agent/src/torch/collectives/board_store.h"

#include <algorithm>
#include <charconv>

#include <c10/util/Exception.h>

namespace ratoon {
namespace {

std::string to_text(const BoardStore::Bytes& bytes) {
  return {bytes.begin(), bytes.end()};
}

BoardStore::Bytes to_bytes(const std::string& text) {
  return {text.begin(), text.end()};
}

}  // namespace

c10::intrusive_ptr<c10d::Store> BoardStore::clone() {
  return c10::make_intrusive<BoardStore>(client_.plan(), timeout_);
}

void BoardStore::set(const std::string& key, const Bytes& value) {
  ask(board::Op::kSet, {key, to_text(value)}, timeout_);
}

BoardStore::Bytes BoardStore::get(const std::string& key) {
  return multiGet({key})[0];
}

std::int64_t BoardStore::add(const std::string& key, std::int64_t value) {
  return request_number(board::Op::kAdd, {key, std::to_string(value)});
}

bool BoardStore::deleteKey(const std::string& key) {
  return request_number(board::Op::kErase, {key}) != 0;
}

bool BoardStore::check(const Keys& keys) {
  return request_number(board::Op::kCheck, keys) != 0;
}

std::int64_t BoardStore::getNumKeys() {
  return request_number(board::Op::kCount, {});
}

void BoardStore::wait(const Keys& keys) {
  wait(keys, timeout_);
}

void BoardStore::wait(const Keys& keys, const Milliseconds& timeout) {
  ask(board::Op::kWait, keys, timeout);
}

void BoardStore::append(const std::string& key, const Bytes& value) {
  ask(board::Op::kAppend, {key, to_text(value)}, timeout_);
}

std::vector<BoardStore::Bytes> BoardStore::multiGet(const Keys& keys) {
  const Keys found = ask(board::Op::kGet, keys, timeout_);
  TORCH_CHECK_WITH(DistStoreError, found.size() == keys.size(),
                   "the key-value store of the ranks was asked for ", keys.size(),
                   " values and answered with ", found.size());
  std::vector<Bytes> values;
  for (const std::string& value : found) values.push_back(to_bytes(value));
  return values;
}

void BoardStore::multiSet(const Keys& keys, const std::vector<Bytes>& values) {
  TORCH_CHECK_WITH(DistStoreError, keys.size() == values.size(), keys.size(), " keys were passed with ",
                   values.size(), " values");
  for (std::size_t i = 0; i < keys.size(); ++i) set(keys[i], values[i]);
}

BoardStore::Keys BoardStore::ask(board::Op op, Keys words, const Milliseconds& timeout) {
  const MutexLock lock(mutex_);
  // kTimeoutMax limits the timeout, because the deadline of a longer timeout might overflow.
  constexpr Milliseconds kTimeoutMax = std::chrono::hours(24 * 365);
  const auto deadline = timeout == kNoTimeout
                            ? board::Client::kNoDeadline
                            : std::chrono::steady_clock::now() + std::min(timeout, kTimeoutMax);
  auto answer = client_.send_request(op, std::move(words), deadline);
  TORCH_CHECK_WITH(DistStoreError, answer.has_value(), answer.error().message());
  return std::move(*answer);
}

std::int64_t BoardStore::request_number(board::Op op, Keys words) {
  const Keys answer = ask(op, std::move(words), timeout_);
  std::int64_t number = 0;
  const std::string text = answer.empty() ? "" : answer[0];
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  TORCH_CHECK_WITH(DistStoreError, problem == std::errc() && end == text.data() + text.size(),
                   "the key-value store of the ranks must answer with a number, found '", text, "'");
  return number;
}

}  // namespace ratoon
