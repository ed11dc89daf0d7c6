// Law of messages: the messages of operator and agent can be read by the other side, at every bound.
// The sender cuts sentences, lists and durations beyond their bounds; a value that identifies an object is
// refused by its name.
#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/contract/codec.h"
#include "base/contract/limits.h"
#include "base/core/utf8.h"

namespace ratoon::words_property_test {
namespace {

namespace gen = rc::gen;

// Any bytes, also invalid text, of a length around one of the bounds.
std::string any_bytes() {
  const std::vector<std::string> pieces = {"a",  " ",  "\"",   "\n",       "\x01", "é",
                                           "漢", "😀", "\xff", "\xe2\x82", "\xc3"};
  const auto near = *gen::elementOf(std::vector<std::size_t>{0, 253, 256, 1024, 4096, 70'000});
  const auto size = near + *gen::inRange<std::size_t>(0, 8);
  std::string text;
  if (*gen::arbitrary<bool>()) return std::string(size, '\x01');
  for (std::size_t i = 0; i < 16; ++i) text += *gen::elementOf(pieces);
  while (text.size() < size) text += text;
  text.erase(0, text.size() - std::min(size, text.size()));
  return text;
}

double any_double() {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return *gen::elementOf(std::vector<double>{0, -0.0, 1e-320, 0.5, contract::kSecondsMax,
                                             2 * contract::kSecondsMax, 1e300, -1, kInfinity, -kInfinity,
                                             std::numeric_limits<double>::quiet_NaN()});
}

template <class T>
T heard(const T& message) {
  const Result<T> decoded = decode<T>(encode(message));
  if (!decoded) RC_FAIL(decoded.error().message());
  return *decoded;
}

// As much of the sentence as fits.
void assert_is_beginning(const std::string& heard_text, const std::string& said) {
  const std::string whole = as_utf8(said);
  RC_ASSERT(heard_text.size() <= contract::kMessageTextBytesMax);
  RC_ASSERT(heard_text == whole ||
            (whole.starts_with(heard_text) && heard_text.size() + 4 > contract::kMessageTextBytesMax));
}

void assert_is_near(double heard_seconds, double said) {
  RC_ASSERT(heard_seconds >= 0 && heard_seconds <= contract::kSecondsMax);
  if (said >= 0 && said <= contract::kSecondsMax) RC_ASSERT(heard_seconds == said);
}

RC_GTEST_PROP(LawOfWords, AgentsReadWhateverTheOperatorSays, ()) {
  const std::string said = any_bytes();
  const auto waiting = heard(JoinReply{.assignment = {}, .waiting_for = said});
  RC_ASSERT(!waiting.waiting_for.empty());
  if (!said.empty()) assert_is_beginning(waiting.waiting_for, said);

  Orders orders{.revision = 3, .attempt = Attempt(2), .drain_deadline_seconds = any_double()};
  orders.reason = said;
  const auto told = heard(orders);
  assert_is_beginning(told.reason, said);
  assert_is_near(told.drain_deadline_seconds.value(), *orders.drain_deadline_seconds);

  const auto refused = heard(Refusal{.kind = "superseded", .message = said});
  RC_ASSERT(!refused.message.empty());
  if (!said.empty()) assert_is_beginning(refused.message, said);
}

ProcessIdentity process_of(const std::string& text) {
  return {.job = {.name_space = text, .name = text},
          .role = text,
          .index = contract::kWorldSizeMax,
          .incarnation = 0xffffffffU,
          .member_uid = text,
          .local_rank = contract::kWorldSizeMax - 1,
          .start = text};
}

// Every text at its greatest length, of characters that JSON writes as six.
const std::string kLongestName(contract::kNameBytesMax, '\x01');
const std::string kLongestDigest(contract::kDigestBytesMax, '\x01');

InventoryEntry longest_entry() {
  return {.tier = "staged",
          .attempt = Attempt(contract::kAttemptMax),
          .step = Step(contract::kExactJsonIntegerMax),
          .digest = kLongestDigest,
          .is_complete = true};
}

RC_GTEST_PROP(LawOfWords, OperatorsReadWhateverAgentsSay, ()) {
  const auto many = *gen::elementOf(std::vector<std::size_t>{0, 1, 16, 17, 64, 65, 1024, 1025, 5000});
  JoinRequest join{.process = process_of(kLongestName), .processes_per_node = contract::kWorldSizeMax};
  join.address = std::string(contract::kAddressBytesMax - 6, '\x01') + ":65535";
  join.inventory.assign(many, longest_entry());
  join.inventory_age_seconds = any_double();
  join.left_attempt = Attempt(contract::kAttemptMax);
  join.left_step = Step(contract::kExactJsonIntegerMax);
  join.rollback = RollbackRequest{.resume_from = Step(contract::kExactJsonIntegerMax),
                                  .skip = contract::kSkippedSamplesMax};
  join.save_location = std::string(contract::kLocationBytesMax, '\x01');
  const JoinRequest heard_join = heard(join);
  RC_ASSERT(heard_join.inventory.size() == std::min(many, contract::kInventoryEntriesMax));
  RC_ASSERT(heard_join.save_location == join.save_location);
  join.save_location += "/";
  RC_ASSERT(heard(join).save_location.empty());
  join.save_location = any_bytes();
  const std::string heard_location = heard(join).save_location;
  RC_ASSERT(heard_location.empty() || heard_location == join.save_location);

  Heartbeat beat{
      .process = join.process, .attempt = join.left_attempt, .sequence = contract::kExactJsonIntegerMax};
  beat.seconds_in_phase = any_double();
  beat.allowed_seconds = any_double();
  beat.save_seconds = any_double();
  beat.program_exit_code = many;
  beat.committed = longest_entry();
  beat.damaged.assign(many, longest_entry());
  beat.unreachable_peers.assign(many, kLongestName);
  beat.outlook = ProgressEstimate{
      .position = contract::kExactJsonIntegerMax, .total = 0, .unit = kLongestName, .loss = any_double()};
  const Heartbeat heard_beat = heard(beat);
  RC_ASSERT(heard_beat.damaged.size() == std::min(many, kDamagedCheckpointsMax));
  RC_ASSERT(heard_beat.unreachable_peers.size() == std::min(many, kPeersMax));
  assert_is_near(heard_beat.seconds_in_phase, beat.seconds_in_phase);
  assert_is_near(heard_beat.allowed_seconds.value(), *beat.allowed_seconds);
  assert_is_near(heard_beat.save_seconds.value(), *beat.save_seconds);
  RC_ASSERT(heard_beat.program_exit_code == std::min<std::uint64_t>(many, 255));

  Completed completed{
      .process = join.process, .attempt = join.left_attempt, .step = Step(contract::kExactJsonIntegerMax)};
  completed.checkpoint = {.attempt = completed.attempt, .step = completed.step, .digest = kLongestDigest};
  for (std::size_t i = 0; i < contract::kResultNumbersMax; ++i)
    completed.result[kLongestName.substr(2) + std::to_string(10 + i)] = kLongestName;
  RC_ASSERT(heard(completed) == completed);
}

// A name that is cut would be another name.
RC_GTEST_PROP(LawOfWords, WhatIsBeyondABoundIsRefusedByItsName, ()) {
  ProcessIdentity process = process_of("a");
  std::string field;
  switch (*gen::inRange(0, 4)) {
    case 0:
      process.role = std::string(contract::kNameBytesMax + 1, 'x');
      field = "process.role";
      break;
    case 1:
      process.job.name.clear();
      field = "process.job.name";
      break;
    case 2:
      process.index = contract::kWorldSizeMax + 1;
      field = "process.index";
      break;
    default:
      process.start = std::string(contract::kNameBytesMax, '\xff');  // three bytes each, as text
      field = "process.start";
  }
  const auto refused = decode<OrdersRequest>(encode(OrdersRequest{.process = process, .seen_revision = 1}));
  RC_ASSERT(!refused.has_value());
  RC_ASSERT(refused.error().message().starts_with(field + " must be "));
}

}  // namespace
}  // namespace ratoon::words_property_test
