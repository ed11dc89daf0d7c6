#include "operator/runtime/members/secret_certificate.h"

#include <utility>

#include "base/core/hex.h"
#include "base/http/tls/certificate.h"
#include "operator/kube/lenient_json.h"
#include "operator/kube/objects/event.h"

namespace ratoon::runtime {
namespace {

using nlohmann::json;

constexpr Duration kSecretCheckInterval = std::chrono::seconds(10);
constexpr Duration kSecretTimeout = std::chrono::seconds(5);

// The reason and the message of a Kubernetes event.
struct CertificateEventText {
  const char* reason;
  const char* text;
};

CertificateEventText event_text_of(CertificateAction move) {
  switch (move) {
    case CertificateAction::kKeep:
      break;
    case CertificateAction::kRestore:
      return {"CertificateRestored", "the operator restored the certificate for members"};
    case CertificateAction::kIssue:
      return {"CertificateIssued", "the operator issued another certificate of the same authority"};
    case CertificateAction::kAddAuthority:
      return {"AuthorityAdded", "the operator added an authority for later certificates"};
    case CertificateAction::kRenewAuthority:
      return {"AuthorityRenewed", "the operator renewed the authority and its certificate"};
    case CertificateAction::kMakeAll:
      return {"CertificateMade", "the operator made an authority and a certificate for members"};
  }
  return {"CertificateKept", "the operator kept the certificate for members"};
}

}  // namespace

Result<void> SecretCertificate::take() {
  next_check_at_ = clock_.now() + kSecretCheckInterval;
  return look();
}

bool SecretCertificate::has_changed() {
  const Timestamp now = clock_.now();
  if (next_check_at_ && now < *next_check_at_) return false;
  next_check_at_ = now + kSecretCheckInterval;
  const ServingIdentity before = identity_;
  const auto looked = look();
  const std::string problem = looked ? std::string() : looked.error().message();
  if (std::exchange(problem_, problem) != problem && !problem.empty())
    log_.error("the Secret with the certificate for members is not up to date; the served one stays in use",
               {{"secret", options_.secret}, {"error", problem}});
  return !identity_.is_same_as(before);
}

Result<void> SecretCertificate::look() {
  const kube::ObjectReference secret{
      .resource = kube::kSecrets, .name_space = options_.name_space, .name = options_.secret};
  // Retry once, because another operator may have written the Secret between this operator's read and write.
  for (bool is_last = false;; is_last = true) {
    const auto found = client_.call(kube::get(secret), {}, kSecretTimeout);
    const bool is_absent = !found && found.error().kind() == ErrorKind::kNotFound;
    if (!found && !is_absent) return found.error().with_context("reading Secret " + options_.secret);
    const auto parts = found ? std::optional(kube::read_certificate_secret(*found)) : std::nullopt;
    const WallTime now = clock_.wall_now();
    const CertificatePlan plan = plan_certificate(parts, held_parts_, options_.name, now);
    if (plan.move == CertificateAction::kKeep) {
      keep(*parts);
      return {};
    }
    auto next =
        carry_out_plan(plan, parts.value_or(kube::CertificateParts{}), held_parts_, options_.name, now);
    if (!next) return next.error();
    const auto written = write(found ? *found : json(), *next);
    if (written) {
      keep(std::move(*next));
      tell(*written, plan);
      return {};
    }
    const ErrorKind kind = written.error().kind();
    const bool was_first = kind == ErrorKind::kAlreadyExists || kind == ErrorKind::kConflict;
    if (!was_first || is_last) return written.error().with_context("writing Secret " + options_.secret);
  }
}

Result<json> SecretCertificate::write(const json& found, const kube::CertificateParts& next) const {
  kube::ObjectReference secret{.resource = kube::kSecrets, .name_space = options_.name_space, .name = {}};
  if (found.is_null())
    return client_.call(kube::create(secret, kube::make_certificate_secret(options_.secret, next)), {},
                        kSecretTimeout);
  secret.name = options_.secret;
  return client_.call(kube::make_patch_request(secret, kube::make_certificate_patch(found, next)), {},
                      kSecretTimeout);
}

void SecretCertificate::keep(kube::CertificateParts parts) {
  if (held_parts_ == parts) return;
  held_parts_ = std::move(parts);
  identity_ = {
      .shown = {.certificate_pem = held_parts_->certificate_pem, .private_key_pem = held_parts_->key_pem},
      .ca_pem = held_parts_->authorities_pem};
  const auto validity = http::certificate_validity(identity_.shown.certificate_pem);
  if (!validity) return;
  expires_at_ = validity->ends;
  log_.info("members get this certificate",
            {{"secret", options_.secret}, {"name", options_.name}, {"ends", format_rfc3339(*expires_at_)}});
  if (clock_.wall_now() < validity->begins)
    log_.warning("the certificate for members is not valid yet by the clock of this node: correct the clock",
                 {{"secret", options_.secret}, {"begins", format_rfc3339(validity->begins)}});
}

void SecretCertificate::tell(const json& secret, const CertificatePlan& plan) const {
  const CertificateEventText words = event_text_of(plan.move);
  const std::string text = std::string(words.text) + ": " + plan.why;
  if (plan.is_repair) {
    log_.warning(text, {{"secret", options_.secret}});
  } else {
    log_.info(text, {{"secret", options_.secret}});
  }
  const json& meta = kube::child(secret, "metadata");
  const api::ObjectMeta object{.name_space = options_.name_space,
                               .name = options_.secret,
                               .uid = kube::string_field(meta, "uid"),
                               .resource_version = kube::string_field(meta, "resourceVersion")};
  const WallTime now = clock_.wall_now();
  const std::string name =
      options_.secret + "." + to_hex(static_cast<std::uint64_t>(now.since_epoch.count()));
  const kube::EventText event{.is_warning = plan.is_repair, .reason = words.reason, .message = text};
  const auto told = client_.call(
      kube::create({.resource = kube::kEvents, .name_space = options_.name_space, .name = {}},
                   kube::make_event(object, event, name, options_.reporter, now, 1, kube::kSecretKind)),
      {}, kSecretTimeout);
  if (!told)
    log_.warning("an event was not written", {{"event", words.reason}, {"reason", told.error().message()}});
}

}  // namespace ratoon::runtime
