"""Mutants of which certificate is believed and which is shown, and at which addresses. With one rule of it broken a test must
turn red."""

import unittest

from mutants import MutantTest, TableOfSources, of_rows

ADDRESSES = ("http_server_test", "ServerAddresses.*")
CERTIFICATES = ("operator_runtime_test", "ServingCertificateTest.*")
TLS = ("http_transport_test", "*Tls*")
PLAN = ("operator_runtime_test", "CertificatePlan.*")
SECRET = ("operator_runtime_test", "SecretCertificateTest.*")
PLAN_SOURCE = "operator/runtime/members/certificate_plan.cpp"
SECRET_SOURCE = "operator/runtime/members/secret_certificate.cpp"

# what is broken: (tests, file, pattern, instead)
MUTANTS = {
    "a certificate of another name is shown": (
        CERTIFICATES, "base/http/tls/certificate.cpp", r"set_expected_host_name\(X509_STORE_CTX_get0_param\(context\), name\)",
        "true"),
    "a certificate that has ended is shown": (
        CERTIFICATES, "base/http/tls/certificate.cpp", r"X509_STORE_CTX_set_time\(context, 0, time\);",
        "X509_VERIFY_PARAM_set_flags(X509_STORE_CTX_get0_param(context), X509_V_FLAG_NO_CHECK_TIME);"),
    "a certificate of an unknown authority is shown": (
        CERTIFICATES, "base/http/tls/certificate.cpp", r"if \(X509_verify_cert\(context\) == 1\) return \{\};",
        "return {};"),
    "what is half written is shown": (
        CERTIFICATES, "operator/runtime/members/serving_certificate.cpp", r"if \(checked\) \{\n    keep",
        "if (found) {\n    keep"),
    "renewed files are never taken": (
        CERTIFICATES, "operator/runtime/members/serving_certificate.cpp", r"    keep\(std::move\(\*found\)\);\n    return true;",
        "    return false;"),
    "files are read with every question": (
        CERTIFICATES, "operator/runtime/members/serving_certificate.cpp",
        r"if \(next_check_ && now < \*next_check_\) return false;", ""),
    "a certificate that ends without a warning": (
        CERTIFICATES, "operator/runtime/members/serving_certificate.cpp",
        r"if \(!expires_at_ \|\| now < next_expiry_warning_at_\) return;",
        "return;"),
    "a server that is accepted without proof": (
        TLS, "base/http/tls/tls_client.cpp", r"is_set && X509_verify_cert\(verification\) == 1", "is_set"),
    "whatever its name is": (
        TLS, "base/http/tls/tls_client.cpp",
        r"set_expected_host_name\(X509_STORE_CTX_get0_param\(verification\), peer->expected_name\)",
        "true"),
    "a name that is only in the subject": (TLS, "base/http/tls/tls_pem.cpp", r" \| X509_CHECK_FLAG_NEVER_CHECK_SUBJECT", ""),
    "an address is taken for a name": (TLS, "base/http/tls/tls_pem.cpp", r"if \(is_ip_address\(name\)\) return [^;]*;", ""),
    "a key of another certificate": (
        TLS, "base/http/tls/tls_pem.cpp", r"X509_check_private_key\([^{]*? != 1", "false"),
    "a door that is shut where there is no IPv6": (
        ADDRESSES, "base/http/server.cpp", r"error == asio::error::address_family_not_supported &&", "false &&"),
    "another address that is taken for the one that was asked for": (
        ADDRESSES, "base/http/server.cpp", r" && core_->options\.address == kEveryAddress\)", ")"),
    "a door that takes IPv6 alone": (
        ADDRESSES, "base/http/server.cpp", r"asio::ip::v6_only\(!address\.is_unspecified\(\)\)", "asio::ip::v6_only(true)"),
    "an address of IPv4 that is shown within one of IPv6": (
        ADDRESSES, "base/http/server/server_session.cpp",
        r"if \(!address\.is_v6\(\) \|\| !address\.to_v6\(\)\.is_v4_mapped\(\)\) return address;", "return address;"),
    "clients without a certificate": (
        TLS, "base/http/server/server_tls.cpp", r" \| SSL_VERIFY_FAIL_IF_NO_PEER_CERT", ""),
    "clients with a certificate of another authority": (
        TLS, "base/http/server/server_tls.cpp", r"SSL_CTX_set1_cert_store\(context, store->get\(\)\);",
        "SSL_CTX_set_cert_verify_callback(context, [](X509_STORE_CTX*, void*) { return 1; }, nullptr);"),
    "a certificate is renewed when it has expired": (PLAN, PLAN_SOURCE, r"whole / kRenewalFraction", "Duration(0)"),
    "a certificate that has not begun is replaced": (
        PLAN, PLAN_SOURCE, r"found\.certificate \? std::max\(now, found\.certificate->begins\) : now", "now"),
    "a certificate begins when it is made": (
        PLAN, PLAN_SOURCE, r"\.begins = authority\.validity\.begins,", ".begins = now,"),
    "an authority begins when it is made": (PLAN, PLAN_SOURCE, r"make_authority\(former->validity\.begins, now\)",
                                            "make_authority(now, now)"),
    "an expired authority signs": (
        PLAN, PLAN_SOURCE, r" \|\| validity->ends <= now\) return std::nullopt", ") return std::nullopt"),
    "members of the former authority are left behind": (PLAN, PLAN_SOURCE, r"chain = \*bridge \+", "chain ="),
    "the next certificate leaves members of the former authority behind": (
        PLAN, PLAN_SOURCE,
        r"issue_certificate_into\(\*authority, unexpired_certificates\(found\.certificate_pem, 1, now\),\s+name, now, next\)",
        'issue_certificate_into(*authority, "", name, now, next)'),
    "new pods do not know the former authority": (
        PLAN, PLAN_SOURCE,
        r"(CertificateParts next;\n  next\.authorities_pem =\s+authority->keyed\.certificate_pem) \+ [^;]*", r"\1"),
    "an expired authority is kept": (PLAN, PLAN_SOURCE, r"validity && validity->ends > now", "validity"),
    "what the operator holds is not restored": (PLAN, PLAN_SOURCE, r"can_restore      \? CertificateAction::kRestore",
                                                "false ? CertificateAction::kRestore"),
    "a certificate without its authority's key is replaced": (
        PLAN, PLAN_SOURCE, r"is_accepted    \? CertificateAction::kAddAuthority", "false ? CertificateAction::kAddAuthority"),
    "a certificate that signs others": (PLAN, PLAN_SOURCE, r"!issued \|\| assess_certificate\([^;]*\.empty\(\)\)", "true)"),
    "a write over another operator's": (
        SECRET, "operator/kube/objects/certificate_secret.cpp",
        r'\{"resourceVersion", string_field\(child\(secret, "metadata"\), "resourceVersion"\)\}', '{"name", "s"}'),
    "the operator that comes second does not read again": (SECRET, SECRET_SOURCE, r"!was_first \|\| is_last", "true"),
    "a Secret that is read with every question": (
        SECRET, SECRET_SOURCE, r"if \(next_check_at_ && now < \*next_check_at_\) return false;", ""),
    "no event for people": (SECRET, SECRET_SOURCE, r"      tell\(\*written, plan\);\n", ""),
    "a slice that its Service does not find": (
        ("operator_kube_test", "EndpointSlice.*"), "operator/kube/objects/endpoint_slice.cpp",
        r" && has_labels\(slice, labels_of\(service\)\)", ""),
    "our certificate is not shown": (
        TLS, "base/http/tls/tls_client.cpp", r" &&\s+set_tls_identity\(context, identity_\)", ""),
}


def mutants():
    return of_rows(MUTANTS)


class CertificateMutants(TableOfSources, MutantTest):
    mutants = staticmethod(mutants)


if __name__ == "__main__":
    unittest.main(verbosity=2)
