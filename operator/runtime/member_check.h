// Who may speak for a member: the bearer of a token that was made for that member's very pod.
#pragma once

#include <string_view>

#include <ratoon/result.h>

#include "base/contract/messages.h"
#include "operator/kube/token_review.h"
#include "operator/runtime/token_reviewer.h"

namespace ratoon::runtime {

// Whether a token of that identity may speak for this process.
[[nodiscard]] Result<void> match_member(const kube::TokenIdentity& bearer, const ProcessIdentity& process);

// kPermissionDenied if the token is another's; any other error says that this cannot be found out now.
[[nodiscard]] Result<void> check_member(TokenReviewer& tokens, std::string_view token,
                                        const ProcessIdentity& process);

}  // namespace ratoon::runtime
