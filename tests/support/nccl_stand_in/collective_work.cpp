#include "tests/support/nccl_stand_in/collective_work.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

namespace ratoon::test::nccl_stand_in {
namespace {

struct Call {  // what the ranks must agree on
  std::uint64_t turn = 0;
  std::uint64_t count = 0;
  std::uint32_t kind = 0;
  std::uint32_t type = 0;
  std::uint32_t op = 0;
  std::uint32_t root = 0;
};

class Performance {
 public:
  Performance(const Work& work, std::uint64_t turn, const Links& links, const AbortSignal& signal)
      : work_(work), links_(links), signal_(signal), turn_(turn), bytes_(work.count * size_of(work.type)) {}

  Worked run() {
    if (!agree()) return std::move(result_);
    if (work_.kind == Kind::kAllReduce) all_reduce();
    if (work_.kind == Kind::kBroadcast) broadcast();
    if (work_.kind == Kind::kAllGather) all_gather();
    return std::move(result_);
  }

 private:
  using Bytes = std::span<std::byte>;
  using ConstBytes = std::span<const std::byte>;

  Bytes into(std::size_t size) const { return {static_cast<std::byte*>(work_.into), size}; }
  ConstBytes from() const { return {static_cast<const std::byte*>(work_.from), bytes_}; }
  [[nodiscard]] bool is_own(std::uint32_t rank) const { return rank == links_.rank; }

  void copy(ConstBytes what, Bytes where) const {
    if (!what.empty()) std::memmove(where.data(), what.data(), what.size());
  }

  // Gives each rank the bytes of `to_send` for it, and fills those of `to_receive`.
  template <typename ToSend, typename ToReceive>
  bool exchange_with_all(const ToSend& to_send, const ToReceive& to_receive) {
    std::vector<Lane> lanes;
    std::vector<std::uint32_t> ranks;
    for (std::uint32_t rank = 0; rank < links_.size; ++rank) {
      if (is_own(rank)) continue;
      lanes.push_back({links_.sockets[rank].get(), to_send(rank), to_receive(rank)});
      ranks.push_back(rank);
    }
    const auto early_end = work_.kind == Kind::kFinalize ? EarlyEnd::kIsFine : EarlyEnd::kIsLoss;
    const Exchanged done = exchange(std::move(lanes), signal_, early_end);
    if (done.outcome == Outcome::kDone) return true;
    result_.outcome = done.outcome;
    if (done.outcome == Outcome::kLost)
      result_.problem = "rank " + std::to_string(ranks[done.lost]) +
                        " closed its connection during collective " + std::to_string(turn_);
    return false;
  }

  // A wrong order of calls hangs here as it does with NCCL; the message gives the reason.
  bool agree() {
    const Call own{
        turn_,
        work_.count,
        static_cast<std::uint32_t>(work_.kind),
        static_cast<std::uint32_t>(work_.type),
        work_.factor ? static_cast<std::uint32_t>(ncclNumOps) : static_cast<std::uint32_t>(work_.op),
        work_.root};
    std::vector<Call> calls(links_.size, own);
    if (!exchange_with_all(
            [&](std::uint32_t) { return std::as_bytes(std::span(&own, 1)); },
            [&](std::uint32_t rank) { return std::as_writable_bytes(std::span(&calls[rank], 1)); }))
      return false;
    for (std::uint32_t rank = 0; rank < links_.size; ++rank) {
      if (std::memcmp(&calls[rank], &own, sizeof own) == 0) continue;
      result_ = {Outcome::kLost, "rank " + std::to_string(rank) + " made another call than rank " +
                                     std::to_string(links_.rank) + " as collective " + std::to_string(turn_)};
      return false;
    }
    return true;
  }

  struct Part {
    std::size_t begin;
    std::size_t size;
  };
  // The bytes whose sums this rank makes.
  [[nodiscard]] Part part_of(std::uint32_t rank) const {
    const std::size_t number = size_of(work_.type);
    const std::size_t begin = work_.count * rank / links_.size;
    const std::size_t end = work_.count * (rank + 1) / links_.size;
    return {begin * number, (end - begin) * number};
  }

  void all_reduce() {
    std::vector<std::byte> scaled;
    ConstBytes given = from();
    if (work_.factor) {
      scaled.assign(given.begin(), given.end());
      Scalar factor = work_.factor->value;
      if (work_.factor->on_device != nullptr)
        std::memcpy(factor.data(), work_.factor->on_device, size_of(work_.type));
      multiply(scaled, factor, work_.type);
      given = scaled;
    }
    const Part own = part_of(links_.rank);
    std::vector<std::byte> received(own.size * links_.size);
    const auto share_of = [&](std::uint32_t rank) {
      return Bytes(received).subspan(rank * own.size, own.size);
    };
    copy(given.subspan(own.begin, own.size), share_of(links_.rank));
    const auto given_for = [&](std::uint32_t rank) {
      return given.subspan(part_of(rank).begin, part_of(rank).size);
    };
    if (!exchange_with_all(given_for, share_of)) return;
    for (std::uint32_t rank = 1; rank < links_.size; ++rank)
      reduce(share_of(0), share_of(rank), work_.op, work_.type);
    const auto result_of = [&](std::uint32_t rank) {
      return into(bytes_).subspan(part_of(rank).begin, part_of(rank).size);
    };
    copy(share_of(0), result_of(links_.rank));
    static_cast<void>(exchange_with_all([&](std::uint32_t) { return ConstBytes(share_of(0)); }, result_of));
  }

  void broadcast() {
    const bool is_root = is_own(work_.root);
    const auto to_send = [&](std::uint32_t) { return is_root ? from() : ConstBytes(); };
    const auto to_receive = [&](std::uint32_t rank) { return rank == work_.root ? into(bytes_) : Bytes(); };
    if (exchange_with_all(to_send, to_receive) && is_root) copy(from(), into(bytes_));
  }

  void all_gather() {
    const auto place_of = [&](std::uint32_t rank) {
      return into(bytes_ * links_.size).subspan(rank * bytes_, bytes_);
    };
    copy(from(), place_of(links_.rank));
    const auto own = [&](std::uint32_t) { return ConstBytes(place_of(links_.rank)); };
    static_cast<void>(exchange_with_all(own, place_of));
  }

  const Work& work_;
  const Links& links_;
  const AbortSignal& signal_;
  const std::uint64_t turn_;
  const std::size_t bytes_;
  Worked result_{};
};

}  // namespace

Worked perform(const Work& work, std::uint64_t turn, const Links& links, const AbortSignal& signal) {
  return Performance(work, turn, links, signal).run();
}

std::size_t result_size(const Work& work, std::uint32_t world_size) {
  const std::size_t size = work.count * size_of(work.type);
  return work.kind == Kind::kAllGather ? size * world_size : size;
}

}  // namespace ratoon::test::nccl_stand_in
