// One decision of the controller about a job, on a scripted API server.
#include "operator/runtime/controller.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/contract/names.h"
#include "operator/coordinator/coordinator.h"

namespace ratoon::runtime::controller_test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

constexpr int kMembers = 3;

// Stores one job, and gives scripted answers to each creation of a pod.
class Server {
 public:
  http::Response answer(const http::Request& request) {
    const bool is_of_pods = request.url.find("/pods") != std::string::npos;
    if (request.method == "GET" && request.url.find("/pods/") != std::string::npos) return of(200, holder);
    if (request.method == "GET" && request.url.ends_with("/trainingjobs/a")) return of(200, job_);
    if (request.method == "GET")
      return of(200, {{"metadata", {{"resourceVersion", "1"}}}, {"items", items_in(request.url)}});
    if (request.method == "POST" && is_of_pods) {
      ++creations;
      if (on_creation) on_creation();
      return creation_status == 201 ? created(request) : of(creation_status, creation);
    }
    if (request.method == "DELETE") {
      ++deletions;
      return of(deletion_status, deletion_status == 200 ? json(holder) : creation);
    }
    if (request.method == "PATCH") {
      job_.merge_patch(json::parse(request.body));
      job_["metadata"]["resourceVersion"] = std::to_string(++version_);
    }
    return of(200, job_);
  }

  // What an edit by hand, or a newer operator, may leave.
  void make_unreadable() {
    job_["spec"].erase("roles");
    job_["metadata"]["resourceVersion"] = std::to_string(++version_);
  }

  // The first member's pod has the name of a pod of this job.
  void hold_name(const std::string& job, const std::string& uid) {
    creation_status = 409;
    creation = {{"kind", "Status"}, {"reason", "AlreadyExists"}, {"message", "there is one"}};
    holder = {{"metadata",
               {{"name", "a-b-c-0-i0"},
                {"namespace", "n"},
                {"uid", "p"},
                {"ownerReferences",
                 {{{"apiVersion", names::kApiVersion},
                   {"kind", names::kKind},
                   {"name", job},
                   {"uid", uid},
                   {"controller", true}}}}}}};
  }

  // The job is deleted and created again, and no watch has shown that yet.
  void replace_job(const std::string& uid) { job_["metadata"]["uid"] = uid; }

  void set_members(int number) {
    job_["spec"]["numNodes"] = number;
    job_["metadata"]["resourceVersion"] = std::to_string(++version_);
  }

  int creation_status = 500;  // 201: the pod is made
  std::function<void()> on_creation;
  std::string retry_after;
  json creation = {{"kind", "Status"}, {"reason", "InternalError"}, {"message", "failed calling webhook"}};
  json holder;  // the pod that has a member's name
  int creations = 0;
  int deletions = 0;
  int deletion_status = 500;
  json pods = json::array();

 private:
  [[nodiscard]] http::Response of(int status, const json& body) const {
    http::Response response{.status = status, .headers = {}, .body = body.dump()};
    if (status == 429) response.headers.set("Retry-After", retry_after);
    return response;
  }
  http::Response created(const http::Request& request) {
    json pod = json::parse(request.body);
    pod["metadata"]["resourceVersion"] = std::to_string(++version_);
    pod["metadata"]["uid"] = "uid-" + std::to_string(version_);
    return of(201, pod);
  }
  [[nodiscard]] json items_in(const std::string& url) const {
    if (url.find("/pods") != std::string::npos) return pods;
    return url.find("trainingjobs") == std::string::npos ? json::array() : json::array({job_});
  }

  int version_ = 1;
  json job_ = {
      {"apiVersion", names::kApiVersion},
      {"kind", names::kKind},
      {"metadata",
       {{"name", "a"}, {"namespace", "n"}, {"uid", "u"}, {"generation", 1U}, {"resourceVersion", "1"}}},
      {"spec",
       {{"numNodes", kMembers},
        {"roles",
         json::array(
             {{{"name", "b-c"},
               {"template",
                {{"spec",
                  {{"containers",
                    json::array({{{"name", "trainer"}, {"image", "i"}, {"command", {"train"}}}})}}}}}}})}}}};
};

