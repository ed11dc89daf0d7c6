// The laws of the operator's copy of the cluster: reflectors, sinks and store, as they ship, over a simulated
// API server that misbehaves, on a clock that stands still until the test moves it. A failure prints how to
// replay it; environment.h explains which seeds are tested.
//   RATOON_EVENTS=1000000 copy_laws_test        so many events to one copy, whose memory stays
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <set>

#include <gtest/gtest.h>
#include <malloc.h>

#include "base/contract/names.h"
#include "operator/runtime/jobs/job_cache_sinks.h"
#include "tests/property/operator/environment.h"
#include "tests/property/operator/simulated_api_server.h"
#include "tests/support/crash/effort.h"

namespace ratoon::sim::copy_laws_test {
namespace {

using nlohmann::json;
using runtime::JobCache;
using runtime::Reflector;

constexpr int kJobs = 3;
constexpr int kNodes = 3;
constexpr const char* kJobKind = "trainingjobs";
constexpr const char* kPodKind = "pods";
constexpr const char* kNodeKind = "nodes";

JobKey job_key(std::uint64_t number) {
  return {.name_space = "n", .name = "j" + std::to_string(number)};
}

json job(std::uint64_t number, const std::string& uid) {
  const json container = {{"name", "trainer"}, {"image", "i"}, {"command", json::array({"train"})}};
  const json role = {{"name", "worker"},
                     {"template", {{"spec", {{"containers", json::array({container})}}}}}};
  return {{"apiVersion", names::kApiVersion},
          {"kind", names::kKind},
          {"metadata", {{"name", job_key(number).name}, {"namespace", "n"}, {"uid", uid}}},
          {"spec", {{"numNodes", 2U}, {"roles", json::array({role})}}}};
}

json pod(const json& owner, std::uint64_t index, const std::string& uid) {
  const std::string job_name = owner["metadata"]["name"].get<std::string>();
  const json reference = {{"apiVersion", names::kApiVersion},
                          {"kind", names::kKind},
                          {"name", job_name},
                          {"uid", owner["metadata"]["uid"]},
                          {"controller", true}};
  return {{"metadata",
           {{"name", job_name + "-worker-" + std::to_string(index) + "-i0"},
            {"namespace", "n"},
            {"uid", uid},
            {"ownerReferences", json::array({reference})},
            {"labels",
             {{"ratoon.dev/job-name", job_name},
              {"ratoon.dev/job-uid", owner["metadata"]["uid"]},
              {"ratoon.dev/role", "worker"},
              {"ratoon.dev/index", std::to_string(index)},
              {"ratoon.dev/incarnation", "0"}}}}},
          {"spec", json::object()},
          {"status", {{"phase", "Pending"}}}};
}

// A decision's view of all jobs; beats of nodes change the view without an event.
std::map<JobKey, std::string> views_of(const JobCache& store) {
  std::map<JobKey, std::string> views;
  for (std::uint64_t number = 0; number < kJobs; ++number) {
    const auto view = store.view(job_key(number));
    if (!view) continue;
    std::string text = view->job.meta.uid + "@" + view->job.meta.resource_version;
    for (const auto& pod : view->pods)
      text += " " + pod.name + "/" + pod.uid + "/" + pod.node + "/" + pod.address +
              (pod.is_deleting ? "/deleting" : "");
    for (const auto& node : view->nodes)  // of one that is gone, a server tells nothing
      if (!node.is_deleting) text += " " + node.name + (node.is_unschedulable ? "/cordoned" : "");
    views[job_key(number)] = text;
  }
  return views;
}

class CopyStory {
 public:
  explicit CopyStory(std::uint64_t seed)
      : dice_(seed),
        server_(~seed, clock_),
        client_({.server = "http://api"}, clock_, {}, nullptr, std::make_unique<TransportTo>(server_)) {}

