// Authenticates members: a caller may act for a member only with a token that was issued for the member's
// pod.
#pragma once

#include <string_view>

#include <ratoon/result.h>

#include "base/contract/messages.h"
#include "operator/kube/objects/token_review.h"
#include "operator/runtime/members/token_reviewer.h"

namespace ratoon::runtime {

// Checks that the holder of a token with this identity may act for this process.
[[nodiscard]] Result<void> match_member(const kube::TokenIdentity& bearer, const ProcessIdentity& process);

// Checks the token. Returns kPermissionDenied if the token belongs to another pod; any other error means that
// the operator cannot check the token now.
[[nodiscard]] Result<void> check_member(TokenReviewer& tokens, std::string_view token,
                                        const ProcessIdentity& process);

}  // namespace ratoon::runtime
