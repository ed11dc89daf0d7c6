// The messages on the wire, byte for byte. If one of these fails, agents and operators of different age do
// not understand each other any more: add a version, do not edit the file.
#include <string>

#include <gtest/gtest.h>

#include "base/contract/codec.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/contract/golden_messages.h"

namespace ratoon::golden_test {
namespace {

std::string golden(const std::string& name) {
  std::string text = test::read_text(std::string("tests/unit/contract/golden/") + name + ".v1.json");
  if (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

template <class T>
void expect_golden(const std::string& name, const T& message) {
  SCOPED_TRACE(name);
  EXPECT_EQ(encode(message), golden(name));
  const Result<T> decoded = decode<T>(golden(name));
  ASSERT_TRUE(decoded) << decoded.error().message();
  EXPECT_EQ(*decoded, message);
}

TEST(GoldenMessages, OfAgentsEncodeAndDecodeAsTheyDidInVersion1) {
  expect_golden("join_request", test::golden_join());
  expect_golden("join_request_first", test::join_request(test::process(0)));
  expect_golden("beat", test::golden_beat());
  expect_golden("beat_with_outlook", test::golden_beat_with_outlook());
  expect_golden("beat_with_save", test::golden_beat_with_save());
  expect_golden("beat_with_exit_code", test::golden_beat_with_exit_code());
  expect_golden("beat_with_deadline", test::golden_beat_with_deadline());
  expect_golden("beat_with_damage", test::golden_beat_with_damage());
  expect_golden("beat_with_unreachable_peers", test::golden_beat_with_unreachable_peers());
  expect_golden("beat_first", Heartbeat{.process = test::golden_process()});
  expect_golden("orders_request", OrdersRequest{.process = test::golden_process(), .seen_revision = 12});
  expect_golden("join_request_after_steps", test::golden_join_after_steps());
  expect_golden("join_request_after_a_world", test::golden_join_after_a_world());
  expect_golden("join_request_with_an_old_list", test::golden_join_with_an_old_list());
  expect_golden("join_request_with_a_save_location", test::golden_join_with_a_save_location());
  expect_golden("join_request_with_rollback", test::golden_join_with_rollback());
  expect_golden("completion_record",
                CompletionRecord{
                    .attempt = Attempt(7), .step = Step(9000), .checkpoint = test::golden_last_checkpoint()});
  expect_golden("completion_record_weights", CompletionRecord{.attempt = Attempt(7),
                                                              .step = Step(9000),
                                                              .checkpoint = test::golden_last_checkpoint(),
                                                              .weights = "/runs/digits/weights.safetensors"});
  expect_golden("completion_record_finished", CompletionRecord{.attempt = Attempt(7),
                                                               .step = Step(9000),
                                                               .checkpoint = test::golden_last_checkpoint(),
                                                               .finish_reason = "the loss no longer falls"});
  expect_golden("completed", test::golden_completed());
}

TEST(GoldenMessages, OfTheCoordinatorEncodeAndDecodeAsTheyDidInVersion1) {
  expect_golden("assignment", test::golden_assignment());
  expect_golden("assignment_with_losses", test::golden_assignment_with_losses());
  expect_golden("assignment_with_peers", test::golden_assignment_with_peers());
  expect_golden("join_reply", JoinReply{.assignment = test::golden_assignment(), .waiting_for = ""});
  expect_golden("join_reply_waiting",
                JoinReply{.assignment = {}, .waiting_for = "1 of 2 processes are ready"});
  expect_golden("orders", test::golden_orders());
  expect_golden("orders_quiet", Orders{.revision = 1, .attempt = Attempt(1)});
  expect_golden("orders_to_hand_over", test::golden_orders_to_hand_over());
  expect_golden("orders_after_hang", test::golden_orders_after_hang());
  expect_golden("refusal", Refusal{.kind = "superseded", .message = "digits-worker-3-i2 was replaced"});
}

TEST(GoldenMessages, EveryPhaseHasItsWord) {
  const std::string beat = golden("beat");
  const std::string word = "\"phase\":\"collective\"";
  const auto at = beat.find(word);
  ASSERT_NE(at, std::string::npos);
  const std::pair<ProcessPhase, const char*> phases[] = {
      {ProcessPhase::kJoining, "joining"}, {ProcessPhase::kLoad, "load"},
      {ProcessPhase::kData, "data"},       {ProcessPhase::kCompute, "compute"},
      {ProcessPhase::kSave, "save"},       {ProcessPhase::kCollective, "collective"},
      {ProcessPhase::kUser, "user"},       {ProcessPhase::kValidate, "validate"}};
  for (const auto& [phase, name] : phases) {
    EXPECT_EQ(name_of(phase), name);
    std::string text = beat;
    text.replace(at, word.size(), "\"phase\":\"" + std::string(name) + "\"");
    const auto decoded = decode<Heartbeat>(text);
    ASSERT_TRUE(decoded) << decoded.error().message();
    EXPECT_EQ(decoded->phase, phase);
  }
}

// Text that is not UTF-8 (a path, a name from C) must not make an unreadable message.
TEST(Encode, ReplacesBytesThatAreNotUtf8) {
  const Orders orders{.revision = 1, .attempt = Attempt(1), .reason = "caf\xe9"};
  const auto decoded = decode<Orders>(encode(orders));
  ASSERT_TRUE(decoded) << decoded.error().message();
  EXPECT_EQ(decoded->reason, "caf\xef\xbf\xbd");
}

}  // namespace
}  // namespace ratoon::golden_test
