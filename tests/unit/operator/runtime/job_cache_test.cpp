#include "operator/runtime/jobs/job_cache.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace ratoon::runtime::job_cache_test {
namespace {

using nlohmann::json;

const JobKey kJob{.name_space = "n", .name = "j"};

json job(int version, const std::string& uid = "u") {
  return {
      {"apiVersion", "ratoon.dev/v1alpha1"},
      {"kind", "TrainingJob"},
      {"metadata",
       {{"name", "j"}, {"namespace", "n"}, {"uid", uid}, {"resourceVersion", std::to_string(version)}}},
      {"spec",
       {{"roles",
         {{{"name", "worker"}, {"template", {{"spec", {{"containers", {{{"command", {"train"}}}}}}}}}}}}}}};
}

json pod(int version, const std::string& node = "", const std::string& name = "p0") {
  const json owner = {{"apiVersion", "ratoon.dev/v1alpha1"},
                      {"kind", "TrainingJob"},
                      {"name", "j"},
                      {"uid", "u"},
                      {"controller", true}};
  return {{"metadata",
           {{"name", name},
            {"ownerReferences", json::array({owner})},
            {"namespace", "n"},
            {"uid", "uid-" + name},
            {"resourceVersion", std::to_string(version)},
            {"labels",
             {{"ratoon.dev/job-name", "j"},
              {"ratoon.dev/job-uid", "u"},
              {"ratoon.dev/role", "worker"},
              {"ratoon.dev/index", "0"},
              {"ratoon.dev/incarnation", "0"}}}}},
          {"spec", {{"nodeName", node}}}};
}

json node(const std::string& name, bool is_cordoned = false) {
  return {{"metadata", {{"name", name}}}, {"spec", {{"unschedulable", is_cordoned}}}};
}

class JobCacheTest : public testing::Test {
 protected:
  int told_ = 0;
  Urgency urgency_ = Urgency::kRoutine;  // of the last news
  JobCache store_{[this](const JobKey& key, Urgency urgency) {
    EXPECT_EQ(key, kJob);
    ++told_;
    urgency_ = urgency;
  }};
  // How often the job was reported since the last query.
  int news() { return std::exchange(told_, 0); }
};

json heartbeat(const std::string& name, const std::string& at) {
  json out = node(name);
  out["status"] = {{"conditions", {{{"type", "Ready"}, {"status", "True"}, {"lastHeartbeatTime", at}}}}};
  return out;
}

TEST(JobCacheAndNodeFacts, AFactThatRulesReadIsNewsAndNoOtherFact) {
  int told = 0;
  JobCache store([&](const JobKey&, Urgency) { ++told; }, {.labels = {"maintenance"}});
  store.put_job(job(1));
  store.put_pod(pod(2, "n1"));
  json labelled = node("n1");
  store.put_node(labelled);
  told = 0;
  labelled["metadata"]["labels"] = {{"team", "a"}};
  store.put_node(labelled);
  EXPECT_EQ(told, 0);
  labelled["metadata"]["labels"]["maintenance"] = "soon";
  store.put_node(labelled);
  EXPECT_EQ(told, 1);
  EXPECT_EQ(store.view(kJob)->nodes[0].labels.at("maintenance"), "soon");
}

TEST(JobCacheAndTenants, APodInAnotherNamespaceIsNobodysHereWhateverItSays) {
  JobCache store{{}};
  store.put_job(job(1));
  json forged = pod(2);
  forged["metadata"]["namespace"] = "other";
  store.put_pod(forged);
  EXPECT_TRUE(store.view(kJob)->pods.empty());
  store.put_pod(pod(3));
  EXPECT_EQ(store.view(kJob)->pods.size(), 1U);
}

TEST_F(JobCacheTest, AHeartbeatIsNewsOnlyToJobsThatSuspectItsNode) {
  json suspicious = job(1);
  suspicious["status"] = api::encode_status({});
  suspicious["status"]["suspectNodes"] = {
      {{"name", "n2"}, {"reason", "silent"}, {"until", "2026-11-21T12:00:00.000Z"}}};
  store_.put_job(suspicious);
  store_.put_pod(pod(2, "n1"));
  for (const char* name : {"n1", "n2"}) store_.put_node(heartbeat(name, "2026-11-21T11:00:00Z"));
  news();
  store_.put_node(heartbeat("n1", "2026-11-21T11:00:10Z"));
  EXPECT_EQ(news(), 0);
  store_.put_node(heartbeat("n2", "2026-11-21T11:00:10Z"));
  EXPECT_EQ(news(), 1);
  store_.put_node(heartbeat("n2", "2026-11-21T11:00:10Z"));
  EXPECT_EQ(news(), 0) << "the same one again";
  const auto view = store_.view(kJob);
  ASSERT_EQ(view->nodes.size(), 2U) << "suspects are seen though no pod is on them";
  EXPECT_EQ(format_rfc3339(view->nodes[1].last_heartbeat), "2026-11-21T11:00:10.000Z");
}

TEST_F(JobCacheTest, AViewHasTheJobItsPodsAndTheNodesUnderThem) {
  store_.put_job(job(1));
  store_.put_pod(pod(2, "n1"));
  store_.put_pod(pod(3, "n2", "p1"));
  for (const char* name : {"n1", "n2", "n3"}) store_.put_node(node(name));
  const auto view = store_.view(kJob);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->pods.size(), 2u);
  EXPECT_EQ(view->nodes.size(), 2u);
  EXPECT_FALSE(store_.view({.name_space = "n", .name = "other"}));
}

