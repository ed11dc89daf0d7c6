// Members' tokens, and an API server's reviews of them, beside the operator's own reviewer.
#pragma once

#include <cstddef>
#include <stop_token>
#include <string>

#include <nlohmann/json.hpp>

#include "base/contract/messages.h"
#include "base/contract/names.h"
#include "base/http/transport.h"
#include "tests/support/operator_builders.h"

namespace ratoon::test {

// Each member has its own token, as long as Kubernetes makes them; the token begins with the name of its
// owner.
inline std::string token_of(const ProcessIdentity& process) {
  constexpr std::size_t kTokenBytes = 1100;
  std::string token = member_name(process.job, process.role, process.index, process.incarnation) + "." +
                      process.member_uid + ".";
  token.resize(kTokenBytes, 'x');
  return token;
}

// An API server in memory: each token is valid, and belongs to the owner that it names.
class ReviewsInMemory final : public http::HttpTransport {
 public:
  Result<http::Response> call(const http::Request& request, const http::Limits&, std::stop_token) override {
    const auto review = nlohmann::json::parse(request.body);
    const auto token = review["spec"]["token"].get<std::string>();
    const auto name_ends = token.find('.');
    const auto uid_ends = token.find('.', name_ends + 1);
    const nlohmann::json extra = {
        {"authentication.kubernetes.io/pod-name", {token.substr(0, name_ends)}},
        {"authentication.kubernetes.io/pod-uid", {token.substr(name_ends + 1, uid_ends - name_ends - 1)}}};
    const nlohmann::json user = {{"username", "system:serviceaccount:" + job_key().name_space + ":default"},
                                 {"extra", extra}};
    const nlohmann::json answer = {
        {"status", {{"authenticated", true}, {"audiences", {names::kTokenAudience}}, {"user", user}}}};
    return http::Response{.status = 201, .headers = {}, .body = answer.dump()};
  }
  Result<http::ResponseHead> stream(const http::Request&, const http::Limits&, http::BodySink&,
                                    std::stop_token) override {
    return Error(ErrorKind::kUnavailable, "no token is reviewed by a watch");
  }
};

}  // namespace ratoon::test
