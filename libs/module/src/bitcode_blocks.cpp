#include "bitcode_blocks.h"

#include <fmt/format.h>

#include <cstdint>

#include "byte_reader.h"

namespace orchid::module {
namespace {

constexpr std::uint32_t bitcode_magic = 0xdec04342;  // 'B' 'C' C0 DE
constexpr std::uint32_t wrapper_magic = 0x0b17c0de;
constexpr std::uint32_t enter_subblock = 1;
constexpr std::uint32_t module_block = 8;

std::unexpected<Failure> damaged_at(std::uint64_t offset) {
  return fail(ErrorCode::module_rejected,
              fmt::format("the bitcode is damaged at byte {}; build the module again", offset));
}

}  // namespace

bool has_bitcode_magic(std::span<const std::byte> bytes) {
  return load<std::uint32_t>(bytes, 0) == bitcode_magic;
}
bool has_bitcode_wrapper_magic(std::span<const std::byte> bytes) {
  return load<std::uint32_t>(bytes, 0) == wrapper_magic;
}

Result<std::span<const std::byte>> unwrap_bitcode(std::span<const std::byte> bytes) {
  // Head: magic, version, offset, size, CPU type; 32 bits each.
  const auto offset = load<std::uint32_t>(bytes, 8);
  const auto size = load<std::uint32_t>(bytes, 12);
  if (!offset || !size || bytes.size() < 20)
    return fail(ErrorCode::module_rejected,
                fmt::format("truncated at byte {}: the bitcode wrapper's head needs 20 bytes",
                            bytes.size()));
  const auto inner = slice(bytes, *offset, *size);
  if (!inner)
    return fail(ErrorCode::module_rejected,
                fmt::format("truncated at byte {}: the bitcode wrapper says {} bytes from byte {}",
                            bytes.size(), *size, *offset));
  if (!has_bitcode_magic(*inner)) return damaged_at(*offset);
  return *inner;
}

Result<void> check_bitcode_blocks(std::span<const std::byte> bytes) {
  // At this level LLVM writes only blocks, each aligned to 32 bits: abbreviation id (2 bits), block
  // id (8), width of ids inside (4), padding, then the block's length in words.
  std::uint64_t at = 4;
  bool has_module = false;
  while (bytes.size() - at >= 8) {
    const std::uint32_t head = *load<std::uint32_t>(bytes, at);
    const std::uint64_t words = *load<std::uint32_t>(bytes, at + 4);
    const std::uint32_t block = (head >> 2) & 0xff;
    if ((head & 3) != enter_subblock || block >= 0x80) return damaged_at(at);
    const std::uint64_t end = at + 8 + words * 4;
    if (end > bytes.size())
      return fail(
          ErrorCode::module_rejected,
          fmt::format(
              "the bitcode is truncated at byte {}: the block at byte {} goes on to byte {}; "
              "upload the whole file",
              bytes.size(), at, end));
    has_module = has_module || block == module_block;
    at = end;
  }
  // Fewer than 8 bytes more cannot hold a block; some archivers leave such padding.
  if (!has_module)
    return fail(
        ErrorCode::module_rejected,
        fmt::format(
            "the bitcode is truncated at byte {}: it ends before its module; upload the whole file",
            bytes.size()));
  return {};
}

}  // namespace orchid::module
