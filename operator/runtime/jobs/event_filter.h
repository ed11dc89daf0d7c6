// EventFilter: decides which event reports a message, so that each message is reported in normal operation
// and no job can flood the API server. A message that is repeated within ten minutes counts as the same
// event, and increases that event's count. Up to ten different messages of one reason (such as MemberLost)
// get separate events. Further messages of the same reason share one event, whose note is the newest message.
// A message that has not been repeated for ten minutes no longer counts among the ten. The shared event ends
// when it has had no message for ten minutes. A job may write 25 events at once, and one more every five
// minutes. A job that has used up its budget of events may write one event of each reason every five minutes,
// so that many messages of one reason do not hide another reason. A message for which no event may be written
// increases the count of an event of the same reason. The filter has no clock: callers pass the time. The
// filter forgets a job that had no messages for a while.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/core/clock.h"
#include "operator/kube/objects/event.h"

namespace ratoon::runtime {

// One Kubernetes event that must be written.
struct EventWrite {
  std::string name;
  bool is_new = false;  // false: it exists already, unless it has expired
  std::string note;
  std::uint32_t count = 1;

  friend bool operator==(const EventWrite&, const EventWrite&) = default;
};

class EventFilter {
 public:
  static constexpr std::size_t kMessagesPerReasonMax = 10;
  static constexpr std::size_t kJobsMax = 4096;  // beyond that, the job that was quiet longest is forgotten
  static constexpr double kWriteBurst = 25;
  static constexpr Duration kWriteInterval = std::chrono::minutes(5);
  static constexpr Duration kForgetAfter = std::chrono::minutes(10);

  // Returns the event to write for this message. Returns nothing if no event may be written now: the message
  // is counted, and a later event of the same reason reports the count. A new event gets the name `name`.
  [[nodiscard]] std::optional<EventWrite> event_to_write(const std::string& job_uid,
                                                         const kube::EventText& text, const std::string& name,
                                                         Timestamp now);
  [[nodiscard]] std::size_t jobs() const { return jobs_.size(); }

 private:
  struct Series {
    std::string name;  // empty: not written yet
    std::uint32_t count = 0;
    bool has_unreported = false;
    Timestamp last;
  };
  struct Group {  // of one reason
    std::map<std::string, Series> series_by_text;
    std::optional<Series> shared_series;
    std::optional<Timestamp> last_written_at;
  };
  using Reason = std::pair<bool, std::string>;  // whether it is a warning, and the reason
  struct Job {
    double writes = kWriteBurst;  // remaining writes
    Timestamp refilled_at;        // when `writes` was counted
    Timestamp last;               // last message
    std::map<Reason, Group> groups;
  };

  static void refill_write_budget(Job& job, Timestamp now);
  static void forget_old(Group& group, Timestamp now);
  static Series& event_series_of(Group& group, const std::string& text, bool may_write);
  void forget_old_jobs(Timestamp now);

  std::map<std::string, Job> jobs_;  // by UID
  std::optional<Timestamp> last_sweep_at_;
};

}  // namespace ratoon::runtime
