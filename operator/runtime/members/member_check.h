// Authenticates members: only the bearer of a token that was made for a member's pod may act for that member.
#pragma once

#include <string_view>

#include <ratoon/result.h>

#include "base/contract/messages.h"
#include "operator/kube/objects/token_review.h"
#include "operator/runtime/members/token_reviewer.h"

namespace ratoon::runtime {

// Whether a token of this identity may act for this process.
[[nodiscard]] Result<void> match_member(const kube::TokenIdentity& bearer, const ProcessIdentity& process);

// kPermissionDenied if the token belongs to another pod; any other error means that this cannot be decided
// now.
[[nodiscard]] Result<void> check_member(TokenReviewer& tokens, std::string_view token,
                                        const ProcessIdentity& process);

}  // namespace ratoon::runtime
