#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include <torch/nn/module.h>

#include <ratoon/failure.h>
#include <ratoon/torch/average_gradients.h>
#include <ratoon/torch/digest.h>

#include "agent/src/torch/gradient_buckets.h"
#include "agent/src/torch/graveyard.h"
#include "agent/src/torch/meeting.h"
#include "base/contract/exit_code.h"

namespace ratoon {
namespace {

using std::chrono::microseconds;

[[noreturn]] void fail(ExitCode code, const std::string& sentence) {
  throw Failure(static_cast<int>(code), sentence);
}

// Looks again and again until `is_over`, soon at first, and throws what the session says meanwhile. Nothing
// can wake us from both sides: a collective has no descriptor, and the session's orders come on another
// thread.
void wait_until(const std::function<bool()>& is_over, const Session& session) {
  constexpr int kYields = 20;
  constexpr microseconds kPauseFirst(20);
  constexpr microseconds kPauseMax(500);
  for (int i = 0; i < kYields; ++i) {
    if (is_over()) return;
    std::this_thread::yield();
  }
  for (auto pause = kPauseFirst; !is_over(); pause = std::min(pause * 2, kPauseMax)) {
    session.check();
    std::this_thread::sleep_for(pause);
  }
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

  void average(torch::nn::Module& module) {
    std::vector<at::Tensor> parameters;
    for (const at::Tensor& parameter : module.parameters())
      if (parameter.requires_grad()) parameters.push_back(parameter);
    if (!group_) group_ = connect(module);
    if (!buckets_ || !buckets_->is_for(parameters))
      buckets_ = std::make_shared<GradientBuckets>(parameters, Session::kNumbers);

    buckets_->begin(session_.wishes());
    const auto numbers = session_.numbers();
    std::ranges::copy(numbers, buckets_->more().begin());
    reduce();
    session_.take_sums(buckets_->more().first<Session::kNumbers>());
    session_.agree(buckets_->finish(session_.world_size()));
  }

 private:
  using Works = std::vector<c10::intrusive_ptr<c10d::Work>>;

  // A digest of all parameters. Buffers may differ by now: a rank's batch norm has seen its own samples.
  static std::string mark_of(const torch::nn::Module& module) {
    std::vector<NamedTensor> tensors;
    for (const auto& item : module.named_parameters()) tensors.push_back({item.key(), item.value()});
    const auto text = digest(std::span<const NamedTensor>(tensors));
    if (!text) fail(ExitCode::kConfiguration, "the weights cannot be compared: " + text.error().message());
    return *text;
  }

  c10::intrusive_ptr<c10d::Backend> connect(const torch::nn::Module& module) {
    static_cast<void>(clear_graves());
    const auto meeting = std::make_shared<Meeting>(Meeting::Plan{.rendezvous = session_.rendezvous(),
                                                                 .attempt = session_.attempt(),
                                                                 .rank = session_.rank(),
                                                                 .world_size = session_.world_size(),
                                                                 .mark = mark_of(module)});
    try {
      wait_until([&] { return meeting->is_over(); }, session_);
    } catch (...) {
      meeting->give_up();
      bury(meeting, [m = meeting.get()] { return m->is_over(); });
      throw;
    }
    if (meeting->error()) wait_for_the_word(session_, text_of(meeting->error()));
    for (std::size_t rank = 1; rank < meeting->marks().size(); ++rank) {
      if (meeting->marks()[rank] == meeting->marks()[0]) continue;
      fail(ExitCode::kConfiguration,
           "rank " + std::to_string(rank) + " has other weights than rank 0 at step " +
               std::to_string(session_.steps_done()) +
               ": give all ranks the same seed (torch::manual_seed) before they make the model");
    }
    return meeting->take_group();
  }

  // Everything is begun before anything is waited for, and each piece is filled and spread beside the sums of
  // others; after an exception nothing of it is used again.
  void reduce() {
    const auto works = std::make_shared<Works>();
    try {
      for (std::size_t piece = 0; piece < buckets_->pieces().size(); ++piece) {
        buckets_->fill(piece);
        std::vector<at::Tensor> one{buckets_->pieces()[piece]};
        works->push_back(group_->allreduce(one));
      }
      for (std::size_t piece = 0; piece < works->size(); ++piece) {
        const auto& work = (*works)[piece];
        wait_until([&] { return work->isCompleted(); }, session_);
        if (!work->isSuccess()) wait_for_the_word(session_, text_of(work->exception()));
        buckets_->spread(piece, session_.world_size());
      }
    } catch (const c10::Error& error) {  // from starting one
      const std::string why = error.what_without_backtrace();
      give_up(works);
      wait_for_the_word(session_, why);
    } catch (...) {
      give_up(works);
      throw;
    }
  }

  void give_up(const std::shared_ptr<Works>& works) {
    struct Remains {
      c10::intrusive_ptr<c10d::Backend> group;
      std::shared_ptr<GradientBuckets> buckets;
      std::shared_ptr<Works> works;  // the first to go
    };
    bury(std::make_shared<Remains>(Remains{std::move(group_), std::move(buckets_), works}),
         [w = works.get()] {
           return std::ranges::all_of(*w, [](const auto& work) { return work->isCompleted(); });
         });
  }

  Session& session_;
  c10::intrusive_ptr<c10d::Backend> group_;
  std::shared_ptr<GradientBuckets> buckets_;
};

}  // namespace

void average_gradients_of(Session& session, torch::nn::Module& module) {
  if (session.world_size() == 1) {
    session.agree(session.wishes());
    return;
  }
  const auto waits = session.in(Phase::kCollective);
  session.part<Averager>(session).average(module);
}

}  // namespace ratoon
