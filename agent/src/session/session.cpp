#include <ratoon/session.h>

#include "agent/src/session/engine.h"

namespace ratoon {

Session::Session(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}
Session::~Session() = default;

void Session::track(std::string name, Stateful& object) {
  track_bytes(
      std::move(name), [&object] { return object.save_state(); },
      [&object](std::string_view state) {
        object.load_state(state);
        return true;
      });
}

void Session::track_bytes(std::string name, std::function<std::string()> save,
                          std::function<bool(std::string_view)> load) {
  engine_->track(std::move(name), std::move(save), std::move(load));
}

Session::StepRange Session::steps(std::uint64_t total) {
  engine_->begin(total);
  return StepRange(*this);
}

std::uint64_t Session::attempt() const {
  return engine_->assignment().attempt.value();
}
std::uint32_t Session::rank() const {
  return engine_->assignment().rank.value();
}
std::uint32_t Session::world_size() const {
  return engine_->assignment().world_size;
}
std::uint64_t Session::steps_done() const {
  return engine_->step().value();
}

Rendezvous Session::rendezvous() const {
  return engine_->rendezvous();
}
void Session::check() const {
  engine_->check();
}
std::uint32_t Session::wishes() const {
  return engine_->wishes();
}
void Session::agree(std::uint32_t wishes_of_all) {
  engine_->agree(wishes_of_all);
}

std::uint64_t StepIterator::operator*() const {
  return session_->engine_->step().value();
}

StepIterator& StepIterator::operator++() {
  session_->engine_->end_step();
  return *this;
}

bool StepIterator::operator==(std::default_sentinel_t) const {
  return session_->engine_->is_at_end();
}

}  // namespace ratoon
