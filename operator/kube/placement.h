// Where a member's pod may go: not where one was lost, rather apart from its peers, and off a lost node soon.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace ratoon::kube {

// Each alternative of the user's required node affinity gets it, since one that did not would be a way in.
void avoid_nodes(nlohmann::json& pod_spec, const std::vector<std::string>& nodes);

// Preferred only.
void shun_nodes(nlohmann::json& pod_spec, const std::vector<std::string>& nodes);

// By host, preferred only, and only where the user says nothing about which pods are near each other or how
// they spread.
void prefer_apart(nlohmann::json& pod_spec, const std::string& job_uid);

// For the two taints of a lost node, unless the user tolerates them in his own way.
void leave_lost_nodes_after(nlohmann::json& pod_spec, std::uint32_t seconds);

}  // namespace ratoon::kube
