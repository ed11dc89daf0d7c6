// UnreadableMessages counts messages between agent and coordinator that their receiver could not read.
// An unreadable message is no permanent error, because a program of another version may soon answer at
// the same address. Of several unreadable messages in a row on the same HTTP route, only the first is
// logged.
//
// Thread contract: every method may be called from any number of threads at once.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>

#include <ratoon/result.h>

#include "base/contract/codec.h"
#include "base/core/clock.h"
#include "base/core/log.h"
#include "base/core/threads/mutex.h"

namespace ratoon::session {

class UnreadableMessages {
 public:
  explicit UnreadableMessages(const Clock& clock) : clock_(clock) {}

  template <class Answer>
  [[nodiscard]] Result<Answer> read(std::string_view route, std::string_view text) {
    auto answer = decode<Answer>(text);
    if (!answer)
      return log_once(route, "the answer of the coordinator cannot be read; the call is repeated",
                      answer.error().message());
    const MutexLock lock(mutex_);
    if (const auto said = logged_routes_.find(route); said != logged_routes_.end())
      logged_routes_.erase(said);
    return answer;
  }
  [[nodiscard]] Error refused(std::string_view route, const std::string& why) {
    return log_once(route, "the coordinator cannot read a message of this process; the message is sent again",
                    why);
  }

 private:
  Error log_once(std::string_view route, const std::string& what, const std::string& why) {
    const MutexLock lock(mutex_);
    if (logged_routes_.emplace(route).second) {
      const Logger logger(clock_, {.format = LogFormat::kText});
      logger.warning(what, {{"route", std::string(route)}, {"why", why}});
    }
    return {ErrorKind::kUnavailable, why};
  }

  const Clock& clock_;
  Mutex mutex_;
  std::set<std::string, std::less<>> logged_routes_ RATOON_GUARDED_BY(mutex_);
};

}  // namespace ratoon::session
