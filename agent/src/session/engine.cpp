#include "agent/src/session/engine.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>
#include <utility>

#include <ratoon/failure.h>

#include "agent/src/session/control_word.h"
#include "agent/src/session/meeting_socket.h"
#include "base/contract/exit_code.h"

namespace ratoon {
namespace {

constexpr std::size_t kNameBytesMax = 255;
constexpr auto kHandOverPatience = std::chrono::seconds(60);
constexpr auto kCommitPause = std::chrono::milliseconds(10);

[[noreturn]] void fail(ExitCode code, const std::string& sentence) {
  throw Failure(static_cast<int>(code), sentence);
}

}  // namespace

Session::Engine::Engine(const Surroundings& surroundings, Assignment assignment)
    : options_(surroundings.options),
      store_(surroundings.store),
      link_(surroundings.link),
      clock_(surroundings.clock),
      meters_(surroundings.meters),
      assignment_(std::move(assignment)) {
  position_.attempt = assignment_.attempt;
  position_.milestone = session::Milestone::kJoined;
  meters_.attempt = assignment_.attempt.value();
  meters_.world_size = assignment_.world_size;
  enter(ProcessPhase::kLoad);
}

void Session::Engine::track(std::string name, std::function<std::string()> save,
                            std::function<bool(std::string_view)> load) {
  if (has_begun_)
    fail(ExitCode::kConfiguration, "'" + name + "' is tracked too late: call track() before steps()");
  const bool is_printable =
      std::all_of(name.begin(), name.end(), [](unsigned char c) { return c >= 0x20 && c < 0x7f; });
  if (name.empty() || name.size() > kNameBytesMax || !is_printable || name.starts_with("__")) {
    fail(ExitCode::kConfiguration, "a tracked object needs a name of 1 to " + std::to_string(kNameBytesMax) +
                                       " printable ASCII characters that does not begin with '__'");
  }
  if (!tracked_.emplace(name, Tracked{std::move(save), std::move(load)}).second) {
    fail(ExitCode::kConfiguration, "'" + name + "' is tracked twice: give each object its own name");
  }
}

void Session::Engine::begin(std::uint64_t total_steps) {
  if (has_begun_) fail(ExitCode::kConfiguration, "steps() was called twice in one attempt");
  has_begun_ = true;
  total_ = Step(total_steps);
  restore();
  count_replay();
  position_.milestone = session::Milestone::kLoaded;
  enter(ProcessPhase::kCompute);
  step_began_ = clock_.now();
}

// Within this process: what an earlier start of it had done is the operator's to count.
void Session::Engine::count_replay() {
  const std::uint64_t left = meters_.step.exchange(position_.step.value());
  if (left > position_.step.value()) meters_.replayed_steps += left - position_.step.value();
}

void Session::Engine::restore() {
  if (!assignment_.resume) return;
  const auto states = store_.load(*assignment_.resume, assignment_.rank);
  if (!states) {
    const std::string sentence =
        "the checkpoint to resume from cannot be loaded: " + states.error().message();
    // Refused by the disk, too: a bad sector costs a fallback, not the run.
    const ErrorKind kind = states.error().kind();
    const bool is_bad = kind == ErrorKind::kCorrupted || kind == ErrorKind::kNotFound ||
                        kind == ErrorKind::kIo || kind == ErrorKind::kInvalid;
    if (!is_bad) fail(ExitCode::kStorage, sentence);
    throw CheckpointUnreadable({.attempt = assignment_.resume->attempt, .step = assignment_.resume->step},
                               kind, sentence);
  }
  for (const auto& [name, object] : tracked_) {
    const auto state = states->find(name);
    if (state == states->end()) {
      fail(ExitCode::kConfiguration, "the checkpoint of step " +
                                         std::to_string(assignment_.resume->step.value()) +
                                         " has no state named '" + name + "': it is of another program");
    }
    if (!object.load(state->second.bytes)) {
      fail(ExitCode::kConfiguration,
           "the state named '" + name + "' has another size in the checkpoint of step " +
               std::to_string(assignment_.resume->step.value()) + ": it is of another program");
    }
  }
  position_.step = assignment_.resume->step;
  position_.committed = InventoryEntry{.tier = "volume",
                                       .attempt = assignment_.resume->attempt,
                                       .step = assignment_.resume->step,
                                       .digest = assignment_.resume->digest,
                                       .is_complete = true};
}

checkpoint::CheckpointId Session::Engine::id_at(Step step) const {
  return {.attempt = assignment_.attempt, .step = step};
}

void Session::Engine::enter(ProcessPhase phase) {
  position_.phase = phase;
  if (position_.committed) meters_.durable_step = position_.committed->step.value();
  link_.note(position_);
}

std::uint32_t Session::Engine::take_agreed() {
  // A world of one needs no collective to agree with itself.
  if (assignment_.world_size == 1) agree(wishes());
  return std::exchange(agreed_, 0);
}

void Session::Engine::end_step() {
  meters_.step_times.observe(clock_.now() - step_began_);
  position_.step = position_.step.next();
  position_.milestone = session::Milestone::kStepped;
  meters_.step = position_.step.value();
  const std::uint32_t agreed = take_agreed();
  // At the end of the training finish() waits for the last checkpoint, and nothing is left to hand over.
  const bool is_handed_over = (agreed & session::control::kLeave) != 0 && !is_at_end();
  const bool is_due = position_.step.value() % options_.save_every_steps == 0 || is_at_end();
  if (is_due || is_handed_over || (agreed & session::control::kSave) != 0) save();
  if (is_handed_over) hand_over();
  advance_commits();
  enter(ProcessPhase::kCompute);
  check();
  step_began_ = clock_.now();
}

void Session::Engine::hand_over() {
  const bool is_committed = wait_for_commits(kHandOverPatience);
  const std::string step = std::to_string(position_.step.value());
  if (is_committed) throw Interrupted("handed over at step " + step + ": a replacement is ready");
  throw Interrupted("handed over at step " + step + ", but its checkpoint was not committed within " +
                    std::to_string(kHandOverPatience.count()) +
                    " s: an older one is resumed from; see why not all ranks could save");
}

void Session::Engine::save() {
  const Timestamp began = clock_.now();
  enter(ProcessPhase::kSave);
  // What is asked for until now is served by this save, whoever asked for it and why ever it is made.
  served_save_request_ = link_.wanted().save_request;
  std::map<std::string, std::string> states;
  for (const auto& [name, object] : tracked_) states[name] = object.save();
  std::vector<TensorView> views;
  for (const auto& [name, bytes] : states)
    views.push_back({.name = name, .shape = {bytes.size()}, .bytes = std::as_bytes(std::span(bytes))});
  const auto written = store_.write_pack(id_at(position_.step), assignment_.rank, views);
  if (!written) fail(ExitCode::kStorage, "nothing can be saved: " + written.error().message());
  uncommitted_.push_back(position_.step);
  meters_.save_stall.add(clock_.now() - began);
}

// A commit stands for all before it: rank 0 may have committed and retired those between two of our looks.
void Session::Engine::advance_commits() {
  const bool commits = assignment_.rank.value() == 0;
  for (std::size_t i = uncommitted_.size(); i-- > 0;) {
    const auto id = id_at(uncommitted_[i]);
    const auto committed = commits ? store_.try_commit(id, assignment_.world_size) : store_.find(id);
    if (!committed)
      fail(ExitCode::kStorage, "a checkpoint cannot be committed: " + committed.error().message());
    if (!*committed) continue;
    position_.committed = **committed;
    uncommitted_.erase(uncommitted_.begin(), uncommitted_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    if (!commits) return;
    if (const auto retired = store_.retire_old({.last = options_.keep_last}, assignment_.attempt); !retired)
      std::fprintf(stderr, "ratoon: old checkpoints are kept for now: %s\n",
                   retired.error().message().c_str());
    return;
  }
}

void Session::Engine::check() const {
  switch (link_.standing()) {
    case session::Standing::kGoOn:
      return;
    case session::Standing::kWorldChanged:
      throw Interrupted(link_.reason());
    case session::Standing::kStop:
      fail(ExitCode::kPreempted, link_.reason());
    case session::Standing::kFenced:
      fail(ExitCode::kStartAgain, link_.reason());
  }
}

std::uint32_t Session::Engine::wishes() const {
  const auto wanted = link_.wanted();
  std::uint32_t bits = 0;
  if (wanted.save_request > served_save_request_) bits |= session::control::kSave;
  if (wanted.hand_over == assignment_.attempt) bits |= session::control::kLeave;
  return bits;
}

Rendezvous Session::Engine::rendezvous() const {
  const bool is_first = assignment_.rank.value() == 0;
  auto meeting = session::split_address(assignment_.rendezvous);
  return {.host = std::move(meeting.host),
          .port = meeting.port,
          .listening_fd = is_first ? link_.listening_fd() : -1,
          .own_host = link_.own_host()};
}

void Session::Engine::finish() {
  // What is tracked lived in the function and may be gone: steps after the last save are not in it.
  static_cast<void>(wait_for_commits(std::nullopt));
}

bool Session::Engine::wait_for_commits(std::optional<Duration> at_most) {
  const Timestamp began = clock_.now();
  while (!uncommitted_.empty()) {
    advance_commits();
    enter(ProcessPhase::kSave);  // the commit is told at once
    if (uncommitted_.empty()) break;
    check();
    if (at_most && clock_.now() - began > *at_most) break;
    std::this_thread::sleep_for(kCommitPause);
  }
  meters_.save_stall.add(clock_.now() - began);
  return uncommitted_.empty();
}

}  // namespace ratoon
