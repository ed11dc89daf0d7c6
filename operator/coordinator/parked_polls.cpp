#include "operator/coordinator/parked_polls.h"

#include <utility>

namespace ratoon::coordinator {

ParkedPolls::Key ParkedPolls::key_of(const ParkedPoll& poll) {
  return {.process = poll.process, .awaited_answer = poll.awaited_answer};
}

void ParkedPolls::park_poll(ParkedPoll poll) {
  const Key key = key_of(poll);
  if (const auto known = by_key_.find(key); known != by_key_.end()) drop(known->second);
  by_key_[key] = polls_.insert(polls_.end(), std::move(poll));
}

void ParkedPolls::answer_all(const std::function<bool(ParkedPoll&)>& answer) {
  for (auto poll = polls_.begin(); poll != polls_.end();) poll = answer(*poll) ? drop(poll) : std::next(poll);
}

void ParkedPolls::answer_due(Timestamp now, const std::function<bool(ParkedPoll&)>& answer) {
  for (auto poll = polls_.begin(); poll != polls_.end() && poll->reply_deadline <= now;)
    poll = answer(*poll) ? drop(poll) : std::next(poll);
}

ParkedPolls::Polls::iterator ParkedPolls::drop(Polls::iterator poll) {
  by_key_.erase(key_of(*poll));
  return polls_.erase(poll);
}

}  // namespace ratoon::coordinator
