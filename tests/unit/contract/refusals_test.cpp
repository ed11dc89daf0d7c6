// Invalid values are refused with a sentence that names the field, the expected value and the found one.
#include <functional>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/contract/codec.h"
#include "tests/unit/contract/golden_messages.h"

namespace ratoon::refusals_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

// The error of decoding: empty if the message is accepted.
using Decoder = std::function<std::string(const std::string& text)>;

template <class T>
std::string complaint_of(const std::string& text) {
  const auto decoded = decode<T>(text);
  if (decoded) return "";
  EXPECT_EQ(decoded.error().kind(), ErrorKind::kInvalid);
  EXPECT_LT(decoded.error().message().size(), 1024u) << "a refusal carries at most 1024 bytes";
  return decoded.error().message();
}

struct Subject {
  const char* name;
  json sound;
  Decoder decode;
  std::set<std::string> optional;  // paths that may be absent
};

template <class T>
Subject subject(const char* name, const T& message, std::set<std::string> optional) {
  return {name, json::parse(encode(message)), complaint_of<T>, std::move(optional)};
}

std::vector<Subject> subjects() {
  return {
      subject("join", test::golden_join(), {"/inventory", "/inventory/0/complete", "/inventory/1/complete"}),
      subject("join_after_steps", test::golden_join_after_steps(),
              {"/inventory", "/inventory/0/complete", "/inventory/1/complete", "/left_step"}),
      subject("join_after_a_world", test::golden_join_after_a_world(),
              {"/has_met", "/inventory", "/inventory/0/complete", "/inventory/1/complete", "/left_step"}),
      subject("join_with_an_old_list", test::golden_join_with_an_old_list(),
              {"/inventory", "/inventory/0/complete", "/inventory/1/complete", "/inventory_age_seconds"}),
      subject("join_with_a_save_location", test::golden_join_with_a_save_location(),
              {"/inventory", "/inventory/0/complete", "/inventory/1/complete", "/save_location"}),
      subject("assignment", test::golden_assignment(), {"/resume"}),
      subject("assignment_with_peers", test::golden_assignment_with_peers(), {"/peers", "/resume"}),
      subject("join_reply", JoinReply{.assignment = test::golden_assignment(), .waiting_for = ""},
              {"/assignment/resume"}),
      subject("join_reply_waiting", JoinReply{.assignment = {}, .waiting_for = "others"}, {}),
      subject("beat", test::golden_beat(), {"/committed", "/committed/complete"}),
      subject("beat_with_unreachable_peers", test::golden_beat_with_unreachable_peers(),
              {"/committed", "/committed/complete", "/unreachable_peers"}),
      subject("beat_with_deadline", test::golden_beat_with_deadline(), {"/allowed_seconds"}),
      subject("beat_with_outlook", test::golden_beat_with_outlook(), {"/outlook", "/outlook/loss"}),
      subject("beat_with_save", test::golden_beat_with_save(), {"/save_seconds"}),
      subject("beat_with_exit_code", test::golden_beat_with_exit_code(), {"/program_exit_code"}),
      subject("orders_request", OrdersRequest{.process = test::golden_process(), .seen_revision = 12}, {}),
      subject("orders", test::golden_orders(), {"/drain_deadline_seconds", "/stop", "/reason"}),
      subject("orders_to_hand_over", test::golden_orders_to_hand_over(),
              {"/save_request", "/hand_over", "/reason"}),
      subject("orders_after_hang", test::golden_orders_after_hang(), {"/hung", "/reason"}),
      subject("completion_record",
              CompletionRecord{
                  .attempt = Attempt(7), .step = Step(9000), .checkpoint = test::golden_last_checkpoint()},
              {}),
      subject("completed", test::golden_completed(), {"/result", "/result/accuracy", "/result/loss"}),
      subject("refusal", Refusal{.kind = "superseded", .message = "replaced"}, {}),
  };
}