TEST_F(JobCacheTest, OnlyWhatMattersIsNews) {
  store_.put_job(job(1));
  store_.put_pod(pod(2, "n1"));
  store_.put_node(node("n1"));
  EXPECT_EQ(news(), 3);
  store_.put_job(job(1));
  store_.put_pod(pod(3, "n1"));  // a new version of the same
  store_.put_node(node("n1"));
  store_.put_node(node("elsewhere"));
  store_.remove_node(node("elsewhere"));
  EXPECT_EQ(news(), 0);
  store_.put_node(node("n1", true));
  store_.remove_node(node("n1"));
  EXPECT_EQ(news(), 2);
}

// The pod is made anew where it may use the node again.
TEST_F(JobCacheTest, ANodeThatAPodKeepsAwayFromIsNewsToItsJob) {
  json waiting = pod(2);
  waiting["metadata"]["annotations"] = {{"ratoon.dev/avoided-nodes", "n1,n2"}};
  store_.put_job(job(1));
  store_.put_pod(waiting);
  store_.put_node(node("n1", true));
  news();
  store_.put_node(node("n1"));
  EXPECT_EQ(news(), 1) << "it may be used again";
  store_.put_node(heartbeat("n1", "2026-11-21T11:00:10Z"));
  news();
  store_.put_node(heartbeat("n1", "2026-11-21T11:00:20Z"));
  EXPECT_EQ(news(), 0);
  store_.remove_node(node("n1"));
  EXPECT_EQ(news(), 1);
  EXPECT_TRUE(store_.view(kJob)->nodes.empty()) << "no pod of it was there";
  store_.remove_pod(pod(3));
  news();
  store_.put_node(node("n2"));
  EXPECT_EQ(news(), 0) << "nobody keeps away from it any more";
}

// Another job's pods are on it, and the other job learns of their end.
TEST_F(JobCacheTest, ANodeThatIsGoneIsShownToThoseWhoAreOnIt) {
  json waiting = pod(2);
  waiting["metadata"]["annotations"] = {{"ratoon.dev/avoided-nodes", "n1"}};
  json others = pod(3, "n1", "p1");
  others["metadata"]["ownerReferences"][0]["uid"] = "another";
  store_.put_job(job(1));
  store_.put_pod(waiting);
  store_.put_pod(others);
  store_.put_node(node("n1"));
  store_.remove_node(node("n1"));
  EXPECT_TRUE(store_.view(kJob)->nodes.empty());
}

