// EventFilter decides which event a piece of news is told in, so that each is told in normal life and no job
// can flood the API server:
// - the same sentence again within ten minutes of the last time is the same event, with a count;
// - of one reason ten different sentences are told one by one; what comes beside them goes into one event
//   with the newest of them as its note, until there was none for ten minutes;
// - a job may write 25 times, and once more for every five minutes that pass. Beyond that each reason writes
//   once in five minutes: what came meanwhile is in its count, and no storm of one reason hides another.
// It knows no clock. What it remembers of a job goes when the job has been quiet.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/core/clock.h"
#include "operator/kube/event.h"

namespace ratoon::runtime {

// One event to be written.
struct EventOrder {
  std::string name;
  bool is_new = false;  // false: it is there already, if it has not expired
  std::string note;
  std::uint32_t count = 1;

  friend bool operator==(const EventOrder&, const EventOrder&) = default;
};

class EventFilter {
 public:
  static constexpr std::size_t kTextsMax = 10;
  static constexpr std::size_t kJobsMax = 4096;  // beyond that, who was quiet longest is forgotten
  static constexpr double kBurst = 25;
  static constexpr Duration kPause = std::chrono::minutes(5);
  static constexpr Duration kRemembered = std::chrono::minutes(10);

  // What to write of this news; nothing: it is counted, and told with what comes next of its reason. `name`
  // is for an event that is to be made.
  [[nodiscard]] std::optional<EventOrder> take(const std::string& job_uid, const kube::EventText& text,
                                               const std::string& name, Timestamp now);
  [[nodiscard]] std::size_t jobs() const { return jobs_.size(); }

 private:
  struct Series {
    std::string name;  // empty: nothing of it is written yet
    std::uint32_t count = 0;
    bool has_untold = false;
    Timestamp last;
  };
  struct Group {  // of one reason
    std::map<std::string, Series> texts;
    std::optional<Series> rest;
    std::optional<Timestamp> written;
  };
  using Reason = std::pair<bool, std::string>;  // whether it is a warning
  struct Job {
    double writes = kBurst;  // left
    Timestamp counted;       // when that was
    Timestamp last;          // news
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