// "/inventory/0/tier" is called "inventory[].tier" in a sentence; items of plain lists have the list's name.
std::string path_in_sentence(const json::json_pointer& path) {
  std::string name;
  for (auto left = path; !left.empty(); left.pop_back()) {
    const bool is_index = left.back().find_first_not_of("0123456789") == std::string::npos;
    if (is_index)
      name = "[]" + (name.empty() ? name : "." + name);
    else
      name = left.back() + (name.empty() || name.front() == '[' ? name : "." + name);
  }
  if (name == "unreachable_peers[]") name = "unreachable_peers";
  return name;
}

std::vector<json::json_pointer> fields_of(const json& message) {
  std::vector<json::json_pointer> paths;
  const std::function<void(const json&, const json::json_pointer&)> walk = [&](const json& value,
                                                                               const json::json_pointer& at) {
    if (!at.empty()) paths.push_back(at);
    if (value.is_object())
      for (const auto& item : value.items()) walk(item.value(), at / item.key());
    if (value.is_array())
      for (std::size_t i = 0; i < value.size(); ++i) walk(value[i], at / i);
  };
  walk(message, json::json_pointer());
  return paths;
}

TEST(Refusals, EveryRequiredFieldIsMissedByItsName) {
  for (const auto& subject : subjects()) {
    for (const auto& path : fields_of(subject.sound)) {
      SCOPED_TRACE(subject.name + path.to_string());
      if (path.parent_pointer() != json::json_pointer() && subject.sound[path.parent_pointer()].is_array())
        continue;
      json message = subject.sound;
      message[path.parent_pointer()].erase(path.back());
      const std::string complaint = subject.decode(message.dump());
      if (subject.optional.contains(path.to_string())) {
        EXPECT_EQ(complaint, "");
      } else if (path.to_string() == "/assignment") {
        EXPECT_EQ(complaint, "waiting_for must be a text that is not empty, found nothing");
      } else {
        EXPECT_THAT(complaint, StartsWith(path_in_sentence(path) + " must be "));
        EXPECT_THAT(complaint, HasSubstr(", found nothing"));
      }
    }
  }
}

TEST(Refusals, EveryFieldOfAnotherTypeIsNamed) {
  const std::vector<json> values = {
      json::object(), json::array(), "text", true, -1, 1.5, json::array({json::object()})};
  for (const auto& subject : subjects()) {
    for (const auto& path : fields_of(subject.sound)) {
      const json& sound = subject.sound[path];
      for (const auto& wrong : values) {
        SCOPED_TRACE(subject.name + path.to_string() + " = " + wrong.dump());
        const bool is_seconds = sound.is_number_float();
        const bool has_any_sign = path.to_string() == "/outlook/loss";
        if (wrong.type() == sound.type() && !wrong.is_object() && !wrong.is_array()) continue;
        if (is_seconds && wrong.is_number() && (has_any_sign || wrong >= 0)) continue;
        if (sound.is_object() && wrong.is_object() && subject.optional.contains(path.to_string())) continue;
        if (sound.is_array() && wrong == json::array()) continue;  // an empty list is a list
        json message = subject.sound;
        message[path] = wrong;
        EXPECT_THAT(subject.decode(message.dump()), HasSubstr(" must be "));
        if (!sound.is_structured()) {
          EXPECT_THAT(subject.decode(message.dump()), StartsWith(path_in_sentence(path) + " must be "));
        }
      }
    }
  }
}

TEST(Refusals, CountsOverTheirBoundsAreNamed) {
  for (const auto& subject : subjects()) {
    for (const auto& path : fields_of(subject.sound)) {
      const json& sound = subject.sound[path];
      if (!sound.is_number_unsigned()) continue;
      for (const json& wrong : {json((1ULL << 53)), json(0xffffffffffffffffULL), json(1e300)}) {
        SCOPED_TRACE(subject.name + path.to_string() + " = " + wrong.dump());
        json message = subject.sound;
        message[path] = wrong;
        const std::string complaint = subject.decode(message.dump());
        EXPECT_THAT(complaint, HasSubstr(path_in_sentence(path)));
      }
    }
  }
}

