#include "operator/kube/objects/election.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "operator/kube/objects/endpoint_slice.h"

namespace ratoon::kube::election_test {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

const Candidate kSelf{.identity = "pod-a/uid-1/start-2", .identity_prefix = "pod-a/uid-1/"};
const ElectionTimes kTimes;

Timestamp at(Duration time) {
  return Timestamp{seconds(1000)} + time;
}

Lease held_by(const std::string& holder, const std::string& version = "7") {
  return {.holder = holder, .duration_seconds = 6, .transitions = 3, .resource_version = version};
}

ElectionView seen(std::optional<Lease> lease) {
  ElectionView view;
  view.note_read(std::move(lease), at(seconds(0)));
  return view;
}

ElectionAction choose(const ElectionView& view, Duration after) {
  return choose_election_action(view, kSelf, at(after), kTimes);
}

TEST(Election, NothingIsDoneBeforeTheLeaseWasRead) {
  EXPECT_EQ(choose({}, seconds(100)), ElectionAction::kWait);
}

TEST(Election, AnothersLeaseIsTakenOnceItStoodStillForItsWholeTime) {
  const ElectionView view = seen(held_by("pod-b/uid-2/start-1"));
  EXPECT_EQ(choose(view, milliseconds(5999)), ElectionAction::kWait);
  EXPECT_EQ(choose(view, seconds(6)), ElectionAction::kTake);
}

// A restore of an etcd backup is not announced; watches go on from numbers that the server has not reached
// yet.
TEST(Election, WhoSeesTheServerSetBackStepsDown) {
  ElectionView standby = seen(held_by("pod-b/uid-2/start-1", "10"));
  standby.note_read(held_by("pod-b/uid-2/start-1", "9"), at(seconds(1)));
  EXPECT_EQ(choose(standby, seconds(1)), ElectionAction::kStepDown);
  standby.note_read(held_by("pod-b/uid-2/start-1", "11"), at(seconds(2)));
  EXPECT_EQ(choose(standby, seconds(20)), ElectionAction::kStepDown) << "for good";

  ElectionView leader;
  leader.note_own_write(held_by(kSelf.identity, "100"), at(seconds(0)), at(seconds(0)));
  leader.note_read(std::nullopt, at(seconds(1)));
  EXPECT_EQ(choose(leader, seconds(1)), ElectionAction::kCreate) << "the backup may be older than the lease";
  leader.note_own_write(held_by(kSelf.identity, "99"), at(seconds(1)), at(seconds(1)));
  EXPECT_EQ(choose(leader, seconds(1)), ElectionAction::kStepDown);
}

TEST(Election, OfVersionsThatAreNoNumbersNothingFollows) {
  ElectionView view = seen(held_by("pod-b/uid-2/start-1", "10"));
  view.note_read(held_by("pod-b/uid-2/start-1", "b"), at(seconds(1)));
  view.note_read(held_by("pod-b/uid-2/start-1", ""), at(seconds(1)));
  view.note_read(std::nullopt, at(seconds(1)));
  EXPECT_NE(choose(view, seconds(1)), ElectionAction::kStepDown);
}

TEST(Election, ARenewalBeginsTheTimeAnewAndTheSameRecordDoesNot) {
  ElectionView view = seen(held_by("pod-b/uid-2/start-1"));
  view.note_read(held_by("pod-b/uid-2/start-1"), at(seconds(5)));
  EXPECT_EQ(choose(view, seconds(6)), ElectionAction::kTake);
  view.note_read(held_by("pod-b/uid-2/start-1", "8"), at(seconds(5)));
  EXPECT_EQ(choose(view, seconds(6)), ElectionAction::kWait);
}

TEST(Election, AHolderThatAskedForLongerGetsItWithinReason) {
  Lease lease = held_by("pod-b/uid-2/start-1");
  lease.duration_seconds = 15;
  EXPECT_EQ(choose(seen(lease), seconds(14)), ElectionAction::kWait);
  lease.duration_seconds = 1'000'000;
  EXPECT_EQ(choose(seen(lease), seconds(60)), ElectionAction::kTake);
  lease.duration_seconds = 0;
  EXPECT_EQ(choose(seen(lease), seconds(5)), ElectionAction::kWait);
}

TEST(Election, WhatWasGivenBackOrIsOursOrOfADeadPredecessorIsTakenAtOnce) {
  for (const char* holder : {"", "pod-a/uid-1/start-2", "pod-a/uid-1/start-1"})
    EXPECT_EQ(choose(seen(held_by(holder)), seconds(0)), ElectionAction::kTake) << holder;
  // A pod of our name may be another pod, which lives.
  EXPECT_EQ(choose(seen(held_by("pod-a/uid-9/start-1")), seconds(0)), ElectionAction::kWait);
  const Candidate unplaced{.identity = "pod-a/start-2"};
  EXPECT_EQ(choose_election_action(seen(held_by("pod-a/start-1")), unplaced, at(seconds(0)), kTimes),
            ElectionAction::kWait);
}

TEST(Election, OneThatVanishedIsMadeAnewWhenItsHolderMustKnow) {
  EXPECT_EQ(choose(seen(std::nullopt), seconds(5)), ElectionAction::kWait);
  EXPECT_EQ(choose(seen(std::nullopt), seconds(6)), ElectionAction::kCreate);
  ElectionView view = seen(held_by("pod-b/uid-2/start-1"));
  view.note_read(std::nullopt, at(seconds(5)));
  EXPECT_EQ(choose(view, seconds(10)), ElectionAction::kWait);
  EXPECT_EQ(choose(view, seconds(11)), ElectionAction::kCreate);
}

TEST(Election, ALeaderRenewsAndEndsWhereItCannot) {
  ElectionView view = seen(held_by(""));
  view.note_own_write(held_by(kSelf.identity, "8"), at(seconds(1)), at(seconds(3)));
  EXPECT_EQ(choose(view, seconds(3)), ElectionAction::kRenew);
  EXPECT_EQ(choose(view, milliseconds(4999)), ElectionAction::kRenew);
  EXPECT_EQ(choose(view, seconds(5)), ElectionAction::kStepDown)
      << "4 s after it was sent, not after its answer";
  view.note_own_write(held_by(kSelf.identity, "9"), at(seconds(4)), at(seconds(4)));
  EXPECT_EQ(choose(view, seconds(5)), ElectionAction::kRenew);
  view.note_read(std::nullopt, at(seconds(5)));
  EXPECT_EQ(choose(view, seconds(5)), ElectionAction::kCreate) << "deleted by hand";
  view.note_read(held_by("pod-b/uid-2/start-1"), at(seconds(5)));
  EXPECT_EQ(choose(view, seconds(5)), ElectionAction::kStepDown);
}

TEST(Lease, IsReadWithoutTrust) {
  EXPECT_EQ(read_lease(json::array()), Lease{});
  const json odd = {
      {"spec", {{"holderIdentity", 7}, {"leaseDurationSeconds", -1}, {"leaseTransitions", 1e18}}}};
  EXPECT_EQ(read_lease(odd), Lease{});
}

TEST(Lease, IsTakenWhateverNumberSomebodyWroteIntoIt) {
  Lease read = held_by("pod-b/uid-2/start-1");
  read.transitions = 0x7fffffff;  // one more, and the server refuses it
  EXPECT_EQ(make_lease_acquire_patch(read, "me", seconds(6), WallTime{})["spec"]["leaseTransitions"],
            0x7fffffff);
}

TEST(Lease, EveryClaimNamesTheVersionThatWasRead) {
  const Lease read = held_by("pod-b/uid-2/start-1");
  const WallTime now{seconds(1'700'000'000)};
  const json taken = make_lease_acquire_patch(read, "me", seconds(6), now);
  EXPECT_EQ(taken["spec"]["holderIdentity"], "me");
  EXPECT_EQ(taken["spec"]["leaseTransitions"], 4);
  EXPECT_EQ(taken["spec"]["leaseDurationSeconds"], 6);
  EXPECT_EQ(taken["spec"]["renewTime"], "2023-11-14T22:13:20.000000Z");
  const json renewed = make_lease_renew_patch(read, now);
  EXPECT_EQ(renewed["spec"].size(), 1U);
  EXPECT_TRUE(make_lease_release_patch(read, now)["spec"]["holderIdentity"].is_null());
  for (const json& patch : {taken, renewed, make_lease_release_patch(read, now)})
    EXPECT_EQ(patch["metadata"]["resourceVersion"], "7");
}

TEST(EndpointSlice, IsWrittenWhereItLeadsElsewhere) {
  EXPECT_EQ(endpoint_slice_name("door", "10.0.0.7"), "door-ipv4");
  EXPECT_EQ(endpoint_slice_name("door", "fd00::7"), "door-ipv6");
  json slice = {{"metadata", {{"resourceVersion", "5"}}}, {"endpoints", nullptr}};
  const json patch = make_slice_patch(slice, "door", "10.0.0.7", 9443);
  EXPECT_EQ(patch["metadata"]["resourceVersion"], "5");
  slice.merge_patch(patch);
  EXPECT_EQ(slice["endpoints"][0]["addresses"], json::array({"10.0.0.7"}));
  EXPECT_EQ(make_slice_patch(slice, "door", "10.0.0.7", 9443), json::object());
  EXPECT_NE(make_slice_patch(slice, "door", "10.0.0.8", 9443), json::object());
  EXPECT_NE(make_slice_patch(slice, "door", "10.0.0.7", 9444), json::object());
  const json made = make_endpoint_slice("door", "fd00::7", 9443);
  EXPECT_EQ(make_slice_patch(made, "door", "fd00::7", 9443), json::object())
      << "one that was deleted is made to lead here";
  EXPECT_EQ(made["metadata"]["name"], "door-ipv6");
  EXPECT_EQ(made["metadata"]["labels"]["kubernetes.io/service-name"], "door")
      << "or the Service does not know it";
  EXPECT_EQ(made["addressType"], "IPv6");
  EXPECT_FALSE(made["metadata"].contains("resourceVersion")) << "the server refuses it at a creation";
  EXPECT_FALSE(made["metadata"]["labels"].contains("app.kubernetes.io/instance"))
      << "Argo CD would want to prune it";
  json unlabelled = slice;
  unlabelled["metadata"]["labels"].erase("kubernetes.io/service-name");
  unlabelled.merge_patch(make_slice_patch(unlabelled, "door", "10.0.0.7", 9443));
  EXPECT_EQ(unlabelled, slice) << "a slice that the Service does not find is mended";
  slice["endpoints"].push_back(slice["endpoints"][0]);
  EXPECT_NE(make_slice_patch(slice, "door", "10.0.0.7", 9443), json::object()) << "alone";
}

}  // namespace
}  // namespace ratoon::kube::election_test