  void live(int turns) {
    server_.set_meanwhile([this] {
      if (dice_.percent(30)) change_something();
    });
    for (int turn = 0; turn < turns && !testing::Test::HasFailure(); ++turn) {
      change_something();
      if (dice_.percent(30)) hear_late_answer();
      if (dice_.percent(2)) server_.forget_history();
      step(*pick_reflector());
    }
    settle();
  }
  void soak(std::uint64_t events) {
    while (server_.tally().events < events && !testing::Test::HasFailure()) {
      for (int change = 0; change < 20; ++change) change_something();
      while (answers_on_their_way_.size() > 3) hear_late_answer();
      server_.set_faults(dice_.percent(50));
      for (Reflector* reflector : {&nodes_, &pods_, &jobs_}) step(*reflector);
      if (dice_.percent(5)) forget();
    }
    settle();
    forget();
  }
  [[nodiscard]] const SimulatedApiServer::Tally& tally() const { return server_.tally(); }

 private:
  // The facts that this story itself records.
  void forget() {
    server_.forget_history();
    gone_.clear();
    here_.clear();
    own_.clear();
    newest_.clear();
  }
  Reflector* pick_reflector() { return dice_.pick({&nodes_, &pods_, &jobs_}); }
  std::string new_uid() { return "uid-" + std::to_string(++uids_); }

  // A writer changes an object of the server: an owner, a scheduler, a kubelet, or the operator.
  void change_something() {
    switch (dice_.below(9)) {
      case 0:
        return change_job();
      case 1:
      case 2:
        return make_pod();
      case 3:
        return change_node();
      case 4:
        if (const std::string key = some(kPodKind); !key.empty()) server_.remove(kPodKind, key);
        return;
      default:
        return change_pod();
    }
  }

  std::string some(const std::string& kind) {
    const auto& all = server_.objects(kind);
    return all.empty() ? ""
                       : std::next(all.begin(), static_cast<std::ptrdiff_t>(dice_.below(all.size())))->first;
  }

  void change_job() {
    const std::uint64_t number = dice_.below(kJobs);
    const std::string key = "n/" + job_key(number).name;
    const auto& all = server_.objects(kJobKind);
    const auto known = all.find(key);
    if (known != all.end() && dice_.percent(20)) {
      server_.remove(kJobKind, key);
      return;
    }
    json object = known == all.end() ? job(number, new_uid()) : known->second;
    // An object that no client can read, or that becomes readable again.
    if (dice_.percent(20)) object["spec"]["numNodes"] = dice_.percent(50) ? json(2U) : json("poison");
    object["metadata"]["generation"] = ++generation_;
    const json stored = server_.put(kJobKind, std::move(object));
    if (known != all.end() && dice_.percent(30)) note_own([&] { store_.put_written_job(stored); });
  }

  void make_pod() {
    const std::string owner = some(kJobKind);
    if (owner.empty()) return;
    json object = pod(server_.objects(kJobKind).at(owner), dice_.below(2), new_uid());
    if (server_.objects(kPodKind).contains(SimulatedApiServer::key_of(object))) return;
    if (dice_.percent(3)) object["metadata"]["labels"] = "poison";
    if (dice_.percent(20))
      object["metadata"]["annotations"] = {{names::annotation::kAvoidedNodes, "node-0,node-1"}};
    const json stored = server_.put(kPodKind, std::move(object));
    if (dice_.percent(60))
      note_own_pod(stored);
    else
      answers_on_their_way_.push_back(stored);
  }

  void change_pod() {
    const std::string key = some(kPodKind);
    if (key.empty()) return;
    json object = server_.objects(kPodKind).at(key);
    if (dice_.percent(40)) object["spec"]["nodeName"] = "node-" + std::to_string(dice_.below(kNodes));
    if (!object["status"].is_object()) object["status"] = json::object();
    object["status"]["podIP"] = std::to_string(++changes_);
    if (dice_.percent(10)) object["metadata"]["deletionTimestamp"] = "2026-11-22T12:00:00Z";
    if (dice_.percent(2)) object["status"] = "poison";
    server_.put(kPodKind, std::move(object));
  }