// No text may be so long that a program that stores or prints it is harmed.
TEST(Refusals, TextsOfSixtyKibibytesAreRefusedAndNotRepeated) {
  for (const auto& subject : subjects()) {
    for (const auto& path : fields_of(subject.sound)) {
      if (!subject.sound[path].is_string()) continue;
      SCOPED_TRACE(subject.name + path.to_string());
      json message = subject.sound;
      message[path] = std::string(60 * 1024, 'x');
      const std::string complaint = subject.decode(message.dump());
      if (path.to_string() == "/phase") {
        EXPECT_THAT(complaint, StartsWith("phase must be "));
        continue;
      }
      EXPECT_THAT(complaint, StartsWith(path_in_sentence(path) + " must be a text "));
      EXPECT_LT(complaint.size(), 200u);
    }
  }
}

struct Sentence {
  const char* name;
  Decoder decode;
  std::string text;
  std::string sentence;
};

std::string with(const json& message, const char* pointer, const json& value) {
  json changed = message;
  changed[json::json_pointer(pointer)] = value;
  return changed.dump();
}

std::vector<Sentence> invalid_joins() {
  const json join = json::parse(encode(test::golden_join()));
  return {
      {"an address without a port", complaint_of<JoinRequest>, with(join, "/address", "host"),
       "address must be host:port, found \"host\""},
      {"port 0", complaint_of<JoinRequest>, with(join, "/address", "host:0"),
       "address must be host:port, found \"host:0\""},
      {"port 65536", complaint_of<JoinRequest>, with(join, "/address", "host:65536"),
       "address must be host:port, found \"host:65536\""},
      {"a port with a sign", complaint_of<JoinRequest>, with(join, "/address", "host:+80"),
       "address must be host:port, found \"host:+80\""},
      {"a port without a host", complaint_of<JoinRequest>, with(join, "/address", ":80"),
       "address must be host:port, found \":80\""},
      {"a local rank outside its node", complaint_of<JoinRequest>, with(join, "/processes_per_node", 1),
       "processes_per_node must be a number greater than process.local_rank (1), found 1"},
      {"no process at all", complaint_of<JoinRequest>, with(join, "/processes_per_node", 0),
       "processes_per_node must be at least 1, found 0"},
      {"an unknown tier", complaint_of<JoinRequest>, with(join, "/inventory/0/tier", "tape"),
       "inventory[].tier must be one of staged, local, volume, store, found \"tape\""},
      {"65 checkpoints", complaint_of<JoinRequest>, with(join, "/inventory", json(65, join["inventory"][0])),
       "inventory must be a list of at most 64 items, found "},
  };
}

std::vector<Sentence> invalid_assignments() {
  const json assignment = json::parse(encode(test::golden_assignment()));
  return {
      {"attempt 0", complaint_of<Assignment>, with(assignment, "/attempt", 0),
       "attempt must be at least 1, found 0"},
      {"a rank outside the world", complaint_of<Assignment>, with(assignment, "/rank", 8),
       "rank must be a rank less than world_size (8), found 8"},
      {"a resume point of the future", complaint_of<Assignment>, with(assignment, "/resume/attempt", 7),
       "resume.attempt must be an attempt number below the assignment's attempt, found 7"},
      {"no time between beats", complaint_of<Assignment>, with(assignment, "/beat_seconds", 0.0),
       "beat_seconds must be more than 0, found 0.0"},
      {"eleven years between beats", complaint_of<Assignment>, with(assignment, "/beat_seconds", 3.5e8),
       "beat_seconds must be a number of seconds from 0 to 10 years, found 350000000.0"},
      {"65 peers", complaint_of<Assignment>,
       with(assignment, "/peers", json(65, {{"address", "host:1"}, {"member_uid", "u"}})),
       "peers must be a list of at most 64 items, found "},
      {"a peer without a port", complaint_of<Assignment>,
       with(assignment, "/peers", json::array({{{"address", "host"}, {"member_uid", "u"}}})),
       "peers[].address must be host:port, found \"host\""},
  };
}

