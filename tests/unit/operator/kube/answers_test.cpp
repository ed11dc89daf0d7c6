// The answers of the server, and the small values that are sent to it.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "operator/kube/api_failure.h"
#include "operator/kube/objects/event.h"
#include "operator/kube/objects/token_review.h"
#include "operator/kube/patch.h"

namespace ratoon::kube::answers_test {
namespace {

using nlohmann::json;

std::string status(const std::string& reason, const std::string& message = "m") {
  return json{{"kind", "Status"}, {"reason", reason}, {"message", message}}.dump();
}

TEST(ApiFailure, SaysWhatMayBeDoneAboutIt) {
  EXPECT_EQ(read_api_failure(404, status("NotFound"), "").error.kind(), ErrorKind::kNotFound);
  EXPECT_EQ(read_api_failure(409, status("AlreadyExists"), "").error.kind(), ErrorKind::kAlreadyExists);
  EXPECT_EQ(read_api_failure(409, status("Conflict"), "").error.kind(), ErrorKind::kConflict);
  EXPECT_EQ(read_api_failure(401, "", "").error.kind(), ErrorKind::kPermissionDenied);
  EXPECT_EQ(read_api_failure(403, status("Forbidden"), "").error.kind(), ErrorKind::kPermissionDenied);
  EXPECT_EQ(read_api_failure(403, status("Forbidden", "exceeded quota: pods"), "").error.kind(),
            ErrorKind::kNoSpace);
  EXPECT_EQ(read_api_failure(422, status("Invalid"), "").error.kind(), ErrorKind::kInvalid);
  EXPECT_EQ(read_api_failure(504, status("Timeout"), "").error.kind(), ErrorKind::kTimeout);
  EXPECT_TRUE(read_api_failure(410, status("Expired"), "").is_expired());
  EXPECT_TRUE(read_api_failure(json{{"code", 410}}).is_expired());
  EXPECT_FALSE(read_api_failure(json{{"code", "x"}}).is_expired());
}

TEST(ApiFailure, KnowsWhenToAskAgain) {
  EXPECT_EQ(read_api_failure(429, "slow down", "7").retry_after_seconds, 7u);
  EXPECT_EQ(read_api_failure(429, "slow down", "7").requested_retry_delay(), std::chrono::seconds(7));
  EXPECT_EQ(read_api_failure(503, "slow down", "7").requested_retry_delay(), std::chrono::seconds(7));
  EXPECT_EQ(read_api_failure(409, "slow down", "7").requested_retry_delay(), std::nullopt)
      << "it is not overloaded";
  EXPECT_EQ(read_api_failure(503, "slow down", "").requested_retry_delay(), std::nullopt);
  EXPECT_EQ(read_api_failure(429, "slow down", "7").error.message(), "the API server answers 429: slow down");
  EXPECT_EQ(read_api_failure(429, R"({"kind": "Status", "details": {"retryAfterSeconds": 3}})", "")
                .retry_after_seconds,
            3u);
  for (const char* bad : {"", "-1", "tomorrow", "99999"})
    EXPECT_EQ(read_api_failure(503, "", bad).retry_after_seconds, std::nullopt) << bad;
}

TEST(Patch, TurnsOneIntoTheOther) {
  const json from = json::parse(R"({"a": 1, "b": {"x": 1, "y": 2}, "c": [1], "gone": {"q": 1}})");
  const json to = json::parse(R"({"a": 1, "b": {"x": 1, "z": 3}, "c": [1, 2], "new": {"k": {}}})");
  const json patch = patch_between(from, to);
  EXPECT_EQ(patch, json::parse(R"({"b": {"y": null, "z": 3}, "c": [1, 2], "gone": null, "new": {"k": {}}})"));
  json patched = from;
  patched.merge_patch(patch);
  EXPECT_EQ(patched, to);
  EXPECT_TRUE(patch_between(to, to).empty());
  EXPECT_EQ(patch_between(json(), to), to);
}

json review() {
  return json::parse(R"({"status": {"authenticated": true, "audiences": ["ratoon"], "user": {
    "username": "system:serviceaccount:team-a:trainer", "extra": {
      "authentication.kubernetes.io/pod-name": ["w-0"], "authentication.kubernetes.io/pod-uid": ["p"]}}}})");
}

TEST(TokenReview, TellsWhosePodItIs) {
  EXPECT_EQ(*read_token_review(review()),
            (TokenIdentity{
                .name_space = "team-a", .service_account = "trainer", .pod_name = "w-0", .pod_uid = "p"}));
}

TEST(TokenReview, RefusesAllOthers) {
  const std::pair<const char*, json> lies[] = {
      {"/status/authenticated", false},
      {"/status/authenticated", "true"},
      {"/status/audiences", json::array({"https://kubernetes"})},
      {"/status/audiences", nullptr},
      {"/status/user/username", "admin"},
      {"/status/user/username", "system:serviceaccount:x"},
      {"/status/user/username", "system:serviceaccounts:a:b"},
      {"/status/user/username", "oidc:whoever:from-elsewhere:team-a:trainer"},
      {"/status/user/extra", nullptr},
      {"/status/user/extra/authentication.kubernetes.io~1pod-uid", json::array()}};
  for (const auto& [path, value] : lies) {
    json reply = review();
    reply[json::json_pointer(path)] = value;
    const auto identity = read_token_review(reply);
    ASSERT_FALSE(identity) << path;
    EXPECT_EQ(identity.error().kind(), ErrorKind::kPermissionDenied);
  }
}

TEST(Event, KeepsTheServersBounds) {
  const api::ObjectMeta job{.name_space = "n", .name = "j", .uid = "u"};
  const json event =
      make_event(job, {.reason = "Two Words", .message = std::string(2000, 'x')}, "j.1", "", WallTime{});
  EXPECT_EQ(event["eventTime"], "1970-01-01T00:00:00.000000Z");
  EXPECT_EQ(event["reason"], "TwoWords");
  EXPECT_EQ(event["note"].get<std::string>().size(), 1000u);
  EXPECT_EQ(event["regarding"]["uid"], "u");
  EXPECT_FALSE(event.contains("series")) << "the server takes none of one";
  EXPECT_EQ(make_event(job, {.reason = "R"}, "j.1", "", WallTime{}, 2)["series"]["count"], 2);
  EXPECT_EQ(
      make_event_repeat_patch(std::string(2000, 'x'), 2, WallTime{})["message"].get<std::string>().size(),
      1000u);
}

}  // namespace
}  // namespace ratoon::kube::answers_test
