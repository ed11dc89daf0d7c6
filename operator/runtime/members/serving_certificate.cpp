#include "operator/runtime/members/serving_certificate.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include "base/core/read_file.h"
#include "base/http/tls/certificate.h"

namespace ratoon::runtime {
namespace {

constexpr Duration kFileCheckInterval = std::chrono::seconds(5);
constexpr Duration kExpiryWarningInterval = std::chrono::hours(24);
constexpr Duration kExpiryWarningBefore = std::chrono::hours(14 * 24);
constexpr int kExpiryWarningFraction = 6;  // of the remaining time; renewals happen with a third of it left

}  // namespace

Result<void> ServingCertificate::take() {
  auto found = read();
  if (!found) return found.error();
  if (auto checked = check(*found); !checked) return checked;
  keep(std::move(*found));
  return {};
}

bool ServingCertificate::has_changed() {
  const Timestamp now = clock_.now();
  if (next_check_ && now < *next_check_) return false;
  next_check_ = now + kFileCheckInterval;
  warn_of_expiry();
  auto found = read();
  if (found && found->is_same_as(identity_)) {
    problem_.clear();
    return false;
  }
  const Result<void> checked = found ? check(*found) : Result<void>(found.error());
  if (checked) {
    keep(std::move(*found));
    return true;
  }
  if (std::exchange(problem_, checked.error().message()) != problem_)
    log_.error("a renewed certificate is refused; the previous one stays in use", {{"error", problem_}});
  return false;
}

Result<ServingIdentity> ServingCertificate::read() const {
  ServingIdentity identity;
  for (const auto& [name, into] :
       {std::pair("tls.crt", &identity.shown.certificate_pem),
        std::pair("tls.key", &identity.shown.private_key_pem), std::pair("ca.crt", &identity.ca_pem)}) {
    auto text = read_file(std::filesystem::path(options_.folder) / name);
    if (!text) {
      return Error(ErrorKind::kInvalid,
                   text.error().message() + "; expected in " + options_.folder +
                       " are tls.crt, its key tls.key, and ca.crt, the authority that signed it");
    }
    *into = std::move(*text);
  }
  return identity;
}

Result<void> ServingCertificate::check(const ServingIdentity& identity) const {
  const auto checked =
      http::check_certificate(identity.shown, identity.ca_pem, options_.name, clock_.wall_now());
  if (checked) return {};
  return Error(ErrorKind::kInvalid, "members cannot use the certificate in " + options_.folder + ": " +
                                        checked.error().message() + "; expected are tls.crt for '" +
                                        options_.name +
                                        "', its key tls.key, and ca.crt, the authority that signed it");
}

void ServingCertificate::keep(ServingIdentity identity) {
  identity_ = std::move(identity);
  problem_.clear();
  const auto validity = http::certificate_validity(identity_.shown.certificate_pem);
  expires_at_ = validity ? std::optional(validity->ends) : std::nullopt;
  if (expires_at_) {
    const Duration left = expires_at_->since_epoch - clock_.wall_now().since_epoch;
    next_expiry_warning_at_ = {expires_at_->since_epoch -
                               std::min(kExpiryWarningBefore, left / kExpiryWarningFraction)};
  }
  log_.info("members get this certificate", {{"folder", options_.folder},
                                             {"name", options_.name},
                                             {"ends", expires_at_ ? format_rfc3339(*expires_at_) : ""}});
}

void ServingCertificate::warn_of_expiry() {
  const WallTime now = clock_.wall_now();
  if (!expires_at_ || now < next_expiry_warning_at_) return;
  next_expiry_warning_at_ = {now.since_epoch + kExpiryWarningInterval};
  log_.warning(now < *expires_at_
                   ? "the certificate for members expires soon: renew the files"
                   : "the certificate for members has expired, and members refuse it: renew the files",
               {{"folder", options_.folder}, {"ends", format_rfc3339(*expires_at_)}});
}

}  // namespace ratoon::runtime
