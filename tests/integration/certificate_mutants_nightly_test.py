"""Mutants of which certificate is believed and which is shown, and at which addresses. With one rule of it broken a test must
turn red."""

import unittest

from mutants import MutantTest, TableOfSources, of_rows

ADDRESSES = ("http_server_test", "ServerAddresses.*")
CERTIFICATES = ("operator_runtime_test", "ServingCertificateTest.*")
TLS = ("http_transport_test", "*Tls*")

# what is broken: (tests, file, pattern, instead)
MUTANTS = {
    "a certificate of another name is shown": (
        CERTIFICATES, "base/http/tls/certificate.cpp", r"expect_name\(X509_STORE_CTX_get0_param\(context\), name\)", "true"),
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
        CERTIFICATES, "operator/runtime/members/serving_certificate.cpp", r"if \(!ends_ \|\| now < tell_end_at_\) return;",
        "return;"),
    "a server that is accepted without proof": (
        TLS, "base/http/tls/tls_client.cpp", r"is_set && X509_verify_cert\(verification\) == 1", "is_set"),
    "whatever its name is": (
        TLS, "base/http/tls/tls_client.cpp", r"expect_name\(X509_STORE_CTX_get0_param\(verification\), peer->expected_name\)",
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
    "our certificate is not shown": (
        TLS, "base/http/tls/tls_client.cpp", r" && use_identity\(context, identity_\)", ""),
}


def mutants():
    return of_rows(MUTANTS)


class CertificateMutants(TableOfSources, MutantTest):
    mutants = staticmethod(mutants)


if __name__ == "__main__":
    unittest.main(verbosity=2)
