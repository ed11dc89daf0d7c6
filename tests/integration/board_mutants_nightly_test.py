"""Mutants of the board where ranks meet: authentication, the limits of each rank, and the cost of unauthenticated clients. With
one rule of it broken a unit test must turn red."""

import unittest

from mutants import MutantTest, of_rows

BOARD = "agent/src/board/"


def board(tests):
    return "board_test", tests


# what is broken: (tests, file, pattern, instead)
MUTANTS = {
    "a second server for what meets in the same attempt": (
        board("ServedBoard.*"), BOARD + "served_board.cpp", r"if \(!server\) \{", "{"),
    "a proof of one rank that another rank may show": (
        board("BoardHandshake.*"), BOARD + "handshake.cpp", r"\{std::to_string\(hello\.rank\), hello\.nonce, board_nonce\}",
        "{hello.nonce, board_nonce}"),
    "a proof of the board that a client sends back": (
        board("BoardHandshake.*:BoardStrangers.*"), BOARD + "handshake.cpp", r"\.kind = static_cast<std::uint8_t>\(side\),",
        ".kind = static_cast<std::uint8_t>(HandshakeSide::kRank),"),
    "a proof that is as good in a second handshake": (
        board("BoardHandshake.*"), BOARD + "handshake.cpp", r"hello\.nonce, board_nonce\}", "hello.nonce}"),
    "a secret that is too short to be one": (
        board("BoardHandshake.*"), BOARD + "handshake.cpp", r"now\.secret\.size\(\) < kSecretBytesMin \|\| ", ""),
    "a rank behind the last one": (
        board("BoardHandshake.*"), BOARD + "handshake.cpp", r"hello_\.rank >= now\.world_size", "hello_.rank > now.world_size"),
    "a rank of a later attempt that is let into this one": (
        board("BoardHandshake.*"), BOARD + "handshake.cpp", r"stage_ == Stage::kEarly && !is_of_another",
        "stage_ == Stage::kEarly"),
    "any number of connections of one rank": (
        board("BoardStrangers.*"), BOARD + "connections.cpp",
        r"if \(of_rank\.connections == kConnectionsPerRankMax\) return false;", ""),
    "any number of stored bytes of one rank": (
        board("BoardStrangers.*"), BOARD + "connections.cpp", r" && of_rank <= kBufferedBytesPerRankMax", ""),
    "a rank whose former connections count for ever": (
        board("BoardStrangers.*"), BOARD + "connections.cpp",
        r"if \(--of_rank->connections == 0\) rank_uses_\.erase[^;]*;", "static_cast<void>(hello);"),
    "a rank that speaks for another attempt than it proved": (
        board("BoardStrangers.*"), BOARD + "connections.cpp",
        r"  if \(frame\.attempt != hello\.attempt\) return disconnect_client\(id\);\n", ""),
    "an unauthenticated client that may send as much as a rank": (
        board("BoardStrangers.*"), BOARD + "connections.cpp", r"is_unproven \? kHandshakeFrameBytesMax : kFrameBytesMax",
        "kFrameBytesMax"),
    "a rank that asks on before it has its answer": (
        board("BoardStrangers.*"), BOARD + "connections.cpp", r"key_value_store_\.is_waiting\(id\) \|\| ", ""),
    "an unauthenticated client that is displaced at once": (
        board("BoardUnproven.*"), BOARD + "unauthenticated_clients.cpp",
        r"accepted_clients_\.at\(next_to_evict\(\)\)\.at \+ limits_\.eviction_grace <= now",
        "accepted_clients_.at(next_to_evict()).at <= now"),
    "ranks that count as unauthenticated clients of a second": (
        board("BoardUnproven.*"), BOARD + "unauthenticated_clients.cpp", r"  remove\(id\);\n  accept_tokens_ \+= 1;",
        "  remove(id);"),
    "unauthenticated clients of one address that take a rank's place": (
        board("BoardUnproven.*"), BOARD + "unauthenticated_clients.cpp",
        r"if \(a\.second\.size\(\) != b\.second\.size\(\)\) return [^;]*;", ""),
    "any number of keys of one rank": (
        board("BoardNotes.*"), BOARD + "key_value_store.cpp", r"after\.keys > limits_\.keys_per_rank \|\| ", ""),
    "any number of bytes of one rank": (
        board("BoardNotes.*"), BOARD + "key_value_store.cpp", r"after\.bytes > limits_\.bytes_per_rank \|\| ", ""),
    "a mark that another rank sets": (
        board("BoardNotes.*"), BOARD + "key_value_store.cpp", r"if \(key\.starts_with\(kRankMarkPrefix\)\)\s+return [^;]*;", ""),
    "notes of an attempt that is still to begin": (
        board("BoardNotes.*"), BOARD + "key_value_store.cpp", r"if \(request\.attempt > attempt_\) \{", "if (false) {"),
    "a reader that is told of a key which is gone again": (
        board("BoardNotes.*"), BOARD + "key_value_store.cpp", r"\{waiting\.next, std::size_t\{0\}\}", "{waiting.next}"),
    "a frame of an unauthenticated client without a limit": (
        board("BoardFrame.*"), BOARD + "frame.cpp", r" \|\| size > frame_bytes_max - kHeaderBytes\)", ")"),
    "a network of IPv6 in which each address counts alone": (
        board("BoardAddresses.*"), BOARD + "ip_address.cpp", r"kNetworkBytes = 8", "kNetworkBytes = 16"),
    "a board that is believed without its proof": (
        board("BoardServer.RefusesAClient*"), BOARD + "client.cpp",
        r"settings_\.secret\.size\(\) < kSecretBytesMin \|\|\n\s*!is_same_secret\(",
        "settings_.secret.size() < kSecretBytesMin ||\n      false && !is_same_secret("),
    "an answer to the question before": (
        board("BoardServer.*"), BOARD + "client.cpp", r"fd_\.reset\(\);  // the answer may still come[^\n]*", ""),
    "a secret in the meeting folder that every user may read": (
        ("group_link_test", "GroupLinkTest.*"), "agent/src/session/rendezvous/rendezvous_folder.cpp",
        r"kPrivateMode = 0600", "kPrivateMode = 0644"),
    "as many open files as the system gives, however many ranks come": (
        board("BoardServer.*"), BOARD + "server.cpp", r"open_files_needed_for\(served_attempt\.world_size, kOtherOpenFiles\)",
        "kOtherOpenFiles"),
}


def mutants():
    return of_rows(MUTANTS)


class BoardMutants(MutantTest):
    def test_each_turns_a_test_red(self):
        self.check_each(mutants())

    def test_what_is_left_as_it_is_passes(self):
        self.check_sound([mutant for mutant in mutants() if mutant.source.endswith(("connections.cpp", "client.cpp"))])


if __name__ == "__main__":
    unittest.main(verbosity=2)
