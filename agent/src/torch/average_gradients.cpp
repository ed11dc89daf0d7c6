#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include <ATen/ops/zeros.h>
#include <torch/nn/module.h>

#include <ratoon/failure.h>
#include <ratoon/torch/average_gradients.h>
#include <ratoon/torch/digest.h>

#include "agent/src/torch/gloo.h"
#include "agent/src/torch/gradient_buckets.h"
#include "agent/src/torch/gradient_watch.h"
#include "agent/src/torch/graveyard.h"
#include "agent/src/torch/meeting.h"
#include "agent/src/torch/piece_turns.h"
#include "agent/src/torch/reduction.h"
#include "base/contract/exit_code.h"

namespace ratoon {
namespace {

[[noreturn]] void fail(ExitCode code, const std::string& sentence) {
  throw Failure(static_cast<int>(code), sentence);
}

// A collective fails when a peer is gone, which is nobody's mistake: the operator, who knows more, will say
// that the world changed. If it says nothing, the fault is of another kind.
[[noreturn]] void wait_for_the_word(const Session& session, const std::string& why) {
  constexpr auto kPatience = std::chrono::seconds(60);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < deadline) {
    session.check();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  fail(ExitCode::kStartAgain,
       "a collective failed, and for 60 s nobody said that a process was lost: " + why);
}

std::string text_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const c10::Error& e) {
    return e.what_without_backtrace();
  } catch (const std::exception& e) {
    return e.what();
  }
}

// What one attempt needs for averaging; one a Session.
class Averager {
 public:
  explicit Averager(Session& session) : session_(session) {}

  void use(c10::intrusive_ptr<c10d::Backend> group) { given_ = std::move(group); }

  void average(::torch::nn::Module& module, const Averaging& how) {
    prepare(module);
    buckets_->begin(session_.world_size(), how.samples);
    const auto reduction = std::make_shared<Reduction>(group_);
    try {
      PieceTurns turns(buckets_->places(), buckets_->pieces().size());
      if (how.backward) average_during(how.backward, turns, *reduction);
      average_the_rest(turns, *reduction);
    } catch (...) {
      give_up(reduction);
      throw;
    }
    session_.take_sums(buckets_->more().first<Session::kNumbers>());
    session_.agree(buckets_->finish());
  }

 private:
  void prepare(const ::torch::nn::Module& module) {
    std::vector<at::Tensor> parameters;
    for (const at::Tensor& parameter : module.parameters())
      if (parameter.requires_grad()) parameters.push_back(parameter);
    if (given_) take_over(module);
    if (!group_) {
      group_ = connect(module);
      is_ours_ = true;
    }
    if (!buckets_ || !buckets_->is_for(parameters))
      buckets_ = std::make_shared<GradientBuckets>(parameters, Session::kNumbers);
  }

  void begin(std::size_t piece, Reduction& reduction) {
    buckets_->fill(piece);
    reduction.begin(buckets_->pieces()[piece]);
  }

  void average_during(const std::function<void()>& backward, PieceTurns& turns, Reduction& reduction) {
    const GradientWatch watch(buckets_->parameters(), [&](std::size_t parameter) {
      session_.check();
      if (!turns.note(parameter)) {
        fail(ExitCode::kConfiguration,
             "parameter " + std::to_string(parameter) +
                 " was given a gradient twice while gradients were averaged: call backward() once within "
                 "average_gradients(), and what comes before it outside");
      }
      while (turns.has_full()) begin(turns.take(), reduction);
    });
    watch.during(backward);
  }

  void average_the_rest(PieceTurns& turns, Reduction& reduction) {
    const auto waits = session_.in(Phase::kCollective);
    buckets_->tell(session_.wishes());
    std::ranges::copy(session_.numbers(), buckets_->more().begin());
    while (turns.has_any()) begin(turns.take(), reduction);
    finish(reduction);
  }

  // A digest of all parameters. Buffers may differ by now: a rank's batch norm has seen its own samples.
  static std::string mark_of(const ::torch::nn::Module& module) {
    std::vector<NamedTensor> tensors;
    for (const auto& item : module.named_parameters()) tensors.push_back({item.key(), item.value()});
    const auto text = digest(std::span<const NamedTensor>(tensors));
    if (!text) fail(ExitCode::kConfiguration, "the weights cannot be compared: " + text.error().message());
    return *text;
  }