  void change_node() {
    const std::string name = "node-" + std::to_string(dice_.below(kNodes));
    if (dice_.percent(20)) {
      server_.remove(kNodeKind, "/" + name);
      return;
    }
    json object = {{"metadata", {{"name", name}}}, {"spec", {{"unschedulable", dice_.percent(30)}}}};
    if (dice_.percent(5)) object["spec"] = "poison";
    server_.put(kNodeKind, std::move(object));
  }

  // The watch may have reported the object long before, and its end, too.
  void hear_late_answer() {
    if (answers_on_their_way_.empty()) return;
    const json stored = std::move(answers_on_their_way_.front());
    answers_on_their_way_.erase(answers_on_their_way_.begin());
    note_own_pod(stored);
  }

  void note_own_pod(const json& stored) {
    const json& meta = stored["metadata"];
    if (meta["labels"].is_object())
      own_[meta["labels"]["ratoon.dev/job-uid"].get<std::string>()].insert(meta["uid"].get<std::string>());
    note_own([&] { store_.put_written_pod(stored); });
  }

  // The copy contains the server's answer to our write at once, and no event reports it.
  void note_own(const std::function<void()>& put) {
    put();
    views_ = views_of(store_);
    check_gone();
  }

  void step(Reflector& reflector) {
    told_.clear();
    clock_.advance(reflector.step({}));
    const auto views = views_of(store_);
    for (std::uint64_t number = 0; number < kJobs; ++number) {
      const JobKey key = job_key(number);
      const auto before = views_.find(key);
      const auto after = views.find(key);
      const bool is_same = before == views_.end() ? after == views.end()
                                                  : after != views.end() && before->second == after->second;
      EXPECT_TRUE(is_same || told_.contains(key)) << key.name << " changed and nobody was told";
    }
    views_ = views;
    check_gone();
  }

  // A pod changes in one direction, and a vanished pod does not come back. A job that cannot be read hides
  // its pods for a while.
  void check_gone() {
    std::set<std::string> living;
    for (const auto& [key, object] : server_.objects(kPodKind))
      living.insert(object["metadata"]["uid"].get<std::string>());
    for (std::uint64_t number = 0; number < kJobs; ++number) {
      const auto view = store_.view(job_key(number));
      if (!view) continue;
      std::set<std::string> here;
      for (const auto& one : view->pods) {
        here.insert(one.uid);
        EXPECT_FALSE(gone_.contains(one.uid)) << one.uid << " was gone and is back";
        if (one.address.empty()) continue;  // not there yet, or poisoned
        const std::uint64_t now = std::stoull(one.address);
        EXPECT_GE(now, newest_[one.uid]) << one.uid << " went back in time";
        newest_[one.uid] = now;
      }
      for (const auto& uid : own_[view->job.meta.uid])
        EXPECT_TRUE(here.contains(uid) || !living.contains(uid)) << uid << " was made by us and is not there";
      std::set<std::string>& before = here_[view->job.meta.uid];
      for (const auto& uid : before)
        if (!here.contains(uid) && !living.contains(uid)) gone_.insert(uid);
      before = std::move(here);
    }
  }

  // Once no event comes and no call fails, the copy equals the server's objects.
  void settle() {
    if (testing::Test::HasFailure()) return;
    server_.set_faults(false);
    while (!answers_on_their_way_.empty()) hear_late_answer();
    constexpr int kSteps = 4;  // a watch that was being refused, a list, a watch
    for (int turn = 0; turn < kSteps; ++turn)
      for (Reflector* reflector : {&nodes_, &pods_, &jobs_}) step(*reflector);
    JobCache truth({});
    fill<runtime::NodeSink>(truth, kNodeKind);
    fill<runtime::PodSink>(truth, kPodKind);
    fill<runtime::JobSink>(truth, kJobKind);
    EXPECT_EQ(views_of(store_), views_of(truth));
    EXPECT_EQ(store_.jobs(), truth.jobs());
    const auto broken = std::ranges::count_if(server_.objects(kJobKind), [](const auto& item) {
      return item.second["spec"]["numNodes"].is_string();
    });
    EXPECT_EQ(std::ssize(store_.unreadable_jobs()), broken);
    for (const Reflector* reflector : {&nodes_, &pods_, &jobs_})
      EXPECT_FALSE(reflector->behind_since()) << reflector->resource() << " is behind";
  }
  template <class Sink>
  void fill(JobCache& store, const char* kind) {
    Sink sink(store);
    sink.begin_list();
    for (const auto& [key, object] : server_.objects(kind)) sink.list_object(object);
    sink.end_list("1000000000");
  }