class TransportTo final : public http::HttpTransport {
 public:
  explicit TransportTo(Server& server) : server_(server) {}

  Result<http::Response> call(const http::Request& request, const http::Limits&, std::stop_token) override {
    return server_.answer(request);
  }
  Result<http::ResponseHead> stream(const http::Request&, const http::Limits&, http::BodySink&,
                                    std::stop_token) override {
    return Error(ErrorKind::kUnavailable, "nothing happens");
  }

 private:
  Server& server_;
};

class ControllerTest : public testing::Test {
 protected:
  ControllerTest() {
    ClusterOptions options;
    options.on_change = [this](const JobKey& key, Urgency urgency) { queue_.add_now(key, urgency); };
    options.settings.coordinator_url = "http://operator";
    options.log = logger_;
    options.transport = std::make_unique<TransportTo>(server_);
    cluster_ =
        std::move(*Cluster::connect_without_threads({.server = "http://api"}, clock_, std::move(options)));
    cluster_->step({});
    start();
  }
  void start(std::uint64_t processes_per_namespace = 0) {
    controller_.emplace(clock_, logger_, queue_, *cluster_, registry_, metrics_,
                        core::built_in_notice_rules(), processes_per_namespace);
  }

  std::string metrics_text() {
    std::string all;
    metrics_.write({}, [&](std::string_view piece) {
      all += piece;
      return true;
    });
    return all;
  }

  ManualClock clock_{Timestamp{1h}};
  Logger logger_{clock_};
  Server server_;
  WorkQueue queue_{clock_};
  coordinator::Coordinator registry_{clock_, {.authenticate = {}, .on_change = {}}};
  OperatorMetrics metrics_;
  std::unique_ptr<Cluster> cluster_;
  std::optional<Controller> controller_;
};

// A webhook that hangs for ten seconds, and answers 500 then, would hold a worker for ten seconds a pod.
TEST_F(ControllerTest, OfAServerInTroubleOnePodIsAskedForInALook) {
  ASSERT_TRUE(cluster_->is_synced());
  ASSERT_TRUE(controller_->step());
  EXPECT_EQ(server_.creations, 1);
  clock_.advance(5s);
  while (controller_->step()) {
  }
  EXPECT_EQ(server_.creations, 2) << "and again at the next";
}

// A member of a place that the job does not have.
json superseded_pod(int index) {
  const std::string number = std::to_string(index);
  return {{"metadata",
           {{"name", "a-b-c-" + number + "-i0"},
            {"namespace", "n"},
            {"uid", "p" + number},
            {"resourceVersion", "1"},
            {"labels",
             {{names::label::kJobName, "a"},
              {names::label::kJobUid, "u"},
              {names::label::kRole, "b-c"},
              {names::label::kIndex, number},
              {names::label::kIncarnation, "0"}}},
            {"ownerReferences",
             {{{"apiVersion", names::kApiVersion},
               {"kind", names::kKind},
               {"name", "a"},
               {"uid", "u"},
               {"controller", true}}}}}},
          {"spec", {{"nodeName", "n1"}}},
          {"status", {{"phase", "Running"}}}};
}

TEST_F(ControllerTest, OfAServerInTroubleOneDeletionIsAskedForInALook) {
  for (int index = 5; index < 9; ++index) server_.pods.push_back(superseded_pod(index));
  cluster_->relist();
  cluster_->step({});
  ASSERT_TRUE(controller_->step());
  EXPECT_EQ(server_.deletions, 1);
  clock_.advance(5s);
  while (controller_->step()) {
  }
  EXPECT_EQ(server_.deletions, 2) << "and again at the next";
}

TEST_F(ControllerTest, ARefusalOfOnePodIsNoReasonToLeaveOthersUnmade) {
  server_.creation_status = 409;
  server_.creation = {{"kind", "Status"}, {"reason", "Conflict"}, {"message", "the quota was changed"}};
  ASSERT_TRUE(controller_->step());
  EXPECT_EQ(server_.creations, kMembers);
}