std::vector<Sentence> invalid_beats() {
  const json beat = json::parse(encode(test::golden_beat()));
  return {
      {"an unreachable peer that is a number", complaint_of<Heartbeat>, with(beat, "/unreachable_peers", {1}),
       "unreachable_peers must be a text of 1 to 253 bytes in each item, found [1]"},
      {"an unreachable peer without a name", complaint_of<Heartbeat>,
       with(beat, "/unreachable_peers", {"u", ""}),
       "unreachable_peers must be a text of 1 to 253 bytes in each item, found [\"u\",\"\"]"},
      {"a long peer", complaint_of<Heartbeat>, with(beat, "/unreachable_peers", {std::string(254, 'u')}),
       "unreachable_peers must be a text of 1 to 253 bytes in each item, found [\"uuu"},
      {"65 unreachable peers", complaint_of<Heartbeat>, with(beat, "/unreachable_peers", json(65, "u")),
       "unreachable_peers must be a list of at most 64 items, found [\"u\",\"u"},
      {"not an object", complaint_of<Heartbeat>, "[1]", "the message must be a JSON object, found [1]"},
      {"nothing", complaint_of<Heartbeat>, "", "not valid JSON: "},
      {"half a message", complaint_of<Heartbeat>, beat.dump().substr(0, 80), "not valid JSON: "},
      {"NaN", complaint_of<Heartbeat>, R"({"version":1,"seconds_in_phase":NaN})", "not valid JSON: "},
      {"a number too large for a double", complaint_of<Heartbeat>, R"({"version":1e999})",
       "not valid JSON: "},
      {"bytes that are not UTF-8", complaint_of<Heartbeat>, "{\"version\":1,\"phase\":\"\xff\xfe\"}",
       "not valid JSON: "},
      {"two messages", complaint_of<Heartbeat>, beat.dump() + beat.dump(), "not valid JSON: "},
      {"129 KiB", complaint_of<Heartbeat>, std::string(129 * 1024, ' '),
       "a message of 132096 bytes is over the limit of 131072 bytes"},
      {"a thousand levels", complaint_of<Heartbeat>, std::string(1000, '[') + std::string(1000, ']'),
       "JSON is nested deeper than 8 levels"},
      {"an endless level", complaint_of<Heartbeat>, std::string(65536, '['), ""},
      {"a long word that is not JSON", complaint_of<Heartbeat>, "\"" + std::string(60000, 'x'),
       "not valid JSON: "},
  };
}

void expect_sentences(const std::vector<Sentence>& cases) {
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const std::string complaint = c.decode(c.text);
    EXPECT_THAT(complaint, StartsWith(c.sentence));
    EXPECT_NE(complaint, "");
  }
}

TEST(Refusals, SayWhatIsWrongAndWhatWasFound) {
  expect_sentences(invalid_joins());
  expect_sentences(invalid_assignments());
  expect_sentences(invalid_beats());
}

TEST(Refusals, OfAnEndSayWhatIsWrongToo) {
  const json completed = json::parse(encode(test::golden_completed()));
  expect_sentences({
      {"a result that is a list", complaint_of<Completed>, with(completed, "/result", {1}),
       "result must be an object of at most 16 texts, found [1]"},
      {"a result without a name", complaint_of<Completed>, with(completed, "/result", {{"", "x"}}),
       "result must be an object whose keys have 1 to 253 bytes, found {\"\":\"x\"}"},
      {"a result of a number", complaint_of<Completed>, with(completed, "/result/loss", 1.5),
       "result.loss must be a text in quotes of at most 253 bytes, found 1.5"},
      {"an end without its checkpoint", complaint_of<Completed>, with(completed, "/checkpoint/step", 8999),
       "checkpoint.step must be equal to the run's last step (9000), found 8999"},
      {"a record without its checkpoint", complaint_of<CompletionRecord>,
       json::parse(R"({"attempt":7,"step":9000,"version":1})").dump(),
       "checkpoint must be an object, found nothing"},
  });
}

