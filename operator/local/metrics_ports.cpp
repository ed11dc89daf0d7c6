#include "operator/local/metrics_ports.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <unistd.h>

#include "base/contract/names.h"
#include "base/core/unique_fd.h"
#include "operator/local/folder/trainer_option.h"

namespace ratoon::local {
namespace {

constexpr std::uint32_t kFirstPort = 10'240;  // below are the ports of services
constexpr std::uint32_t kPortsEnd = 65'536;
constexpr std::uint32_t kStartPortChoices = 97;  // where the runs of a machine begin to look

// Returns whether a server could listen at this port of 127.0.0.1.
bool is_port_free(std::uint32_t port) {
  const UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int one = 1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return fd.is_open() && ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0 &&
         ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

// Returns nothing if the text is not a number. The trainer itself reports that the text is no port.
std::optional<std::uint32_t> parse_port(const std::optional<std::string>& text) {
  std::uint32_t port = 0;
  if (!text) return std::nullopt;
  const auto [end, code] = std::from_chars(text->data(), text->data() + text->size(), port);
  return code == std::errc() && end == text->data() + text->size() ? std::optional(port) : std::nullopt;
}

}  // namespace

MetricsPorts::PortRange MetricsPorts::read_ephemeral_range() {
  PortRange range;
  std::ifstream file("/proc/sys/net/ipv4/ip_local_port_range");
  if (PortRange read; file >> read.first >> read.last) range = read;
  return range;
}

MetricsPorts::MetricsPorts(std::optional<std::string> named, PortRange ephemeral)
    : requested_port_(std::move(named)) {
  const std::uint32_t below = ephemeral.first > kFirstPort ? ephemeral.first - kFirstPort : 0;
  const std::uint32_t above = ephemeral.last < kPortsEnd ? kPortsEnd - 1 - ephemeral.last : 0;
  ports_begin_ = below >= above ? kFirstPort : ephemeral.last + 1;
  ports_end_ = below >= above ? kFirstPort + below : kPortsEnd;
  // Begin at a port that depends on the process id, so that runs which begin together try different ports.
  const auto place = static_cast<std::uint32_t>(::getpid()) % kStartPortChoices;
  next_port_ = ports_begin_ + (ports_end_ - ports_begin_) / kStartPortChoices * place;
}

void MetricsPorts::assign_to_pod(const api::TrainingJob& job, const api::Pod& pod,
                                 const std::vector<api::Pod>& pods) {
  std::erase_if(blocks_, [&](const auto& block) {
    return std::ranges::none_of(pods, [&](const api::Pod& one) { return one.name == block.first; });
  });
  // The user's port for the first process, from the container's `env` or from `ratoon run`'s environment.
  const auto of_job = find_trainer_option(job, {.flag = "", .variable = names::env::kMetricsPort});
  const auto named = parse_port(of_job ? of_job : requested_port_);
  if (!api::reports_steps(job.spec) || named == 0U) return;
  static_cast<void>(assign(pod.name, job.spec.processes_per_node, named));
}

void MetricsPorts::add_ports_to(nlohmann::json& members) const {
  for (auto& member : members) {
    const auto found = blocks_.find(member["name"].get<std::string>());
    if (found == blocks_.end() || member["pids"].empty()) continue;
    auto& ports = member["metrics_ports"] = nlohmann::json::array();
    for (std::uint32_t rank = 0; rank < found->second.count; ++rank)
      ports.push_back(found->second.first + rank);
  }
}

std::optional<std::uint16_t> MetricsPorts::assign(const std::string& member, std::uint32_t processes,
                                                  std::optional<std::uint32_t> named) {
  blocks_.erase(member);
  auto found =
      named ? find_block(*named, kPortsEnd, processes) : find_block(next_port_, ports_end_, processes);
  if (!found && !named) found = find_block(ports_begin_, ports_end_, processes);
  if (!found) return std::nullopt;
  // The next member gets other ports, because Prometheus may still read the ports of a member that has just
  // ended.
  if (!named) next_port_ = *found + processes;
  blocks_[member] = {.first = *found, .count = processes};
  return static_cast<std::uint16_t>(*found);
}

std::optional<std::uint16_t> MetricsPorts::first_port_of(const std::string& member) const {
  const auto found = blocks_.find(member);
  if (found == blocks_.end()) return std::nullopt;
  return static_cast<std::uint16_t>(found->second.first);
}

std::optional<std::uint32_t> MetricsPorts::find_block(std::uint32_t first, std::uint32_t end,
                                                      std::uint32_t count) const {
  for (std::uint32_t at = first; at < end && count <= end - at; at += count)
    if (are_ports_free({.first = at, .count = count})) return at;
  return std::nullopt;
}

bool MetricsPorts::are_ports_free(const PortBlock& block) const {
  const auto overlaps = [&](const auto& other) {
    return block.first < other.second.first + other.second.count &&
           other.second.first < block.first + block.count;
  };
  if (std::ranges::any_of(blocks_, overlaps)) return false;
  for (std::uint32_t port = block.first; port < block.first + block.count; ++port)
    if (!is_port_free(port)) return false;
  return true;
}

}  // namespace ratoon::local
