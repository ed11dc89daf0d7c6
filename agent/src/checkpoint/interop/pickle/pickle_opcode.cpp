#include "agent/src/checkpoint/interop/pickle/pickle_opcode.h"

#include <array>
#include <cstdio>
#include <string_view>
#include <utility>

namespace ratoon::checkpoint {
namespace {

// Names of the opcodes that Ratoon refuses: tensors and plain containers in pickle protocol 2 do not need
// them.
constexpr std::pair<std::uint8_t, std::string_view> kOthers[] = {
    {'0', "POP"},
    {'1', "POP_MARK"},
    {'2', "DUP"},
    {'F', "FLOAT"},
    {'I', "INT"},
    {'L', "LONG"},
    {'S', "STRING"},
    {'T', "BINSTRING"},
    {'U', "SHORT_BINSTRING"},
    {'V', "UNICODE"},
    {'P', "PERSID"},
    {'d', "DICT"},
    {'l', "LIST"},
    {'g', "GET"},
    {'p', "PUT"},
    {'i', "INST"},
    {'o', "OBJ"},
    {'B', "BINBYTES"},
    {'C', "SHORT_BINBYTES"},
    {0x81, "NEWOBJ"},
    {0x82, "EXT1"},
    {0x83, "EXT2"},
    {0x84, "EXT4"},
    {0x8b, "LONG4"},
    {0x8c, "SHORT_BINUNICODE"},
    {0x8d, "BINUNICODE8"},
    {0x8e, "BINBYTES8"},
    {0x8f, "EMPTY_SET"},
    {0x90, "ADDITEMS"},
    {0x91, "FROZENSET"},
    {0x92, "NEWOBJ_EX"},
    {0x93, "STACK_GLOBAL"},
    {0x94, "MEMOIZE"},
    {0x95, "FRAME"},
    {0x96, "BYTEARRAY8"},
    {0x97, "NEXT_BUFFER"},
    {0x98, "READONLY_BUFFER"},
};

}  // namespace

std::string name_of_opcode(std::uint8_t code) {
  std::string_view name = "unknown";
  for (const auto& [other, known] : kOthers) {
    if (other == code) name = known;
  }
  std::array<char, 8> number{};
  std::snprintf(number.data(), number.size(), " 0x%02x", code);
  return std::string(name) + number.data();
}

}  // namespace ratoon::checkpoint