// The next attempt follows from it; a wrong number must not use up all numbers.
TEST(Refusals, AnAttemptThatNobodyCanHaveBeenIn) {
  const json join = json::parse(encode(test::golden_join()));
  EXPECT_EQ(complaint_of<JoinRequest>(with(join, "/left_attempt", 1'000'000'000)), "");
  EXPECT_EQ(complaint_of<JoinRequest>(with(join, "/left_attempt", 1'000'000'001)),
            "left_attempt must be a whole number from 0 to 1000000000, found 1000000001");
  EXPECT_EQ(complaint_of<JoinRequest>(with(join, "/inventory/0/attempt", 1'000'000'001)),
            "inventory[].attempt must be a whole number from 0 to 1000000000, found 1000000001");
  const json beat = json::parse(encode(test::golden_beat()));
  EXPECT_EQ(complaint_of<Heartbeat>(with(beat, "/attempt", 1'000'000'000)), "");
  EXPECT_EQ(complaint_of<Heartbeat>(with(beat, "/attempt", 1'000'000'001)),
            "attempt must be a whole number from 0 to 1000000000, found 1000000001");
}

TEST(Refusals, ASecretIsNeverRepeated) {
  const json assignment = json::parse(encode(test::golden_assignment()));
  EXPECT_EQ(complaint_of<Assignment>(with(assignment, "/secret", 17)),
            "secret must be a text of 32 to 128 hexadecimal digits, found 17");
  for (const std::string& text : {std::string(), std::string(31, 'a'), std::string(129, 'a'),
                                  std::string(64, 'g'), std::string(64, 'A')}) {
    EXPECT_EQ(complaint_of<Assignment>(with(assignment, "/secret", text)),
              "secret must be a text of 32 to 128 hexadecimal digits");
  }
  for (const std::size_t digits : {32u, 128u})
    EXPECT_EQ(complaint_of<Assignment>(with(assignment, "/secret", std::string(digits, 'a'))), "");
}

// Depth is counted so that a value accepted at the limit is refused one level further.
TEST(Refusals, EightLevelsAreTaken) {
  json message = json::parse(encode(test::golden_orders()));
  message["newer"] = json::parse(std::string(7, '[') + std::string(7, ']'));
  EXPECT_EQ(complaint_of<Orders>(message.dump()), "");
  message["newer"] = json::parse(std::string(9, '[') + std::string(9, ']'));
  EXPECT_EQ(complaint_of<Orders>(message.dump()), "JSON is nested deeper than 8 levels");
}

TEST(Versions, OlderAndNewerOnesAreRefusedWithWhatToDo) {
  const json orders = json::parse(encode(test::golden_orders()));
  EXPECT_EQ(complaint_of<Orders>(with(orders, "/version", 1)), "");
  for (const int version : {0, 2}) {
    EXPECT_EQ(
        complaint_of<Orders>(with(orders, "/version", version)),
        "the message has version " + std::to_string(version) +
            " of the contract between agent and operator, and this program reads versions 1 to 1: update "
            "the older of agent and operator; if both are old, update the operator first");
  }
  EXPECT_EQ(complaint_of<Orders>("{}"),
            "version must be a whole number from 0 to 9007199254740991, found nothing");
  EXPECT_THAT(complaint_of<Orders>(with(orders, "/version", "1")),
              StartsWith("version must be a whole number"));
}

// A newer agent may send an additional field and do work for which this version has no word.
TEST(NewerMessages, AreTakenWithoutWhatIsUnknown) {
  for (const auto& subject : subjects()) {
    SCOPED_TRACE(subject.name);
    json message = subject.sound;
    message["invented_later"] = {{"deep", {1, 2, 3}}};
    EXPECT_EQ(subject.decode(message.dump()), "");
  }
  json beat = json::parse(encode(test::golden_beat()));
  beat["phase"] = "dreaming";
  beat["process"]["colour"] = "green";
  const auto decoded = decode<Heartbeat>(beat.dump());
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->phase, ProcessPhase::kUser);
}

TEST(Refusals, ADeadlineBeforeItsPhaseBeganIsNone) {
  json beat = json::parse(encode(test::golden_beat_with_deadline()));
  beat["allowed_seconds"] = -1.0;
  EXPECT_EQ(complaint_of<Heartbeat>(beat.dump()),
            "allowed_seconds must be a number of seconds from 0 to 10 years, found -1.0");
}

TEST(NewerMessages, ANullIsAsGoodAsAbsent) {
  const auto decoded =
      decode<Orders>(R"({"version":1,"revision":3,"attempt":2,"drain_deadline_seconds":null})");
  ASSERT_TRUE(decoded);
  EXPECT_EQ(*decoded, (Orders{.revision = 3, .attempt = Attempt(2)}));
}

}  // namespace
}  // namespace ratoon::refusals_test
