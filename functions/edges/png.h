// functions/edges/png.h: grey images as PNG files (RFC 2083), uncompressed: a few lines, where a
// library would have to be brought along.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace edges {

/// What PNG calls CRC: of the type and the content of a chunk.
inline std::uint32_t checksum(std::span<const std::uint8_t> bytes) {
  std::uint32_t sum = 0xFFFFFFFF;
  for (const std::uint8_t byte : bytes) {
    sum ^= byte;
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1U) ^ ((sum & 1U) != 0 ? 0xEDB88320U : 0U);
  }
  return ~sum;
}

/// Adler-32 of RFC 1950.
inline std::uint32_t adler(std::span<const std::uint8_t> bytes) {
  constexpr std::uint32_t base = 65521;
  std::uint32_t low = 1;
  std::uint32_t high = 0;
  for (const std::uint8_t byte : bytes) {
    low = (low + byte) % base;
    high = (high + low) % base;
  }
  return high << 16U | low;
}

inline void append_number(std::vector<std::uint8_t>& to, std::uint32_t number) {
  for (int shift = 24; shift >= 0; shift -= 8)
    to.push_back(static_cast<std::uint8_t>(number >> static_cast<unsigned>(shift)));
}

inline void append_chunk(std::vector<std::uint8_t>& file, std::string_view type,
                         std::span<const std::uint8_t> content) {
  append_number(file, static_cast<std::uint32_t>(content.size()));
  const std::size_t begin = file.size();
  file.insert(file.end(), type.begin(), type.end());
  file.insert(file.end(), content.begin(), content.end());
  append_number(file, checksum(std::span(file).subspan(begin)));
}

/// `pixels` row by row, a byte each.
inline std::vector<std::uint8_t> grey_png(std::uint32_t width, std::uint32_t height,
                                          std::span<const std::uint8_t> pixels) {
  std::vector<std::uint8_t> rows;  // each behind a byte for its filter, which is none
  rows.reserve(std::size_t{height} * (width + 1));
  for (std::uint32_t y = 0; y < height; ++y) {
    rows.push_back(0);
    const auto row = pixels.subspan(std::size_t{y} * width, width);
    rows.insert(rows.end(), row.begin(), row.end());
  }
  constexpr std::size_t longest_block = 65535;
  std::vector<std::uint8_t> stream{0x78, 0x01};
  for (std::size_t at = 0; at == 0 || at < rows.size(); at += longest_block) {
    const std::size_t size = std::min(longest_block, rows.size() - at);
    const std::size_t complement = longest_block - size;
    const std::size_t is_last = at + longest_block >= rows.size() ? 1 : 0;
    for (const std::size_t byte : {is_last, size, size >> 8U, complement, complement >> 8U})
      stream.push_back(static_cast<std::uint8_t>(byte & 0xFFU));
    stream.insert(stream.end(), rows.begin() + static_cast<std::ptrdiff_t>(at),
                  rows.begin() + static_cast<std::ptrdiff_t>(at + size));
  }
  append_number(stream, adler(rows));

  std::vector<std::uint8_t> header;
  append_number(header, width);
  append_number(header, height);
  // 8 bits, grey, and the only methods that there are, not interlaced.
  constexpr std::array<std::uint8_t, 5> kind{8, 0, 0, 0, 0};
  header.insert(header.end(), kind.begin(), kind.end());
  std::vector<std::uint8_t> file{0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
  append_chunk(file, "IHDR", header);
  append_chunk(file, "IDAT", stream);
  append_chunk(file, "IEND", {});
  return file;
}

}  // namespace edges
