#include "agent/src/session/link/member_token.h"

#include <string>

#include "base/contract/names.h"
#include "base/core/read_file.h"

namespace ratoon::session {

Result<std::unique_ptr<TokenFile>> open_token_file(const MemberOptions& member, const Clock& clock) {
  auto token = std::make_unique<TokenFile>(member.token_file, clock);
  if (member.token_file.empty() || !token->token().empty()) return token;
  const auto text = read_file(member.token_file);
  if (text && !token->token().empty()) return token;  // the first look failed
  if (!text && text.error().kind() != ErrorKind::kNotFound) {
    return text.error().with_context("reading the token of this process (" +
                                     std::string(names::env::kTokenFile) + ")");
  }
  return Error(ErrorKind::kInvalid, "no token can be read from " + member.token_file + " (" +
                                        names::env::kTokenFile +
                                        "); let `ratoon run` or the operator start this program");
}

}  // namespace ratoon::session
