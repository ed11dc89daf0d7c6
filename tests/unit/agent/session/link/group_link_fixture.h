// Ranks of one group in one process: each has a link of its own, as if a launcher had started it.
#pragma once

#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "agent/src/session/link/group_link.h"
#include "agent/src/session/rendezvous/rendezvous_folder.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::session {

inline constexpr GroupTimeouts kPatient = {
    .check_interval = std::chrono::milliseconds(2),
    .join_timeout = std::chrono::seconds(60),
    .locks = {.leaving = std::chrono::seconds(0), .check_interval = std::chrono::milliseconds(2)}};

class GroupLinkTest : public testing::Test {
 protected:
  Result<std::unique_ptr<Link>> open(std::uint32_t rank, std::uint32_t size = 2,
                                     const GroupTimeouts& patience = kPatient) {
    return GroupLink::open(options_of(rank, size), calls_, patience);
  }

  [[nodiscard]] Options options_of(std::uint32_t rank, std::uint32_t size) const {
    Options options;
    options.save_folder = folder_.path().string();
    options.run_name = "run";
    options.group = {.rank = rank, .size = size, .name = name_, .is_on_one_machine = true};
    options.member.pod_ip = own_ip_;
    if (rank == rolls_back_) options.resume_from = 20;
    return options;
  }

  std::unique_ptr<Link> opened(std::uint32_t rank, std::uint32_t size = 2) {
    auto link = open(rank, size);
    EXPECT_TRUE(link) << link.error().message();
    return *std::move(link);
  }

  using Joining = std::future<Result<Assignment>>;
  static Joining join(Link& link, std::vector<InventoryEntry> inventory = {}, Attempt newest = Attempt(0)) {
    return std::async(std::launch::async, [&link, inventory = std::move(inventory), newest] {
      return link.join(inventory, newest);
    });
  }

  static Assignment got(Joining joining) {
    auto assignment = joining.get();
    EXPECT_TRUE(assignment) << assignment.error().message();
    return assignment ? *assignment : Assignment();
  }

  static void wait_for_change(const Link& link) {
    while (link.world_status() == WorldStatus::kGoOn)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(link.world_status(), WorldStatus::kWorldChanged);
  }

  void wait_for_call(std::uint32_t rank, std::uint32_t size) const {
    const auto folder =
        RendezvousFolder::open_without_lock(run_, {.rank = rank, .size = size, .name = name_});
    const auto has_called = [&] {
      const auto call = folder.find_call(rank);
      return call && call->has_value();
    };
    while (!has_called()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  // The test repeats this many times; fewer repetitions would only miss a fault.
  static void let_links_look() { std::this_thread::sleep_for(std::chrono::milliseconds(100)); }

  test::TemporaryFolder folder_;
  std::filesystem::path run_ = [this] {
    std::filesystem::create_directory(folder_.path() / "run");
    return folder_.path() / "run";
  }();
  std::string name_ = "launch-1";
  std::string own_ip_;
  std::optional<std::uint32_t> rolls_back_;  // the one that has --resume-from
  std::shared_ptr<ManualClock> disk_clock_ = std::make_shared<ManualClock>();  // of what hangs
  std::shared_ptr<checkpoint::CallsWithTimeout> calls_ =
      std::make_shared<checkpoint::CallsWithTimeout>(std::chrono::hours(1), disk_clock_);
};

}  // namespace ratoon::session