  Reflector reflector(runtime::KubeObjectSink& sink, const kube::Resource& resource) {
    return {client_,
            sink,
            clock_,
            {.selection = {.resource = resource}, .page_items = 2, .draw = [] { return 0.5; }},
            Logger(clock_, {.min_level = LogLevel::kError})};
  }

  ManualClock clock_;
  Dice dice_;
  SimulatedApiServer server_;
  runtime::ApiClient client_;
  std::vector<json> answers_on_their_way_;
  std::set<JobKey> told_;
  JobCache store_{[this](const JobKey& key, runtime::Urgency) { told_.insert(key); }};
  runtime::NodeSink node_sink_{store_};
  runtime::PodSink pod_sink_{store_};
  runtime::JobSink job_sink_{store_};
  Reflector nodes_ = reflector(node_sink_, kube::kNodes);
  Reflector pods_ = reflector(pod_sink_, kube::kPods);
  Reflector jobs_ = reflector(job_sink_, kube::kTrainingJobs);
  std::map<JobKey, std::string> views_;                // as of the last look
  std::map<std::string, std::set<std::string>> here_;  // UIDs of pods, by that of their job
  std::map<std::string, std::set<std::string>> own_;   // the same of those that we were told are made
  std::set<std::string> gone_;
  std::map<std::string, std::uint64_t> newest_;
  std::uint64_t uids_ = 0;
  std::uint64_t changes_ = 0;
  std::uint64_t generation_ = 0;
};

TEST(CopyLaws, HoldOverAServerThatMisbehaves) {
  constexpr int kTurns = 150;
  const Seeds all = seeds_of_this_run(test::afforded(500), "copy_laws_test");
  SimulatedApiServer::Tally sum;
  for (const std::uint64_t seed : all) {
    SCOPED_TRACE(all.replay(seed));
    CopyStory story(seed);
    story.live(kTurns);
    if (HasFailure()) return;
    const auto& one = story.tally();
    sum.events += one.events;
    sum.lists += one.lists;
    sum.refusals += one.refusals;
    sum.expirations += one.expirations;
    sum.cuts += one.cuts;
    sum.repeated += one.repeated;
    sum.bookmarks += one.bookmarks;
    sum.nonsense += one.nonsense;
  }
  const std::uint64_t seeds = all.count();
  std::cout << seeds << " servers, " << sum.events << " events, " << sum.lists << " lists, " << sum.refusals
            << " refusals, " << sum.expirations << " expirations, " << sum.cuts << " cuts, " << sum.repeated
            << " events said twice, " << sum.bookmarks << " bookmarks, " << sum.nonsense
            << " lines of nonsense\n";
  if (all.count() < kEnoughToCount) return;
  for (const auto count :
       {sum.refusals, sum.expirations, sum.cuts, sum.repeated, sum.bookmarks, sum.nonsense})
    EXPECT_GE(count, seeds / 2) << "a fault is drawn too seldom";
}

TEST(CopyLaws, AMillionEventsLeaveNoMemoryBehind) {
  const std::uint64_t events = number_from_environment("RATOON_EVENTS", test::afforded(20'000));
  CopyStory story(7);
  story.soak(events / 10);
  const std::size_t warm = ::mallinfo2().uordblks;
  story.soak(events);
  const std::size_t after = ::mallinfo2().uordblks;
  std::cout << story.tally().events << " events, " << warm << " bytes after a tenth of them, " << after
            << " at the end\n";
  constexpr std::size_t kNoise = 128 * 1024;  // there are more pods at one time than at another
  EXPECT_LE(after, warm + kNoise);
}

}  // namespace
}  // namespace ratoon::sim::copy_laws_test
