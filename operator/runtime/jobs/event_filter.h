// EventFilter decides which event reports a message, so that each is reported in normal operation and no job
// can flood the API server:
// - the same sentence again within ten minutes of the last time is the same event, with a count;
// - of one reason ten different sentences get events of their own; all further ones go into one event with
//   the newest of them as its note, until there was none for ten minutes;
// - a job may write 25 times, and once more for every five minutes that pass. Beyond that each reason writes
//   once in five minutes: messages in between are in its count, and a storm of one reason hides no other.
// It has no clock. It forgets a job that has been quiet.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/core/clock.h"
#include "operator/kube/objects/event.h"

namespace ratoon::runtime {

// One event to be written.
struct EventWrite {
  std::string name;
  bool is_new = false;  // false: it exists already, unless it has expired
  std::string note;
  std::uint32_t count = 1;

  friend bool operator==(const EventWrite&, const EventWrite&) = default;
};

class EventFilter {
 public:
  static constexpr std::size_t kTextsMax = 10;
  static constexpr std::size_t kJobsMax = 4096;  // beyond that, the job that was quiet longest is forgotten
  static constexpr double kBurst = 25;
  static constexpr Duration kPause = std::chrono::minutes(5);
  static constexpr Duration kRemembered = std::chrono::minutes(10);

  // The event to write for this message. Nothing: the message is only counted, and reported with the next one
  // of its reason. `name` is for a new event.
  [[nodiscard]] std::optional<EventWrite> take(const std::string& job_uid, const kube::EventText& text,
                                               const std::string& name, Timestamp now);
  [[nodiscard]] std::size_t jobs() const { return jobs_.size(); }

 private:
  struct Series {
    std::string name;  // empty: not written yet
    std::uint32_t count = 0;
    bool has_untold = false;
    Timestamp last;
  };
  struct Group {  // of one reason
    std::map<std::string, Series> texts;
    std::optional<Series> rest;
    std::optional<Timestamp> written;
  };
  using Reason = std::pair<bool, std::string>;  // whether it is a warning, and the reason
  struct Job {
    double writes = kBurst;  // remaining writes
    Timestamp counted;       // when `writes` was counted
    Timestamp last;          // last message
    std::map<Reason, Group> groups;
  };

  static void refill(Job& job, Timestamp now);
  static void forget_old(Group& group, Timestamp now);
  static Series& series_of(Group& group, const std::string& text, bool may_write);
  void sweep(Timestamp now);

  std::map<std::string, Job> jobs_;  // by UID
  std::optional<Timestamp> swept_;
};

}  // namespace ratoon::runtime
