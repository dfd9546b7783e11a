// functions/edges: the edges of an image (Sobel and Feldman 1968), in tiles, for the flow in
// edges.yaml. The image is a grey one in the form PGM (P5), as a data object.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <vector>

#include "orchid/function.hpp"
#include "png.h"
#include "tile.h"

namespace {

using edges::Tile;

struct Image {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::span<const std::uint8_t> pixels;  // row by row

  /// Beyond its border it goes on as it ends.
  [[nodiscard]] int at(std::int64_t x, std::int64_t y) const {
    const auto column = static_cast<std::size_t>(std::clamp<std::int64_t>(x, 0, width - 1));
    const auto row = static_cast<std::size_t>(std::clamp<std::int64_t>(y, 0, height - 1));
    return pixels[row * width + column];
  }
};

bool is_space(char byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }

/// The next number of a PGM's head, behind spaces and comments.
std::uint32_t take_number(std::string_view& head) {
  while (!head.empty() && (is_space(head.front()) || head.front() == '#')) {
    const std::size_t line = head.front() == '#' ? head.find('\n') : 0;
    head.remove_prefix(line == std::string_view::npos ? head.size() : line + 1);
  }
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(head.data(), head.data() + head.size(), number);
  if (error != std::errc()) throw std::invalid_argument("the image's head has no number there");
  head.remove_prefix(static_cast<std::size_t>(end - head.data()));
  return number;
}

Image read(std::span<const std::uint8_t> bytes) {
  std::string_view head(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!head.starts_with("P5")) throw std::invalid_argument("the image is no PGM (P5)");
  head.remove_prefix(2);
  Image image{.width = take_number(head), .height = take_number(head), .pixels = {}};
  const std::uint32_t white = take_number(head);
  const std::uint64_t size = std::uint64_t{image.width} * image.height;
  if (size == 0 || white != 255 || head.size() != size + 1)
    throw std::invalid_argument("a PGM has a byte for each pixel, and 255 for white");
  image.pixels = bytes.last(static_cast<std::size_t>(size));
  return image;
}

std::uint8_t edge_at(const Image& image, std::int64_t x, std::int64_t y) {
  const int across = image.at(x + 1, y - 1) + 2 * image.at(x + 1, y) + image.at(x + 1, y + 1) -
                     image.at(x - 1, y - 1) - 2 * image.at(x - 1, y) - image.at(x - 1, y + 1);
  const int down = image.at(x - 1, y + 1) + 2 * image.at(x, y + 1) + image.at(x + 1, y + 1) -
                   image.at(x - 1, y - 1) - 2 * image.at(x, y - 1) - image.at(x + 1, y - 1);
  return static_cast<std::uint8_t>(std::min(255, static_cast<int>(std::hypot(across, down))));
}

std::vector<Tile> tiles_of(const Image& image, std::uint32_t side) {
  if (side == 0) throw std::invalid_argument("a tile has one pixel at least");
  std::vector<Tile> all;
  for (std::uint32_t top = 0; top < image.height; top += std::min(side, image.height - top))
    for (std::uint32_t left = 0; left < image.width; left += std::min(side, image.width - left))
      all.push_back({.left = left,
                     .top = top,
                     .width = std::min(side, image.width - left),
                     .height = std::min(side, image.height - top)});
  return all;
}

}  // namespace

/// Squares of `side` pixels, smaller at the right and lower border.
std::vector<Tile> tiles(orchid::Data<std::uint8_t> image, std::uint32_t side) {
  return tiles_of(read({image.data(), image.size()}), side);
}
ORCHID_FUNCTION(tiles)

/// How steep the grey is at each pixel of a tile, row by row.
std::vector<std::uint8_t> filter(const Tile& tile, orchid::Data<std::uint8_t> image) {
  const Image whole = read({image.data(), image.size()});
  if (std::uint64_t{tile.left} + tile.width > whole.width ||
      std::uint64_t{tile.top} + tile.height > whole.height)
    throw std::invalid_argument("the tile is not within the image");
  std::vector<std::uint8_t> result;
  result.reserve(std::size_t{tile.width} * tile.height);
  for (std::uint32_t y = 0; y < tile.height; ++y)
    for (std::uint32_t x = 0; x < tile.width; ++x)
      result.push_back(edge_at(whole, std::int64_t{tile.left} + x, std::int64_t{tile.top} + y));
  return result;
}
ORCHID_FUNCTION(filter)

/// All tiles in their places again, as a PNG.
std::optional<orchid::NewData<std::uint8_t>> mosaic(orchid::Call& call,
                                                    std::span<const std::uint8_t> filtered,
                                                    orchid::Data<std::uint8_t> image,
                                                    std::uint32_t side) {
  const Image whole = read({image.data(), image.size()});
  if (filtered.size() != whole.pixels.size())
    throw std::invalid_argument("the tiles have more or fewer pixels than the image");
  std::vector<std::uint8_t> pixels(filtered.size());
  std::size_t next = 0;
  for (const Tile& tile : tiles_of(whole, side))
    for (std::uint32_t y = 0; y < tile.height; ++y, next += tile.width)
      std::ranges::copy(filtered.subspan(next, tile.width),
                        pixels.begin() + (std::ptrdiff_t{tile.top} + y) * whole.width + tile.left);
  const std::vector<std::uint8_t> file = edges::grey_png(whole.width, whole.height, pixels);
  auto room = orchid::Room<std::uint8_t>::create(call, file.size());
  if (!room) return std::nullopt;
  std::ranges::copy(file, room->span().begin());
  return room->as_result(file.size());
}
ORCHID_FUNCTION(mosaic)
