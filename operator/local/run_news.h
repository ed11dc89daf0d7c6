// RunNews: what a person reads of a local run, line by line, each thing once.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "operator/api/training_job.h"

namespace ratoon::local {

class RunNews {
 public:
  using Print = std::function<void(const std::string& line)>;

  // `logs`: where members print, for those who look.
  RunNews(Print print, std::string logs, const Clock& clock)
      : print_(std::move(print)), logs_(std::move(logs)), clock_(clock), began_(clock.wall_now()) {}

  void say(const std::string& line) const { print_(line); }
  // What the next status has that `before` had not.
  void tell_checkpoint(const api::TrainingJobStatus& before, const api::TrainingJobStatus& next) const;
  // `without_node`: members that no node is left for.
  void tell_long_wait(const api::TrainingJobStatus& before, const api::TrainingJobStatus& next,
                      const std::vector<std::string>& without_node);
  // Whether it was news: a loss that ends the job is two events, for a cluster's list of them, and one line
  // here.
  bool tell_event(const std::string& message);
  // What the first one that failed printed last: a program that cannot start says so before it has been
  // started ten times.
  void tell_first_failure(const api::TrainingJobStatus& status);
  // The last lines of whoever ended the job, unless they stand there already, and where the others' are.
  void tell_failure(const api::TrainingJobStatus& status);
  void tell_stop(const api::TrainingJobStatus& status) const;

 private:
  void tell_words(const api::Failure& failure);

  const Print print_;
  const std::string logs_;
  const Clock& clock_;
  const WallTime began_;
  Timestamp waiting_since_ = clock_.now();
  std::string last_event_;
  std::optional<api::Failure> told_;  // the one whose words were told last
};

}  // namespace ratoon::local
