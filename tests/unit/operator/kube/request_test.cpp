#include "operator/kube/request.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace ratoon::kube::request_test {
namespace {

using nlohmann::json;

const ObjectReference kPod{.resource = kPods, .name_space = "team-a", .name = "w-0"};

TEST(Requests, NameWhatTheyAreAbout) {
  EXPECT_EQ(list({.resource = kTrainingJobs}, 500, "")->target,
            "/apis/ratoon.dev/v1alpha1/trainingjobs?limit=500");
  EXPECT_EQ(list({kPods, "team-a", "ratoon.dev/job-uid"}, 7, "a/b=")->target,
            "/api/v1/namespaces/team-a/pods?limit=7&labelSelector=ratoon.dev%2Fjob-uid&continue=a%2Fb%3D");
  EXPECT_EQ(list({.resource = kPods, .field_selector = "metadata.name=a&b"}, 7, "")->target,
            "/api/v1/pods?limit=7&fieldSelector=metadata.name%3Da%26b");
  EXPECT_EQ(watch({.resource = kNodes}, "42", 60)->target,
            "/api/v1/nodes?watch=true&allowWatchBookmarks=true&resourceVersion=42&timeoutSeconds=60");
  EXPECT_EQ(get(kPod)->target, "/api/v1/namespaces/team-a/pods/w-0");
  EXPECT_EQ(create({.resource = kTokenReviews}, json::object())->target,
            "/apis/authentication.k8s.io/v1/tokenreviews");
  EXPECT_EQ(create({.resource = kPods, .name_space = "n"}, json::object(), UnknownFields::kRefused)->target,
            "/api/v1/namespaces/n/pods?fieldValidation=Strict");
}

TEST(Requests, SayWhatTheyAreAsTheServersMetricsDo) {
  const auto is = [](const Result<ApiRequest>& request, std::string_view verb, std::string_view resource) {
    return request && request->verb == verb && request->resource == resource;
  };
  EXPECT_TRUE(is(list({.resource = kTrainingJobs}, 500, ""), "list", "trainingjobs"));
  EXPECT_TRUE(is(watch({.resource = kNodes}, "42", 60), "watch", "nodes"));
  EXPECT_TRUE(is(get(kPod), "get", "pods"));
  EXPECT_TRUE(is(create({.resource = kTokenReviews}, json::object()), "create", "tokenreviews"));
  EXPECT_TRUE(is(remove(kPod, "u-1", 1), "delete", "pods"));
  EXPECT_TRUE(is(make_patch_request(kPod, json::object()), "patch", "pods"));
  EXPECT_TRUE(is(make_status_patch_request(kPod, "17", json::object()), "patch", "pods"));
}

TEST(Requests, DeletionNamesTheUidAndRefusesToDoWithout) {
  const auto request = remove(kPod, "u-1", 1);
  ASSERT_TRUE(request);
  EXPECT_EQ(request->method, "DELETE");
  const json body = json::parse(request->body);
  EXPECT_EQ(body["preconditions"]["uid"], "u-1");
  EXPECT_EQ(body["gracePeriodSeconds"], 1);
  EXPECT_FALSE(body["preconditions"].contains("resourceVersion"));
  EXPECT_EQ(json::parse(remove(kPod, "u-1", 1, "17")->body)["preconditions"]["resourceVersion"], "17");
  EXPECT_FALSE(remove(kPod, "", 1));
  EXPECT_EQ(json::parse(remove(kPod, "u-1", 1)->body)["gracePeriodSeconds"], 1);
  EXPECT_FALSE(json::parse(remove(kPod, "u-1", std::nullopt)->body).contains("gracePeriodSeconds"));
}

TEST(Requests, AStatusNamesTheVersionThatItsWriterRead) {
  const ObjectReference job{.resource = kTrainingJobs, .name_space = "team-a", .name = "j"};
  const auto request = make_status_patch_request(job, "17", {{"phase", "Running"}});
  ASSERT_TRUE(request);
  EXPECT_EQ(request->method, "PATCH");
  EXPECT_EQ(request->target, "/apis/ratoon.dev/v1alpha1/namespaces/team-a/trainingjobs/j/status");
  EXPECT_EQ(request->content_type, "application/merge-patch+json");
  EXPECT_EQ(json::parse(request->body),
            json::parse(R"({"metadata": {"resourceVersion": "17"}, "status": {"phase": "Running"}})"));
  EXPECT_FALSE(make_status_patch_request(job, "", json::object()));
}

TEST(Requests, NoNameReachesAnotherObject) {
  for (const char* name : {"", ".", "..", "a/b", "a%2fb"}) {
    EXPECT_FALSE(get({.resource = kPods, .name_space = "team-a", .name = name})) << name;
    EXPECT_FALSE(get({.resource = kPods, .name_space = name, .name = "w-0"})) << name;
  }
  EXPECT_FALSE(get({.resource = kPods, .name_space = "team-a", .name = std::string(254, 'a')}));
  EXPECT_FALSE(create({.resource = kPods}, json::object())) << "a pod without a namespace";
  EXPECT_EQ(get({.resource = kPods, .name_space = "n", .name = "a?b#c d\xC3\xA9"})->target,
            "/api/v1/namespaces/n/pods/a%3Fb%23c%20d%C3%A9");
}

TEST(Requests, BytesThatAreNoTextDoNotThrow) {
  const auto request = create(ObjectReference{.resource = kPods, .name_space = "n"}, {{"x", "\xFF"}});
  ASSERT_TRUE(request);
  EXPECT_EQ(request->body, "{\"x\":\"\xEF\xBF\xBD\"}");
}

}  // namespace
}  // namespace ratoon::kube::request_test
