#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/contract/codec.h"
#include "base/contract/limits.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::codec_property_test {
namespace {

namespace gen = rc::gen;

std::uint64_t any_count() {
  return *gen::oneOf(gen::inRange<std::uint64_t>(0, 100),
                     gen::inRange<std::uint64_t>(0, contract::kExactJsonIntegerMax + 1),
                     gen::just(contract::kExactJsonIntegerMax));
}
std::uint32_t any_number(std::uint32_t max) {
  return *gen::inRange<std::uint32_t>(0, max + 1);
}
Attempt any_past_attempt() {
  return Attempt(*gen::oneOf(gen::inRange<std::uint64_t>(0, contract::kAttemptMax + 1),
                             gen::just(contract::kAttemptMax)));
}
double any_seconds() {
  return static_cast<double>(*gen::inRange<std::uint64_t>(0, 1'000'000'000)) / 64.0;
}
// Any characters that are text, quotes, control characters and other languages among them.
std::string any_text() {
  const std::vector<std::string> pieces = {"a", "Z", "\"", "\\", "\n", "\t", "\x01",
                                           "/", "{", "é",  "漢", "😀", " "};
  std::string text;
  const auto length = *gen::inRange<std::size_t>(1, 20);
  for (std::size_t i = 0; i < length; ++i) text += *gen::elementOf(pieces);
  return text;
}

ProcessIdentity any_process() {
  return {.job = {.name_space = any_text(), .name = any_text()},
          .role = any_text(),
          .index = any_number(65536),
          .incarnation = any_number(0xfffffffe),
          .member_uid = any_text(),
          .local_rank = any_number(63),
          .start = any_text()};
}

InventoryEntry any_entry() {
  return {.tier = *gen::elementOf(std::vector<std::string>{"staged", "local", "volume", "store"}),
          .attempt = any_past_attempt(),
          .step = Step(any_count()),
          .digest = any_text(),
          .is_complete = *gen::arbitrary<bool>()};
}

Assignment any_assignment() {
  Assignment assignment{.attempt = Attempt(any_count() | 1), .beat_seconds = 1 + any_seconds()};
  assignment.world_size = 1 + any_number(65535);
  assignment.rank = Rank(any_number(assignment.world_size - 1));
  assignment.rendezvous = any_text() + ":" + std::to_string(1 + any_number(65534));
  assignment.threads = any_number(contract::kThreadsMax);
  const auto digit = gen::elementOf(std::string("0123456789abcdef"));
  assignment.secret = *gen::container<std::string>(32 + any_number(96), digit);
  if (*gen::arbitrary<bool>()) {
    assignment.resume = ResumePoint{
        .attempt = Attempt(assignment.attempt.value() - 1), .step = Step(any_count()), .digest = any_text()};
  }
  for (std::uint32_t i = any_number(4); i > 0; --i)
    assignment.peers.push_back(
        {.member_uid = any_text(), .address = any_text() + ":" + std::to_string(1 + any_number(65534))});
  return assignment;
}

template <class T>
void assert_survives(const T& message) {
  const std::string text = encode(message);
  const Result<T> decoded = decode<T>(text);
  if (!decoded) RC_FAIL(decoded.error().message());
  RC_ASSERT(*decoded == message);
  RC_ASSERT(encode(*decoded) == text);
}

RC_GTEST_PROP(Codec, EveryValidMessageOfAnAgentSurvivesTheWire, ()) {
  JoinRequest join{.process = any_process(), .left_attempt = any_past_attempt()};
  join.left_step = Step(any_count());
  join.has_been_in_world = *gen::arbitrary<bool>();
  join.processes_per_node = join.process.local_rank + 1 + any_number(10);
  join.address = any_text() + ":" + std::to_string(1 + any_number(65534));
  for (std::uint32_t i = any_number(4); i > 0; --i) join.inventory.push_back(any_entry());
  if (*gen::arbitrary<bool>()) join.inventory_age_seconds = any_seconds();
  if (*gen::arbitrary<bool>())
    join.rollback = RollbackRequest{.resume_from = Step(any_count()), .skip = any_count()};
  join.threads = any_number(contract::kThreadsMax);
  if (*gen::arbitrary<bool>()) join.save_location = any_text();
  assert_survives(join);

  Heartbeat beat{.process = any_process(), .attempt = any_past_attempt(), .sequence = any_count()};
  beat.step = Step(any_count());
  beat.phase = static_cast<ProcessPhase>(any_number(7));
  beat.seconds_in_phase = any_seconds();
  if (*gen::arbitrary<bool>()) beat.allowed_seconds = any_seconds();
  if (*gen::arbitrary<bool>()) beat.save_seconds = any_seconds();
  if (*gen::arbitrary<bool>()) beat.program_exit_code = any_number(255);
  if (*gen::arbitrary<bool>()) beat.committed = any_entry();
  for (std::uint32_t i = any_number(4); i > 0; --i) beat.unreachable_peers.push_back(any_text());
  if (*gen::arbitrary<bool>()) {
    beat.outlook =
        ProgressEstimate{.position = any_count(), .total = any_count(), .unit = any_text(), .loss = {}};
    if (*gen::arbitrary<bool>()) beat.outlook->loss = -any_seconds();
    if (*gen::arbitrary<bool>()) beat.outlook->best = any_text();
  }
  assert_survives(beat);

  assert_survives(OrdersRequest{.process = any_process(), .seen_revision = any_count()});
  const Attempt end = any_past_attempt();
  const ResumePoint last{.attempt = Attempt(*gen::inRange<std::uint64_t>(0, end.value() + 1)),
                         .step = Step(any_count()),
                         .digest = any_text()};
  Completed completed{.process = any_process(), .attempt = end, .step = last.step, .checkpoint = last};
  for (std::uint32_t i = any_number(4); i > 0; --i) completed.result[any_text()] = any_text();
  assert_survives(completed);
  assert_survives(CompletionRecord{.attempt = end, .step = last.step, .checkpoint = last});
}

RC_GTEST_PROP(Codec, EveryValidMessageOfTheCoordinatorSurvivesTheWire, ()) {
  assert_survives(any_assignment());
  assert_survives(JoinReply{.assignment = any_assignment()});
  assert_survives(JoinReply{.assignment = {}, .waiting_for = any_text()});
  Orders orders{.revision = any_count(), .attempt = Attempt(any_count()), .stop = *gen::arbitrary<bool>()};
  orders.save_request = any_count();
  orders.hand_over = *gen::arbitrary<bool>();
  orders.hung = *gen::arbitrary<bool>();
  if (*gen::arbitrary<bool>()) orders.drain_deadline_seconds = any_seconds();
  if (*gen::arbitrary<bool>()) orders.reason = any_text();
  assert_survives(orders);
  assert_survives(Refusal{.kind = any_text(), .message = any_text()});
}

const std::vector<std::string>& golden_texts() {
  static const std::vector<std::string> texts = [] {
    std::vector<std::string> read;
    for (const auto& file : std::filesystem::directory_iterator("tests/unit/contract/golden"))
      read.push_back(test::read_text(file.path()));
    return read;
  }();
  return texts;
}

// A decoder refuses, or gives a message that can be sent on; it never throws and never gives half a message.
template <class T>
void assert_bounded(const std::string& text) {
  const Result<T> decoded = decode<T>(text);
  if (decoded) {
    RC_ASSERT(decode<T>(encode(*decoded)).has_value());
  } else {
    RC_ASSERT(!decoded.error().message().empty());
    RC_ASSERT(decoded.error().message().size() < 1024u);
  }
}

RC_GTEST_PROP(Codec, MutatedMessagesAreTakenOrRefusedWithoutHarm, ()) {
  std::string text = *gen::elementOf(golden_texts());
  const auto changes = *gen::inRange(1, 6);
  for (int i = 0; i < changes && !text.empty(); ++i) {
    const auto at = *gen::inRange<std::size_t>(0, text.size());
    switch (*gen::inRange(0, 4)) {
      case 0:
        text[at] = static_cast<char>(*gen::inRange(0, 256));
        break;
      case 1:
        text.erase(at, *gen::inRange<std::size_t>(1, 12));
        break;
      case 2:
        text.insert(at,
                    *gen::elementOf(std::vector<std::string>{"[", "{", "\"", "0", "-", "1e9", "null", ","}));
        break;
      default:
        text.insert(at, text.substr(at / 2, 40));
        break;
    }
  }
  assert_bounded<JoinRequest>(text);
  assert_bounded<Assignment>(text);
  assert_bounded<JoinReply>(text);
  assert_bounded<Heartbeat>(text);
  assert_bounded<OrdersRequest>(text);
  assert_bounded<Orders>(text);
  assert_bounded<Completed>(text);
  assert_bounded<CompletionRecord>(text);
  assert_bounded<Refusal>(text);
}

}  // namespace
}  // namespace ratoon::codec_property_test
