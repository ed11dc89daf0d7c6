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

enum class AwaitedAnswer { kAssignment, kNewOrders, kRecordedCompletion };

struct ParkedPoll {
  ProcessIdentity process;
  AwaitedAnswer awaited_answer;
  std::uint64_t seen_revision = 0;  // for kNewOrders
  Timestamp reply_deadline;
  http::Responder responder;
};

class ParkedPolls {
 public:
  // Parks a poll. A poll's deadline `reply_deadline` must not be before the deadline of a poll that was added
  // earlier. If a poll of the process already waits for the same kind of answer, drops that earlier poll.
  // After a new request, a process no longer reads the reply to its earlier request, even if the earlier
  // connection seems open.
  void park_poll(ParkedPoll poll);
  // Passes each poll to `answer`, and drops those for which `answer` returns true.
  void answer_all(const std::function<bool(ParkedPoll&)>& answer);
  // Passes to `answer` only polls with a reply_deadline that is not after `now`. Drops a poll if `answer`
  // returns true for it.
  void answer_due(Timestamp now, const std::function<bool(ParkedPoll&)>& answer);

  [[nodiscard]] std::size_t size() const { return polls_.size(); }

 private:
  using Polls = std::list<ParkedPoll>;
  struct Key {
    ProcessIdentity process;
    AwaitedAnswer awaited_answer;

    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const {
      return ProcessKeyHash()(process_key_of(key.process)) + static_cast<std::size_t>(key.awaited_answer);
    }
  };

  static Key key_of(const ParkedPoll& poll);
  Polls::iterator drop(Polls::iterator poll);

  Polls polls_;
  std::unordered_map<Key, Polls::iterator, KeyHash> by_key_;
};

}  // namespace ratoon::coordinator