  c10::intrusive_ptr<c10d::Backend> connect(const ::torch::nn::Module& module) {
    const auto waits = session_.in(Phase::kCollective);
    static_cast<void>(clear_graves());
    const auto meeting = std::make_shared<Meeting>(Meeting::Plan{.rendezvous = session_.rendezvous(),
                                                                 .attempt = session_.attempt(),
                                                                 .rank = session_.rank(),
                                                                 .world_size = session_.world_size(),
                                                                 .mark = mark_of(module)});
    try {
      while (!meeting->is_over()) {
        session_.check();
        std::this_thread::sleep_for(std::chrono::microseconds(500));
      }
    } catch (...) {
      meeting->give_up();
      bury(meeting, [m = meeting.get()] { return m->is_over(); });
      throw;
    }
    if (meeting->error()) wait_for_the_word(session_, text_of(meeting->error()));
    compare(meeting->marks());
    return meeting->take_group();
  }

  void compare(const std::vector<std::string>& marks) const {
    for (std::size_t rank = 1; rank < marks.size(); ++rank) {
      if (marks[rank] == marks[0]) continue;
      fail(ExitCode::kConfiguration,
           "rank " + std::to_string(rank) + " has other weights than rank 0 at step " +
               std::to_string(session_.steps_done()) +
               ": give all ranks the same seed (torch::manual_seed) before they make the model");
    }
  }

  // The program's own, whose ranks are connected already.
  void take_over(const ::torch::nn::Module& module) {
    group_ = std::exchange(given_, nullptr);
    is_ours_ = false;
    const auto is_number = [](std::uint32_t ours, int theirs) { return std::cmp_equal(ours, theirs); };
    if (!is_number(session_.rank(), group_->getRank()) ||
        !is_number(session_.world_size(), group_->getSize())) {
      fail(ExitCode::kConfiguration,
           "use_group() was given rank " + std::to_string(group_->getRank()) + " of " +
               std::to_string(group_->getSize()) + ", and this is rank " + std::to_string(session_.rank()) +
               " of " + std::to_string(session_.world_size()) +
               ": make the group in each attempt, of session.rank() and session.world_size()");
    }
    compare(exchange(mark_of(module)));
  }

  // The marks of all ranks: each adds its own to zeros.
  std::vector<std::string> exchange(const std::string& mark) {
    const auto waits = session_.in(Phase::kCollective);
    const auto bytes = static_cast<std::int64_t>(mark.size());
    const auto all = at::zeros({session_.world_size(), bytes}, at::kByte);
    const auto row = [&](std::size_t rank) {
      return all.mutable_data_ptr<std::uint8_t>() + rank * mark.size();
    };
    std::memcpy(row(session_.rank()), mark.data(), mark.size());
    const auto reduction = std::make_shared<Reduction>(group_);
    try {
      reduction->begin(all);
      finish(*reduction);
    } catch (...) {
      give_up(reduction);
      throw;
    }
    std::vector<std::string> marks(session_.world_size());
    for (std::size_t rank = 0; rank < marks.size(); ++rank)
      marks[rank].assign(reinterpret_cast<const char*>(row(rank)), mark.size());
    return marks;
  }

  void finish(Reduction& reduction) const {
    reduction.wait([&] { session_.check(); });
    if (reduction.error()) wait_for_the_word(session_, text_of(reduction.error()));
  }

  // Nothing of what was averaged in part is a gradient any more: it may change until all has ended, which
  // takes the time-out of a group that is the program's.
  void give_up(const std::shared_ptr<Reduction>& reduction) {
    struct Remains {
      c10::intrusive_ptr<c10d::Backend> group;
      std::shared_ptr<GradientBuckets> buckets;
      std::shared_ptr<Reduction> reduction;  // the first to go
    };
    if (buckets_) buckets_->let_go();
    if (is_ours_) end_collectives(*group_);
    bury(std::make_shared<Remains>(Remains{std::move(group_), std::move(buckets_), reduction}),
         [r = reduction.get()] { return r->is_over(); });
  }

  Session& session_;
  c10::intrusive_ptr<c10d::Backend> given_;  // and not taken over yet
  c10::intrusive_ptr<c10d::Backend> group_;
  bool is_ours_ = false;  // the group
  std::shared_ptr<GradientBuckets> buckets_;
};

}  // namespace

void average_gradients_of(Session& session, ::torch::nn::Module& module, const Averaging& how) {
  if (session.world_size() == 1) {
    if (how.backward) how.backward();
    session.agree(session.wishes());
    return;
  }
  session.part<Averager>(session).average(module, how);
}

namespace torch {

void use_group(Session& session, const c10::intrusive_ptr<c10d::Backend>& group) {
  session.part<Averager>(session).use(group);
}

}  // namespace torch

}  // namespace ratoon
