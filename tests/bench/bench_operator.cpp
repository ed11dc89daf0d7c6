// The operator's side of an API server, without a server: watch events are decoded, kept and decided on.
// Times are processor time.
#include <algorithm>
#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <malloc.h>

#include "base/contract/fields.h"
#include "operator/core/reconcile.h"
#include "operator/kube/watch_decoder.h"
#include "operator/runtime/jobs/job_cache.h"
#include "operator/runtime/jobs/job_cache_sinks.h"
#include "tests/bench/kube_objects.h"
#include "tests/support/operator_builders.h"

namespace {

using namespace ratoon;

constexpr std::uint32_t kMembers = 8;

api::TrainingJob job_of(std::uint32_t number) {
  return *api::decode_training_job(bench::job_object(number, kMembers));
}

double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

std::size_t heap_bytes() {
  return ::mallinfo2().uordblks;
}

// Bytes of a watch in which each pod changes again and again, with the place of each event's version in the
// text.
struct Stream {
  std::vector<std::string> events;
  std::vector<std::size_t> version_at;

  explicit Stream(std::uint32_t pods) {
    constexpr const char* kPlace = "8888888888";
    for (std::uint32_t i = 0; i < pods; ++i) {
      bench::json pod = bench::pod_object(job_of(i / kMembers), i % kMembers, 1);
      pod["metadata"]["resourceVersion"] = kPlace;
      events.push_back(R"({"type":"MODIFIED","object":)" + pod.dump() + "}\n");
      version_at.push_back(events.back().find(kPlace));
    }
  }
  std::string& next(std::uint64_t version) {
    std::string& event = events[version % events.size()];
    const std::string digits = std::to_string(1'000'000'000 + version);
    return event.replace(version_at[version % events.size()], digits.size(), digits);
  }
};

void watch_events(benchmark::State& state) {
  Stream stream(1000);
  runtime::JobCache store({});
  runtime::PodSink sink(store);
  kube::WatchDecoder decoder;
  std::uint64_t version = 0;
  std::size_t bytes = 0;
  for (auto _ : state) {
    const std::string& event = stream.next(++version);
    decoder.feed(event, [&](const kube::WatchEvent& one) { sink.put(one.object); });
    bytes += event.size();
  }
  state.SetItemsProcessed(state.iterations());
  state.counters["event_bytes"] = static_cast<double>(bytes) / static_cast<double>(state.iterations());
}
BENCHMARK(watch_events);

void cached_pods(benchmark::State& state) {
  constexpr std::uint32_t kPods = 10'000;
  for (auto _ : state) {
    runtime::JobCache store({});
    const std::size_t before = heap_bytes();
    for (std::uint32_t i = 0; i < kPods; ++i)
      store.put_pod(bench::pod_object(job_of(i / kMembers), i % kMembers, 1 + i));
    state.counters["bytes_each"] = static_cast<double>(heap_bytes() - before) / kPods;
  }
}
BENCHMARK(cached_pods)->Iterations(1)->Unit(benchmark::kMillisecond);

void cached_nodes(benchmark::State& state) {
  constexpr std::uint32_t kNodes = 2'000;
  for (auto _ : state) {
    runtime::JobCache store({});
    const std::size_t before = heap_bytes();
    for (std::uint32_t i = 0; i < kNodes; ++i) store.put_node(bench::node_object(i, 1 + i));
    state.counters["bytes_each"] = static_cast<double>(heap_bytes() - before) / kNodes;
  }
}
BENCHMARK(cached_nodes)->Iterations(1)->Unit(benchmark::kMillisecond);

// One decision about each of a thousand jobs: its view out of the cache, the decision, its status as a
// document.
void reconcile(benchmark::State& state) {
  constexpr std::uint32_t kJobs = 1000;
  const bool has_loss = state.range(0) != 0;
  runtime::JobCache store({});
  std::vector<core::Observation> seen;
  for (std::uint32_t number = 0; number < kJobs; ++number) {
    store.put_job(bench::job_object(number, kMembers));
    for (std::uint32_t i = 0; i < kMembers; ++i)
      store.put_pod(bench::pod_object(job_of(number), i, 1 + number * kMembers + i));
    seen.push_back(test::running(test::job(kMembers)));
  }
  for (std::uint32_t i = 0; i < kMembers; ++i) store.put_node(bench::node_object(i, 1));
  std::vector<double> each;
  for (auto _ : state) {
    for (std::uint32_t number = 0; number < kJobs; ++number) {
      const double began = cpu_seconds();
      const auto view = store.view({.name_space = "default", .name = bench::job_name(number)});
      core::Observation& one = seen[number];
      one.nodes = view->nodes;
      if (has_loss) one.pods[3] = test::ended_pod(3, 137);
      const auto decision = core::reconcile(one, test::at_seconds(1));
      benchmark::DoNotOptimize(api::encode_status(decision.status));
      each.push_back(cpu_seconds() - began);
    }
  }
  std::sort(each.begin(), each.end());
  state.counters["p50_seconds"] = each[each.size() / 2];
  state.counters["p99_seconds"] = each[each.size() * 99 / 100];
  state.SetItemsProcessed(state.iterations() * kJobs);
}
BENCHMARK(reconcile)->Arg(0)->Arg(1)->ArgName("loss")->Iterations(20)->Unit(benchmark::kMillisecond);

// Lists in pages, as text.
std::vector<std::string> pages_of(const std::vector<bench::json>& objects) {
  constexpr std::size_t kPage = 500;
  std::vector<std::string> pages;
  for (std::size_t from = 0; from < objects.size(); from += kPage) {
    bench::json page = {{"metadata", {{"resourceVersion", "100000"}}}, {"items", bench::json::array()}};
    for (std::size_t i = from; i < std::min(objects.size(), from + kPage); ++i)
      page["items"].push_back(objects[i]);
    pages.push_back(page.dump());
  }
  return pages;
}

template <class Sink>
void list(runtime::JobCache& store, const std::vector<std::string>& pages) {
  Sink sink(store);
  sink.begin_list();
  for (const auto& text : pages) {
    const auto page = parse_json(text, 1ULL << 30U, 128);
    for (const auto& object : (*page)["items"]) sink.list_object(object);
  }
  sink.end_list("100000");
}

// From an empty cache to a decision about each job: 10,000 pods of 1,250 jobs on as many nodes.
void cold_start(benchmark::State& state) {
  constexpr std::uint32_t kJobs = 1250;
  std::vector<bench::json> jobs, pods, nodes;
  for (std::uint32_t number = 0; number < kJobs; ++number) {
    jobs.push_back(bench::job_object(number, kMembers));
    nodes.push_back(bench::node_object(number, 1));
    for (std::uint32_t i = 0; i < kMembers; ++i) pods.push_back(bench::pod_object(job_of(number), i, 1));
  }
  const auto job_pages = pages_of(jobs), pod_pages = pages_of(pods), node_pages = pages_of(nodes);
  std::size_t decided = 0;
  for (auto _ : state) {
    runtime::JobCache store({});
    list<runtime::JobSink>(store, job_pages);
    list<runtime::PodSink>(store, pod_pages);
    list<runtime::NodeSink>(store, node_pages);
    for (const auto& key : store.jobs()) {
      auto view = store.view(key);
      const core::Observation seen{
          .job = std::move(view->job), .pods = std::move(view->pods), .nodes = std::move(view->nodes)};
      decided += core::reconcile(seen, test::at_seconds(1)).status.members.size();
    }
  }
  state.counters["pods"] = static_cast<double>(decided) / static_cast<double>(state.iterations());
}
BENCHMARK(cold_start)->Iterations(3)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
