// The long polls of one job that wait for an answer, ordered by their deadline. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <unordered_map>

#include "base/contract/messages.h"
#include "base/core/clock.h"
#include "base/http/server.h"
#include "operator/coordinator/process_key.h"

namespace ratoon::coordinator {

enum class AwaitedAnswer { kSeat, kNewOrders, kRecordedCompletion };

struct ParkedPoll {
  ProcessIdentity process;
  AwaitedAnswer awaited;
  std::uint64_t seen_revision = 0;  // for kNewOrders
  Timestamp answer_by;
  http::Responder responder;
};

class ParkedPolls {
 public:
  // `answer_by` is not before that of any poll that was parked earlier. A process that asks again no longer
  // reads the answer of its first call, even if that connection still looks open, so the first poll is
  // dropped.
  void park(ParkedPoll poll);
  // Passes each poll to `answer`, and drops the polls that were answered.
  void answer_all(const std::function<bool(ParkedPoll&)>& answer);
  // Passes only the polls whose deadline has passed to `answer`, and drops those that were answered.
  void answer_due(Timestamp now, const std::function<bool(ParkedPoll&)>& answer);

  [[nodiscard]] std::size_t size() const { return polls_.size(); }

 private:
  using Polls = std::list<ParkedPoll>;
  struct Key {
    ProcessIdentity process;
    AwaitedAnswer awaited;

    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const {
      return ProcessKeyHash()(process_key_of(key.process)) + static_cast<std::size_t>(key.awaited);
    }
  };

  static Key key_of(const ParkedPoll& poll);
  Polls::iterator drop(Polls::iterator poll);

  Polls polls_;
  std::unordered_map<Key, Polls::iterator, KeyHash> by_key_;
};

}  // namespace ratoon::coordinator
