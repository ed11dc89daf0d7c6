// The difference between two small worlds, and their form for people. Moments are compared relative to now:
// messages for people, and parts that this job's spec never needs, are left out.
#include <algorithm>

#include <ratoon/counter_random.h>

#include "tests/property/operator/small_world.h"

namespace ratoon::sim {
namespace {

class Print {
 public:
  void add(std::uint64_t word) { hash_ = mix_into(hash_, word); }
  void add(const std::string& text) {
    add(text.size());
    std::uint64_t word = 0xcbf29ce484222325ULL;
    for (const char c : text) word = (word ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    add(word);
  }
  void add_duration(Duration d) { add(static_cast<std::uint64_t>(d.count())); }
  [[nodiscard]] std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0x243f6a8885a308d3ULL;
};

void add(const api::Pod& pod, Print& print) {
  print.add(pod.uid);
  print.add(pod.name);
  print.add(pod.node);
  print.add(static_cast<std::uint64_t>(pod.phase) * 4 + (pod.is_deleting ? 2 : 0) +
            (pod.is_completed ? 1 : 0));
  print.add(static_cast<std::uint64_t>(pod.exit_code.value_or(-1)));
  for (const auto& node : pod.avoided_nodes) print.add(node);
}

void add(const api::TrainingJobStatus& status, WallTime now, Print& print) {
  print.add(static_cast<std::uint64_t>(status.phase) * 2 + (status.is_world_formed ? 1 : 0));
  print.add(status.attempt.value());
  print.add(status.step.value());
  print.add(status.last_checkpoint
                ? status.last_checkpoint->attempt.value() * 1000 + status.last_checkpoint->step.value() + 1
                : 0);
  const auto& restarts = status.restarts;
  for (const auto count : {restarts.application, restarts.hung, restarts.disruption,
                           restarts.losses_without_step, restarts.consecutive_crashes})
    print.add(count);
  for (const auto& member : status.members) {
    print.add(member.uid);
    print.add(member.node);
    print.add(member.successor_uid);
    print.add(
        ((std::uint64_t{member.incarnation} * 64 + member.successor) * 4 + (member.is_completed ? 2U : 0U)) *
            4 +
        (member.is_absent ? 1U : 0U));
    print.add_duration(member.next_pod_not_before
                           ? std::max(Duration(0), member.next_pod_not_before->since_epoch - now.since_epoch)
                           : Duration(-1));
  }
  for (const auto& suspect : status.suspect_nodes) {
    print.add(suspect.name);
    print.add_duration(suspect.until.since_epoch - now.since_epoch);
  }
}

void add(const coordinator::JobSession& job_session, Timestamp now, Print& print) {
  print.add(job_session.processes().size());
  for (const auto& facts : job_session.processes()) {
    print.add(facts.identity.member_uid);
    print.add_duration(now - facts.last_heard);
    print.add((facts.join_request ? 2U : 0U) + (facts.is_completed ? 1U : 0U));
    if (facts.join_request)
      print.add(facts.join_request->left_attempt.value() * 64 + facts.join_request->inventory.size());
    if (facts.beat) print.add(facts.beat->attempt.value() * 64 + facts.beat->step.value());
  }
  const auto& told = job_session.announcement();
  print.add(told.attempt.value() * 4 + (told.stop ? 2 : 0) + (told.hand_over ? 1 : 0));
  for (const auto& seat : told.world) print.add(seat.process.member_uid);
  for (const auto& current : told.current) print.add(current.index * 64 + current.incarnation);
}

}  // namespace

std::uint64_t SmallWorld::fingerprint() const {
  Print print;
  print.add(faults_left_);
  print.add_duration(now_ - last_fault_);
  for (const auto& at : died_)
    print.add_duration(at ? std::min<Duration>(now_ - *at, std::chrono::minutes(1)) : Duration(-1));
  for (std::size_t number = 0; number < count_; ++number) {
    const SmallJob& job = *jobs_.at(number);
    add(job.job.status, wall_now(), print);
    for (const auto& body : job.bodies) {
      add(body.pod, print);
      print.add((body.is_there ? 1U : 0U) + (body.has_asked ? 2U : 0U) +
                4U * static_cast<unsigned>(body.stage));
      print.add(body.attempt.value() * 64 + body.step);
    }
    print.add(job.copy.size() * 8 + (job.is_copy_held ? 4 : 0) + (job.is_open ? 2 : 0) +
              (job.is_news ? 1 : 0));
    for (const auto& pod : job.copy) add(pod, print);
    add(job.job_session, now_, print);
    print.add_duration(job.is_open ? now_ - job.opened : Duration(-1));
    print.add_duration(job.wake_at ? std::max(Duration(0), *job.wake_at - now_) : Duration(-1));
    for (const auto& [attempt, step] : job.checkpoints) print.add(attempt.value() * 64 + step.value());
    print.add(job.losses);
  }
  return print.value();
}

std::string SmallWorld::describe(const Event& event) {
  constexpr std::array<const char*, 17> kNames = {
      "look",     "starts",     "sits",        "obeys",         "step",        "ends",
      "goes",     "catches up", "time passes", "a second",      "a node dies", "crashes",
      "vanishes", "copy held",  "cut short",   "operator ends", "elsewhere"};
  return std::string(kNames.at(static_cast<std::size_t>(event.kind))) + " job " + std::to_string(event.job) +
         " #" + std::to_string(event.which);
}

std::string SmallWorld::describe() const {
  std::string text = "at " + std::to_string(seconds(now_.since_boot)) + " s, faults left " +
                     std::to_string(faults_left_) + ": " + broken_ + "\n";
  for (std::size_t number = 0; number < count_; ++number) {
    const SmallJob& job = *jobs_.at(number);
    const auto& status = job.job.status;
    text += " job " + std::to_string(number) + " " + std::string(api::name_of(status.phase)) + " attempt " +
            std::to_string(status.attempt.value()) + (status.is_world_formed ? " formed" : "") + ", lost " +
            std::to_string(job.losses) + ", " + status.message + "\n";
    for (const auto& member : status.members)
      text += "   member " + std::to_string(member.index) + "-i" + std::to_string(member.incarnation) + " " +
              member.uid + (member.is_completed ? " done\n" : "\n");
    for (const auto& body : job.bodies)
      text += "   pod " + body.pod.uid + " " + body.pod.name + " on " + body.pod.node + " phase " +
              std::to_string(static_cast<int>(body.pod.phase)) + (body.is_there ? "" : " vanished") +
              (body.pod.is_deleting ? " deleting" : "") + " stage " +
              std::to_string(static_cast<int>(body.stage)) + " attempt " +
              std::to_string(body.attempt.value()) + "\n";
  }
  return text;
}

}  // namespace ratoon::sim