// A pod that trains there goes on until it is ended, and only this code notices it.
TEST_F(JobCacheTest, ANodeThatIsGoneIsOneThatGoesWhilePodsAreOnIt) {
  const auto nodes = [&] { return store_.view(kJob)->nodes; };
  const api::Node gone{.name = "n1", .is_lost = true, .is_ready = false, .is_deleting = true};
  store_.put_job(job(1));
  store_.put_pod(pod(2, "n1"));
  EXPECT_TRUE(nodes().empty()) << "one that was never seen may be told of any moment";
  for (const bool is_listed : {false, true}) {
    store_.put_node(node("n1"));
    if (is_listed)
      store_.replace_nodes({});
    else
      store_.remove_node(node("n1"));
    EXPECT_EQ(nodes(), std::vector{gone});
  }
  store_.put_pod(pod(3, "n1"));
  EXPECT_EQ(nodes(), std::vector{gone});
  store_.put_node(node("n1"));
  EXPECT_FALSE(nodes()[0].is_deleting) << "it is back";

  store_.remove_node(node("n1"));
  store_.remove_pod(pod(4, "n1"));
  store_.put_pod(pod(5, "n1"));
  EXPECT_TRUE(nodes().empty()) << "nothing is kept of a node without pods";
}

TEST_F(JobCacheTest, WhatEndsMembersIsMoreUrgentThanWhatBringsThem) {
  store_.put_job(job(1));
  EXPECT_EQ(urgency_, Urgency::kRoutine);
  store_.put_pod(pod(2, "n1"));
  EXPECT_EQ(urgency_, Urgency::kRoutine);
  json leaving = pod(3, "n1");
  leaving["metadata"]["deletionTimestamp"] = "2026-11-21T11:00:00Z";
  store_.put_pod(leaving);
  EXPECT_EQ(urgency_, Urgency::kDisruption);
  store_.put_pod(pod(4, "n1", "p1"));
  json failed = pod(5, "n1", "p1");
  failed["status"] = {{"phase", "Failed"}};
  store_.put_pod(failed);
  EXPECT_EQ(urgency_, Urgency::kDisruption);
  store_.put_job(job(6));
  EXPECT_EQ(urgency_, Urgency::kRoutine);
  store_.put_node(node("n1", true));
  EXPECT_EQ(urgency_, Urgency::kDisruption) << "a cordon";
  store_.put_job(job(7));
  store_.remove_node(node("n1"));
  EXPECT_EQ(urgency_, Urgency::kDisruption);
  store_.put_job(job(8));
  store_.remove_pod(pod(9, "n1"));
  EXPECT_EQ(urgency_, Urgency::kDisruption);
}

TEST_F(JobCacheTest, NothingOlderReplacesWhatWeWrote) {
  store_.put_job(job(1));
  store_.put_written_job(job(5));
  store_.put_written_pod(pod(6, "n1"));
  news();
  store_.put_job(job(3));
  store_.put_pod(pod(4));
  EXPECT_EQ(news(), 0);
  EXPECT_EQ(store_.view(kJob)->job.meta.resource_version, "5");
  EXPECT_EQ(store_.view(kJob)->pods[0].node, "n1");
  store_.replace_jobs({}, 4);  // a list that was taken before the write
  store_.replace_pods({}, 5);
  store_.remove_pod(pod(5));  // the end of another one of that name
  ASSERT_TRUE(store_.view(kJob));
  EXPECT_EQ(store_.view(kJob)->pods.size(), 1u);
  store_.replace_pods({}, 6);
  EXPECT_TRUE(store_.view(kJob)->pods.empty());
  store_.replace_jobs({}, 5);
  EXPECT_FALSE(store_.view(kJob));
  EXPECT_EQ(news(), 2);
}

TEST_F(JobCacheTest, AnAnswerThatComesAfterTheEndBringsNothingBack) {
  store_.put_job(job(1));
  store_.put_pod(pod(2));
  store_.remove_pod(pod(3));
  store_.put_written_pod(pod(2));
  EXPECT_TRUE(store_.view(kJob)->pods.empty());
  store_.advance_pods_version(9);
  store_.put_written_pod(pod(8));
  EXPECT_TRUE(store_.view(kJob)->pods.empty());
  store_.put_written_pod(pod(10));
  EXPECT_EQ(store_.view(kJob)->pods.size(), 1u);
}

