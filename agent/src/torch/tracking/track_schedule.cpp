#include <torch/optim/schedulers/lr_scheduler.h>
#include <torch/optim/schedulers/reduce_on_plateau_scheduler.h>

#include <ratoon/torch/track.h>

namespace ratoon {
namespace {

namespace optim = ::torch::optim;

// LibTorch has no function that saves a schedule. The derived class StepCountAccess can access the protected
// count of steps.
struct StepCountAccess : optim::LRScheduler {
  static constexpr auto kStepCount = &StepCountAccess::step_count_;
};

// The state of LibTorch's ReduceLROnPlateau is private. PlateauState can access the private state, because
// C++ allows explicit template instantiations to name private members.
template <auto kBest, auto kCooldown, auto kBadEpochs, auto kEpoch>
struct PlateauState {
  friend void visit_plateau_state(auto& schedule, auto&& each) {
    each("best", schedule.*kBest);
    each("cooldown_counter", schedule.*kCooldown);
    each("num_bad_epochs", schedule.*kBadEpochs);
    each("last_epoch", schedule.*kEpoch);
  }
};
using Plateau = optim::ReduceLROnPlateauScheduler;
template struct PlateauState<&Plateau::best, &Plateau::cooldown_counter, &Plateau::num_bad_epochs,
                             &Plateau::last_epoch>;
void visit_plateau_state(auto& schedule, auto&& each);

}  // namespace

void save_schedule(const optim::LRScheduler& schedule, StateWriter& out) {
  out.number("step_count", schedule.*StepCountAccess::kStepCount);
}
void load_schedule(optim::LRScheduler& schedule, StateReader& in) {
  in.number("step_count", schedule.*StepCountAccess::kStepCount);
}

void save_schedule(const optim::ReduceLROnPlateauScheduler& schedule, StateWriter& out) {
  visit_plateau_state(schedule, [&out](const char* name, auto value) { out.number(name, value); });
}
void load_schedule(optim::ReduceLROnPlateauScheduler& schedule, StateReader& in) {
  visit_plateau_state(schedule, [&in](const char* name, auto& value) { in.number(name, value); });
}

}  // namespace ratoon