// The worker does not sleep, and events of the job in the meantime cause no call.
// As with a quota of the server: the job waits, says why, and asks again.
TEST_F(ControllerTest, AJobThatExceedsTheLimitOfItsNamespaceGetsNoPod) {
  server_.creation_status = 201;
  start(kMembers - 1);
  while (controller_->step()) continue;
  EXPECT_EQ(server_.creations, 0);
  clock_.advance(1min);
  while (controller_->step()) continue;
  EXPECT_THAT(cluster_->view({.name_space = "n", .name = "a"})->job.status.message,
              testing::HasSubstr("this job has 3 processes"));
  EXPECT_THAT(metrics_text(), testing::HasSubstr("\nratoon_reconcile_retries_total 0\n")) << "no call failed";
  start(kMembers);
  clock_.advance(10min);
  while (controller_->step()) continue;
  EXPECT_EQ(server_.creations, kMembers);
}

TEST_F(ControllerTest, AServerThatAsksForAPauseIsCalledAgainAfterIt) {
  server_.creation_status = 429;
  server_.creation = {{"kind", "Status"}, {"reason", "TooManyRequests"}, {"message", "busy"}};
  server_.retry_after = "3";
  const JobKey key{.name_space = "n", .name = "a"};
  ASSERT_TRUE(controller_->step());
  EXPECT_EQ(server_.creations, 1);
  clock_.advance(2999ms);
  queue_.add_now(key, Urgency::kDisruption);
  while (controller_->step()) {
  }
  EXPECT_EQ(server_.creations, 1);
  EXPECT_EQ(cluster_->retry_after_end(key), clock_.now() + 1ms);
  clock_.advance(1ms);
  while (controller_->step()) {
  }
  EXPECT_EQ(server_.creations, 2) << "the queue has the job for this moment";
}

// A turn of a job with many pods ends after 250 ms of calls.
TEST_F(ControllerTest, AJobWithManyPodsLetsOtherJobsPass) {
  constexpr int kMany = 40;
  constexpr int kInASlice = 13;  // that begin before 250 ms are over
  server_.creation_status = 201;
  server_.set_members(kMany);
  cluster_->relist();
  cluster_->step({});
  const JobKey other{.name_space = "n", .name = "other"};
  server_.on_creation = [&, asked = false]() mutable {
    if (!std::exchange(asked, true)) queue_.add_now(other);  // during the first turn
    clock_.advance(20ms);
  };
  ASSERT_TRUE(controller_->step());
  EXPECT_EQ(server_.creations, kInASlice);
  ASSERT_EQ(queue_.take_due(), other);
  queue_.done(other);
  int turns = 1;
  while (server_.creations < kMany && controller_->step()) ++turns;
  EXPECT_EQ(server_.creations, kMany);
  EXPECT_EQ(turns, 4);
}

TEST_F(ControllerTest, AJobThatCannotBeReadIsAProblemInTheMetrics) {
  ASSERT_TRUE(controller_->step());
  EXPECT_EQ(metrics_text().find("Unreadable"), std::string::npos);
  server_.make_unreadable();
  cluster_->relist();
  cluster_->step({});
  while (controller_->step()) {
  }
  EXPECT_THAT(metrics_text(),
              testing::HasSubstr(
                  R"(ratoon_job_problem{reason="Unreadable",training_job="a",training_namespace="n"} 1)"));
}

// Job a with role b-c and job a-b with role c give their pods the same names; neither waits for the other
// one's end.
TEST_F(ControllerTest, ANameThatAnotherJobsPodHasIsPassedOver) {
  server_.hold_name("a-b", "other");
  ASSERT_TRUE(controller_->step());
  const auto members_of = [this] {
    return cluster_->view({.name_space = "n", .name = "a"})->job.status.members;
  };
  EXPECT_EQ(members_of().at(0).incarnation, 0U);
  ASSERT_TRUE(controller_->step()) << "it looks again at once";
  EXPECT_EQ(members_of().at(0).incarnation, 1U) << "which has another name";
}

