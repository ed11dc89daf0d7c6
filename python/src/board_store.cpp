#include "python/src/board_store.h"

#include <algorithm>
#include <utility>

#include <nanobind/nanobind.h>
#include <nanobind/stl/chrono.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "agent/src/board/served_board.h"
#include "agent/src/session/telemetry/say.h"
#include "python/src/bindings.h"
#include "python/src/errors.h"

namespace nb = nanobind;
using namespace nanobind::literals;

namespace ratoon::python {
namespace {

using Timeout = std::optional<std::chrono::duration<double>>;

board::Client::Plan plan_of(const Session& session, std::shared_ptr<const std::atomic<bool>> is_given_up) {
  const Rendezvous rendezvous = session.rendezvous();
  return {.host = rendezvous.host,
          .port = rendezvous.port,
          .attempt = session.attempt(),
          .rank = session.rank(),
          .secret = rendezvous.secret,
          .is_given_up = std::move(is_given_up),
          .tell = [rank = session.rank()](const std::string& sentence) {
            session::say("rank " + std::to_string(rank) + " waits for torch.distributed: " + sentence);
          }};
}

std::string text_of(const nb::bytes& bytes) {
  return {bytes.c_str(), bytes.size()};
}

nb::bytes bytes_of(const std::string& text) {
  return nb::bytes(text.data(), text.size());
}

BoardStore::Words ask(BoardStore& store, board::Op op, BoardStore::Words words, const Timeout& timeout = {}) {
  const nb::gil_scoped_release released;
  return store.ask(op, std::move(words), timeout);
}

std::string one_word(BoardStore& store, board::Op op, BoardStore::Words words) {
  const auto answer = ask(store, op, std::move(words));
  return answer.empty() ? "" : answer.front();
}

std::vector<nb::bytes> get(BoardStore& store, BoardStore::Words keys, const Timeout& timeout) {
  std::vector<nb::bytes> values;
  for (const std::string& value : ask(store, board::Op::kGet, std::move(keys), timeout))
    values.push_back(bytes_of(value));
  return values;
}

}  // namespace

BoardStore::BoardStore(const Session& session) : client_(plan_of(session, is_given_up_)) {
  if (session.rank() != 0) return;
  const board::Client::Plan& plan = client_.plan();
  check(
      board::serve_board(plan.port, session.rendezvous().listening_fd,
                         {.attempt = plan.attempt, .world_size = session.world_size(), .secret = plan.secret},
                         [](const std::string& sentence) { session::say(sentence); }));
}

BoardStore::Words BoardStore::ask(board::Op op, Words words, Timeout timeout) {
  constexpr std::chrono::duration<double> kTimeoutMax = std::chrono::hours(24 * 365);
  const MutexLock lock(mutex_);
  const auto deadline = timeout ? std::chrono::steady_clock::now() +
                                      std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                          std::min(*timeout, kTimeoutMax))
                                : board::Client::kNoDeadline;
  return value_of(client_.send_request(op, std::move(words), deadline));
}

void bind_board_store(nb::module_& module) {
  using board::Op;
  nb::class_<BoardStore>(module, "BoardStore")
      .def("get", &get, "keys"_a, "timeout"_a = nb::none())
      .def(
          "set",
          [](BoardStore& store, const std::string& key, const nb::bytes& value) {
            static_cast<void>(ask(store, Op::kSet, {key, text_of(value)}));
          },
          "key"_a, "value"_a)
      .def(
          "append",
          [](BoardStore& store, const std::string& key, const nb::bytes& value) {
            static_cast<void>(ask(store, Op::kAppend, {key, text_of(value)}));
          },
          "key"_a, "value"_a)
      .def(
          "wait",
          [](BoardStore& store, BoardStore::Words keys, const Timeout& timeout) {
            static_cast<void>(ask(store, Op::kWait, std::move(keys), timeout));
          },
          "keys"_a, "timeout"_a = nb::none())
      .def(
          "add",
          [](BoardStore& store, const std::string& key, std::int64_t number) {
            return one_word(store, Op::kAdd, {key, std::to_string(number)});
          },
          "key"_a, "number"_a)
      .def(
          "check",
          [](BoardStore& store, BoardStore::Words keys) {
            return one_word(store, Op::kCheck, std::move(keys)) == "1";
          },
          "keys"_a)
      .def(
          "erase",
          [](BoardStore& store, const std::string& key) { return one_word(store, Op::kErase, {key}) == "1"; },
          "key"_a)
      .def("give_up", &BoardStore::give_up)
      .def("count", [](BoardStore& store) { return one_word(store, Op::kCount, {}); });
}

}  // namespace ratoon::python