TEST_F(JobCacheTest, AJobCountsWithItsProcessesWhileAPodOfItHasNotEnded) {
  json two_a_node = job(1);
  two_a_node["spec"]["processesPerNode"] = 2U;
  store_.put_job(two_a_node);
  EXPECT_EQ(store_.processes_in_use("n"), ProcessesInUse());
  store_.put_pod(pod(2));
  store_.put_pod(pod(3, "", "p1"));
  EXPECT_EQ(store_.processes_in_use("n"), (ProcessesInUse{{kJob, 4}}));
  EXPECT_EQ(store_.processes_in_use("m"), ProcessesInUse());
  json ended = pod(4);
  ended["status"] = {{"phase", "Succeeded"}};
  store_.put_pod(ended);
  EXPECT_EQ(store_.processes_in_use("n"), (ProcessesInUse{{kJob, 2}}));
  json larger = job(5);
  larger["status"] = api::encode_status({.members = std::vector<api::MemberStatus>(3, {.role = "worker"})});
  store_.put_job(larger);
  EXPECT_EQ(store_.processes_in_use("n"), (ProcessesInUse{{kJob, 3}})) << "its other members get pods, too";
  for (const char* name : {"p2", "p3", "p4"}) store_.put_pod(pod(6, "", name));
  EXPECT_EQ(store_.processes_in_use("n"), (ProcessesInUse{{kJob, 3}})) << "pods of lost members do not count";
  for (const char* name : {"p2", "p3", "p4"}) store_.remove_pod(pod(6, "", name));
  store_.remove_pod(pod(6, "", "p1"));
  EXPECT_EQ(store_.processes_in_use("n"), ProcessesInUse());
}

TEST_F(JobCacheTest, ANewJobOfTheSameNameHasNoneOfTheOldPods) {
  store_.put_job(job(1));
  store_.put_pod(pod(2));
  store_.remove_job(job(3));
  EXPECT_FALSE(store_.view(kJob));
  store_.put_job(job(4, "another"));
  EXPECT_TRUE(store_.view(kJob)->pods.empty());
}

TEST_F(JobCacheTest, AJobOnItsWayOutIsGone) {
  json leaving = job(2);
  leaving["metadata"]["deletionTimestamp"] = "2026-11-21T00:00:00Z";
  store_.put_job(job(1));
  store_.put_job(leaving);
  EXPECT_FALSE(store_.view(kJob));
  EXPECT_TRUE(store_.jobs().empty());
}

TEST_F(JobCacheTest, ABrokenJobSaysWhyAndIsMended) {
  json broken = job(1);
  broken["spec"]["roles"] = 5;
  store_.put_job(broken);
  EXPECT_FALSE(store_.view(kJob));
  ASSERT_EQ(store_.unreadable_jobs().size(), 1u);
  EXPECT_EQ(store_.unreadable_jobs()[0].meta.uid, "u");
  EXPECT_NE(store_.unreadable_jobs()[0].complaint.find("spec.roles"), std::string::npos);
  store_.put_job(job(2));
  EXPECT_TRUE(store_.view(kJob));
  EXPECT_TRUE(store_.unreadable_jobs().empty());
  EXPECT_EQ(news(), 2);
}

TEST_F(JobCacheTest, APodWithoutItsLabelsIsNoMember) {
  store_.put_job(job(1));
  store_.put_pod(pod(2));
  json bare = pod(3);
  bare["metadata"].erase("labels");
  store_.put_pod(bare);
  EXPECT_TRUE(store_.view(kJob)->pods.empty());
}

// A quota may have room for it, although there are as many pods as before.
TEST_F(JobCacheTest, APodThatIsGoneIsMissedWhereAnotherOneCame) {
  store_.put_job(job(1));
  store_.put_pod(pod(2, "", "a"));
  const auto before = uids_of_pods(*store_.view(kJob));
  EXPECT_EQ(before.size(), 1U);
  store_.put_pod(pod(3, "", "b"));
  EXPECT_TRUE(std::ranges::includes(uids_of_pods(*store_.view(kJob)), before));
  store_.remove_pod(pod(4, "", "a"));
  EXPECT_FALSE(std::ranges::includes(uids_of_pods(*store_.view(kJob)), before));
}

TEST_F(JobCacheTest, AListThatIsNotCompleteSaysNothingOfWhatIsNotInItYet) {
  store_.put_job(job(1));
  store_.put_pod(pod(20, "", "a"));  // the first of its items, and it goes no further
  store_.put_written_pod(pod(15, "", "b"));
  EXPECT_EQ(store_.view(kJob)->pods.size(), 2U) << "what we made is there";
  store_.advance_pods_version(20);
  store_.put_written_pod(pod(18, "", "c"));
  EXPECT_EQ(store_.view(kJob)->pods.size(), 2U) << "told of up to 20: it came and went";
}

}  // namespace
}  // namespace ratoon::runtime::job_cache_test