// A job that is made again under the name of a deleted job does not wait for the deleted job's pods.
TEST_F(ControllerTest, APodOfADeletedJobWithTheSameNameIsDeletedAndItsNamePassedOver) {
  for (const bool is_deleting : {false, true}) {
    server_.hold_name("a", "former");
    if (is_deleting) server_.holder["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
    server_.deletions = 0;
    server_.deletion_status = 200;
    const auto name_of_first = [this] {
      return cluster_->view({.name_space = "n", .name = "a"})->job.status.members.at(0).incarnation;
    };
    ASSERT_TRUE(controller_->step());
    const auto before = name_of_first();
    ASSERT_TRUE(controller_->step()) << "it looks again at once";
    EXPECT_EQ(name_of_first(), before + 1);
    EXPECT_EQ(server_.deletions > 0, !is_deleting) << "Kubernetes deletes the pod already";
  }
}

// Pods of the deleted job live on for their grace period, and their processes report to the job of their
// name.
TEST_F(ControllerTest, StepsAndCheckpointsOfADeletedJobWithTheSameNameAreNotThoseOfTheJob) {
  class RegistryOfFormerJob final : public coordinator::JobRegistry {
   public:
    void announce(const JobKey&, const api::Announcement&) override {}
    void close(const JobKey&) override {}
    void forget_processes(const JobKey&) override {}
    std::vector<api::ProcessFacts> processes(const JobKey& job) const override {
      const ProcessIdentity identity{.job = job, .role = "b-c", .member_uid = uid, .start = "s"};
      return {{.identity = identity,
               .last_heard = Timestamp{1h},
               .beat = Heartbeat{.process = identity,
                                 .attempt = Attempt(1),
                                 .step = Step(5000),
                                 .phase = ProcessPhase::kCompute,
                                 .committed = InventoryEntry{.tier = "volume",
                                                             .attempt = Attempt(1),
                                                             .step = Step(4900),
                                                             .digest = "d",
                                                             .is_complete = true}}}};
    }
    std::vector<api::AssignedProcess> world(const JobKey&) const override { return {}; }
    Timestamp listening_since(const JobKey&) const override { return Timestamp{}; }
    std::string uid;
  };
  RegistryOfFormerJob registry;
  const JobKey key{.name_space = "n", .name = "a"};
  const auto status_after = [&](const std::string& uid) {
    registry.uid = uid;
    for (int i = 0; i < 3; ++i) {
      queue_.add_now(key);
      EXPECT_TRUE(controller_->step());
    }
    return cluster_->view(key)->job.status;
  };
  controller_.emplace(clock_, logger_, queue_, *cluster_, registry, metrics_, core::built_in_notice_rules(),
                      0);
  server_.creation = {{"kind", "Status"}, {"reason", "Forbidden"}, {"message", "exceeded quota"}};
  server_.creation_status = 403;
  const auto status = status_after("former");
  EXPECT_EQ(status.attempt, Attempt(1));
  EXPECT_EQ(status.step, Step(0));
  EXPECT_EQ(status.last_checkpoint, std::nullopt);
  server_.creation_status = 201;
  ASSERT_GE(status_after("").members.size(), 1u);
  clock_.advance(1min);
  const auto own = status_after("").members.front().uid;
  ASSERT_NE(own, "");
  EXPECT_NE(status_after(own).last_checkpoint, std::nullopt) << "a process of this job's own pod";
}

// The operator's copy may be of the deleted job, and the pod of the job that exists now.
TEST_F(ControllerTest, APodOfAJobThatWasMadeAgainIsNotDeletedForTheDeletedJob) {
  server_.hold_name("a", "newer");
  server_.replace_job("newer");
  while (controller_->step()) continue;
  EXPECT_EQ(server_.deletions, 0);
}

}  // namespace
}  // namespace ratoon::runtime::controller_test
