#include "operator/runtime/members/certificate_plan.h"

#include <algorithm>
#include <vector>

#include "base/http/tls/issue_certificate.h"

namespace ratoon::runtime {
namespace {

using http::KeyedCertificate;
using http::Validity;
using kube::CertificateParts;

constexpr Duration kBackdatedBy = std::chrono::hours(24);  // for members whose clocks are late

struct SigningAuthority {
  KeyedCertificate keyed;
  Validity validity;
};

struct Assessment {
  std::string problem;  // why members would refuse the certificate; empty: they accept it
  std::optional<Validity> certificate;
  std::optional<SigningAuthority> authority;  // nothing: its key is missing, or it has expired

  [[nodiscard]] bool is_whole() const { return problem.empty() && authority; }
};

WallTime add_duration(WallTime time, Duration by) {
  return {time.since_epoch + by};
}

std::optional<SigningAuthority> find_authority(const CertificateParts& parts, WallTime now) {
  for (const std::string& each : http::split_certificates(parts.authorities_pem)) {
    if (!http::is_key_of(parts.authority_key_pem, each)) continue;
    const auto validity = http::certificate_validity(each);
    if (!validity || validity->ends <= now) return std::nullopt;
    return SigningAuthority{.keyed = {.certificate_pem = each, .key_pem = parts.authority_key_pem},
                            .validity = *validity};
  }
  return std::nullopt;
}

Assessment assess_certificate(const CertificateParts& parts, const std::string& name, WallTime now) {
  Assessment found{.problem = {},
                   .certificate = http::certificate_validity(parts.certificate_pem),
                   .authority = find_authority(parts, now)};
  const WallTime time = found.certificate ? std::max(now, found.certificate->begins) : now;
  const auto checked =
      http::check_certificate({.certificate_pem = parts.certificate_pem, .private_key_pem = parts.key_pem},
                              parts.authorities_pem, name, time);
  if (!checked) found.problem = checked.error().message();
  return found;
}

bool is_renewal_due(const Validity& validity, Duration lifetime, WallTime now) {
  const Duration whole = std::min(lifetime, validity.ends.since_epoch - validity.begins.since_epoch);
  return validity.ends.since_epoch - now.since_epoch <= whole / kRenewalFraction;
}

CertificatePlan plan_renewal(const Assessment& found, WallTime now) {
  if (is_renewal_due(found.authority->validity, kAuthorityLifetime, now))
    return {.move = CertificateAction::kRenewAuthority,
            .why = "two thirds of the authority's validity are over"};
  if (is_renewal_due(*found.certificate, kCertificateLifetime, now))
    return {.move = CertificateAction::kIssue, .why = "two thirds of the certificate's validity are over"};
  return {};
}

// Returns the certificates of `pem` that have not expired, beginning at index `from`.
std::string unexpired_certificates(const std::string& pem, std::size_t from, WallTime now) {
  std::string kept;
  const auto all = http::split_certificates(pem);
  for (std::size_t i = from; i < all.size(); ++i) {
    const auto validity = http::certificate_validity(all[i]);
    if (validity && validity->ends > now) kept += all[i];
  }
  return kept;
}

Result<SigningAuthority> make_authority(WallTime begins, WallTime now) {
  const Validity validity{.begins = begins, .ends = add_duration(now, kAuthorityLifetime)};
  auto made = http::make_authority("ratoon authority " + format_rfc3339(now), validity);
  if (!made) return made.error();
  return SigningAuthority{.keyed = std::move(*made), .validity = validity};
}

// Issues a certificate, signed by `authority`, and stores it in `into`. `chain` has the certificates that
// link this certificate to older authorities.
Result<void> issue_certificate_into(const SigningAuthority& authority, const std::string& chain,
                                    const std::string& name, WallTime now, CertificateParts& into) {
  const WallTime from = std::max(now, authority.validity.begins);
  const Validity validity{
      .begins = authority.validity.begins,
      .ends = std::min(add_duration(from, kCertificateLifetime), authority.validity.ends)};
  auto made = http::issue_certificate(authority.keyed, name, validity);
  if (!made) return made.error();
  into.certificate_pem = made->certificate_pem + chain;
  into.key_pem = std::move(made->key_pem);
  return {};
}

Result<CertificateParts> reissue_certificate(const CertificateParts& found, const std::string& name,
                                             WallTime now) {
  const auto authority = find_authority(found, now);
  if (!authority) return Error(ErrorKind::kInvalid, "the authority cannot sign");
  CertificateParts next = found;
  next.authorities_pem = unexpired_certificates(found.authorities_pem, 0, now);
  if (auto done = issue_certificate_into(*authority, unexpired_certificates(found.certificate_pem, 1, now),
                                         name, now, next);
      !done)
    return done.error();
  return next;
}

Result<CertificateParts> add_authority(const CertificateParts& found, WallTime now) {
  const auto authority = make_authority(add_duration(now, -kBackdatedBy), now);
  if (!authority) return authority.error();
  CertificateParts next = found;
  next.authorities_pem =
      authority->keyed.certificate_pem + unexpired_certificates(found.authorities_pem, 0, now);
  next.authority_key_pem = authority->keyed.key_pem;
  return next;
}

Result<CertificateParts> renew_authority(const CertificateParts& found, const std::string& name,
                                         WallTime now) {
  const auto former = find_authority(found, now);
  if (!former) return Error(ErrorKind::kInvalid, "the former authority cannot sign");
  const auto authority = make_authority(former->validity.begins, now);
  if (!authority) return authority.error();
  const auto bridge = http::cross_sign(former->keyed, authority->keyed.certificate_pem, former->validity);
  if (!bridge) return bridge.error();
  CertificateParts next;
  next.authorities_pem =
      authority->keyed.certificate_pem + unexpired_certificates(found.authorities_pem, 0, now);
  next.authority_key_pem = authority->keyed.key_pem;
  const std::string chain = *bridge + unexpired_certificates(found.certificate_pem, 1, now);
  if (auto done = issue_certificate_into(*authority, chain, name, now, next); !done) return done.error();
  return next;
}

Result<CertificateParts> make_authority_and_certificate(const std::string& name, WallTime now) {
  const auto authority = make_authority(add_duration(now, -kBackdatedBy), now);
  if (!authority) return authority.error();
  CertificateParts next{.authorities_pem = authority->keyed.certificate_pem,
                        .authority_key_pem = authority->keyed.key_pem,
                        .certificate_pem = {},
                        .key_pem = {}};
  if (auto done = issue_certificate_into(*authority, "", name, now, next); !done) return done.error();
  return next;
}

}  // namespace

CertificatePlan plan_certificate(const std::optional<CertificateParts>& found,
                                 const std::optional<CertificateParts>& held, const std::string& name,
                                 WallTime now) {
  const bool can_restore = held && assess_certificate(*held, name, now).is_whole();
  if (!found) {
    return {.move = can_restore ? CertificateAction::kRestore : CertificateAction::kMakeAll,
            .why = "there is no Secret",
            .is_repair = held.has_value()};
  }
  const Assessment seen = assess_certificate(*found, name, now);
  if (seen.is_whole()) return plan_renewal(seen, now);
  CertificatePlan plan{
      .why = !seen.problem.empty() ? seen.problem : "no authority of ca.crt has the key ca.key",
      .is_repair = true};
  const bool is_accepted = seen.problem.empty();
  plan.move = can_restore      ? CertificateAction::kRestore
              : seen.authority ? CertificateAction::kIssue
              : is_accepted    ? CertificateAction::kAddAuthority
                               : CertificateAction::kMakeAll;
  return plan;
}

Result<CertificateParts> carry_out_plan(const CertificatePlan& plan, const CertificateParts& found,
                                        const std::optional<CertificateParts>& held, const std::string& name,
                                        WallTime now) {
  switch (plan.move) {
    case CertificateAction::kKeep:
      return found;
    case CertificateAction::kRestore:
      return held.value_or(found);
    case CertificateAction::kIssue: {
      auto issued = reissue_certificate(found, name, now);
      // Check the result, because the certificate that has the key ca.key may not be the certificate of an
      // authority.
      if (!issued || assess_certificate(*issued, name, now).problem.empty()) return issued;
      break;
    }
    case CertificateAction::kAddAuthority:
      return add_authority(found, now);
    case CertificateAction::kRenewAuthority:
      return renew_authority(found, name, now);
    case CertificateAction::kMakeAll:
      break;
  }
  return make_authority_and_certificate(name, now);
}

}  // namespace ratoon::runtime
