// The long polls of one job that wait for an answer, in the order in which their time runs out. Not
// thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <unordered_map>

#include "base/contract/messages.h"
#include "base/core/clock.h"
#include "base/http/server.h"
#include "operator/coordinator/place.h"

namespace ratoon::coordinator {

enum class AwaitedAnswer { kSeat, kNewOrders, kRecordOfDone };

struct ParkedPoll {
  ProcessIdentity process;
  AwaitedAnswer awaited;
  std::uint64_t seen_revision = 0;  // where new orders are awaited
  Timestamp answer_by;
  http::Responder responder;
};

class ParkedPolls {
 public:
  // No earlier one is answered later. A process that asks again does not listen to its first call any more,
  // even if that connection still looks open: that one is dropped.
  void park(ParkedPoll poll);
  // Shows each to `answer`, and drops those that it answered.
  void answer_all(const std::function<bool(ParkedPoll&)>& answer);
  // The same with those alone whose time is over.
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
      return PlaceHash()(place_of(key.process)) + static_cast<std::size_t>(key.awaited);
    }
  };

  static Key key_of(const ParkedPoll& poll);
  Polls::iterator drop(Polls::iterator poll);

  Polls polls_;
  std::unordered_map<Key, Polls::iterator, KeyHash> by_key_;
};

}  // namespace ratoon::coordinator
