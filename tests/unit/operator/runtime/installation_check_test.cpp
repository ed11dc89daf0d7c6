#include "operator/runtime/installation_check.h"

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ratoon::runtime::installation_check_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr const char* kDeployment = "GET /apis/apps/v1/namespaces/system/deployments/ratoon";
constexpr const char* kLease = "GET /apis/coordination.k8s.io/v1/namespaces/system/leases/ratoon";
constexpr const char* kJob =
    "POST /apis/ratoon.dev/v1alpha1/namespaces/system/trainingjobs?fieldValidation=Strict&dryRun=All";

http::Response answer(int status, const json& body) {
  return {.status = status, .headers = {}, .body = body.dump()};
}

http::Response available(const char* status) {
  return answer(200, {{"status",
                       {{"conditions",
                         {{{"type", "Progressing"}, {"status", "True"}},
                          {{"type", "Available"}, {"status", status}, {"message", "too few pods"}}}}}}});
}

http::Response held_by(const char* holder) {
  return answer(200, {{"spec", {{"holderIdentity", holder}}}});
}

http::Response refused(int status, const char* message) {
  return answer(status, {{"kind", "Status"}, {"message", message}, {"code", status}});
}

// By call: the answers in their order; the last one stays.
using Answers = std::map<std::string, std::deque<http::Response>>;

class Server final : public http::HttpTransport {
 public:
  Server(Answers& answers, std::string& body) : answers_(answers), body_(body) {}

  Result<http::Response> call(const http::Request& request, const http::Limits&, std::stop_token) override {
    const std::string called = request.method + " " + request.url.substr(std::string("http://server").size());
    auto& left = answers_[called];
    if (left.empty()) return Error(ErrorKind::kInvalid, "unexpected call: " + called);
    if (!request.body.empty()) body_ = request.body;
    http::Response next = left.front();
    if (left.size() > 1) left.pop_front();
    return next;
  }
  Result<http::ResponseHead> stream(const http::Request&, const http::Limits&, http::BodySink&,
                                    std::stop_token) override {
    return Error(ErrorKind::kUnavailable, "this test has no watch");
  }

 private:
  Answers& answers_;
  std::string& body_;
};

class InstallationCheckTest : public testing::Test {
 protected:
  Result<void> check(Duration timeout) {
    kube::ApiServerAccess access;
    access.server = "http://server";
    access.name_space = "system";
    const ApiClient client(access, clock_, {}, nullptr, std::make_unique<Server>(answers_, body_));
    return check_installation(client, clock_,
                              {.deployment = "ratoon", .lease_name = "ratoon", .timeout = timeout});
  }

  void expect_error(const char* sentence) {
    const auto checked = check(Duration(0));
    ASSERT_FALSE(checked);
    EXPECT_THAT(checked.error().message(), HasSubstr(sentence));
  }

  SystemClock clock_;
  std::string body_;
  Answers answers_{
      {kDeployment, {available("True")}}, {kLease, {held_by("one")}}, {kJob, {answer(201, json::object())}}};
};

TEST_F(InstallationCheckTest, WaitsForAnOperatorThatStarts) {
  answers_[kDeployment] = {answer(200, json::object()), available("False"), available("True")};
  answers_[kLease] = {refused(404, "leases not found"), held_by(""), held_by("one")};
  EXPECT_TRUE(check(std::chrono::minutes(10)));
  const json job = json::parse(body_);
  EXPECT_EQ(job["kind"], "TrainingJob");
  EXPECT_EQ(job["metadata"]["namespace"], "system");
}

TEST_F(InstallationCheckTest, NamesTheMissingPart) {
  answers_[kDeployment] = {available("False")};
  expect_error("Deployment ratoon is not available: too few pods");
  answers_[kDeployment] = {answer(200, json::object())};
  expect_error("its status has no condition Available yet");
  answers_[kDeployment] = {refused(404, "deployments.apps \"ratoon\" not found")};
  expect_error("reading Deployment ratoon");
  answers_[kDeployment] = {available("True")};
  answers_[kLease] = {held_by("")};
  expect_error("Lease ratoon has no holder: no operator leads");
  answers_[kLease] = {refused(404, "leases not found")};
  expect_error("Lease ratoon does not exist: no operator leads");
  answers_[kLease] = {refused(403, "leases are forbidden")};
  expect_error("reading Lease ratoon");
  answers_[kLease] = {held_by("one")};
  answers_[kJob] = {refused(422, "spec.roles: Required value")};
  expect_error("checking a TrainingJob as a dry run");
}

}  // namespace
}  // namespace ratoon::runtime::installation_check_test
