#include "problems.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include "idw/kernel.h"
#include "kernels.h"
#include "md5search/kernel.h"

namespace orchid::gpu_check {
namespace {

constexpr std::size_t station_count = 8192;
constexpr std::uint32_t power = 2;
static_assert(station_count % interpolation::stations_at_once == 0);
static_assert(IdwProblem::group_size == interpolation::group_size);
static_assert(Md5Problem::group_size == search::group_size);
static_assert(FindLaunch::group_size == check_kernels::find_group);

constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz";
constexpr std::uint32_t item_letters = 4;
/// One that each item tries in all ways, those that tell the items apart, and two that tell the
/// launches apart.
constexpr std::uint32_t string_length = 1 + item_letters + 2;

template <typename Args>
Arguments bytes_of(const Args& args) {
  Arguments bytes(sizeof(args));
  std::memcpy(bytes.data(), &args, sizeof(args));
  return bytes;
}

template <typename Pointer>
Pointer pointer_at(std::uint64_t address) {
  return std::bit_cast<Pointer>(static_cast<std::uintptr_t>(address));
}

std::array<std::uint32_t, md5::message_words> words_of(const std::array<char, 64>& bytes) {
  std::array<std::uint32_t, md5::message_words> words{};
  std::memcpy(words.data(), bytes.data(), sizeof(words));
  words[14] = 8 * string_length;
  return words;
}

/// What all strings of a launch have in common.
std::array<char, 64> message_of(std::uint32_t launch) {
  std::array<char, 64> bytes{};
  bytes[1 + item_letters] = letters[launch % letters.size()];
  bytes[2 + item_letters] = letters[launch / letters.size()];
  bytes[string_length] = static_cast<char>(0x80);
  return bytes;
}

}  // namespace

struct IdwProblem::Stations {
  std::vector<interpolation::Station> all;
};

IdwProblem::IdwProblem(std::uint32_t rows) : rows_(rows), stations_(std::make_unique<Stations>()) {
  std::mt19937 random(1);
  const auto number = [&] { return static_cast<float>(random() >> 8) * 0x1p-24F; };
  stations_->all.resize(station_count);
  for (interpolation::Station& station : stations_->all)
    station = {
        .x = columns * number(), .y = static_cast<float>(rows) * number(), .value = number()};
}

IdwProblem::~IdwProblem() = default;

std::span<const std::byte> IdwProblem::stations() const {
  return std::as_bytes(std::span(stations_->all));
}

Arguments IdwProblem::arguments(std::uint64_t stations, std::uint64_t values) const {
  const float square =
      float{columns} * columns + static_cast<float>(rows_) * static_cast<float>(rows_);
  interpolation::Args args{};
  args.grid = {.left = 0, .bottom = 0, .step = 1, .columns = columns, .rows = rows_};
  args.power = power;
  args.stations = pointer_at<const interpolation::Station*>(stations);
  args.station_count = station_count;
  args.least = square * 1e-14F;
  args.scale = square * 1e-9F;
  args.values = pointer_at<float*>(values);
  return bytes_of(args);
}

Md5Problem::Md5Problem(std::uint32_t launches) : launches_(launches) {
  for (const char letter : letters) alphabet_.push_back(static_cast<unsigned char>(letter));
  std::array<char, 64> last = message_of(launches - 1);
  std::fill_n(last.begin(), 1 + item_letters, letters.back());
  const auto words = words_of(last);
  const md5::State digest = md5::digest([&](unsigned place) { return words[place]; });
  digest_ = {digest.a, digest.b, digest.c, digest.d};
}

std::uint64_t Md5Problem::items() {
  std::uint64_t items = 1;
  for (std::uint32_t i = 0; i < item_letters; ++i) items *= letters.size();
  return items;
}

Arguments Md5Problem::arguments(std::uint32_t launch, std::uint64_t alphabet,
                                std::uint64_t found) const {
  search::Args args{};
  std::ranges::copy(words_of(message_of(launch)), static_cast<std::uint32_t*>(args.message));
  args.digest = {.a = digest_[0], .b = digest_[1], .c = digest_[2], .d = digest_[3]};
  args.alphabet = pointer_at<const std::uint32_t*>(alphabet);
  args.letter_count = static_cast<std::uint32_t>(letters.size());
  args.item_letters = item_letters;
  args.reciprocal = ((std::uint64_t{1} << 32) + letters.size() - 1) / letters.size();
  args.found = pointer_at<std::uint8_t*>(found);
  return bytes_of(args);
}

bool Md5Problem::is_right(std::uint32_t launch, std::span<const std::byte> found) const {
  const auto none = found.first(found.size() - 1);
  const bool nothing_else =
      std::ranges::all_of(none, [](std::byte one) { return one == std::byte{}; });
  const auto wanted =
      launch + 1 == launches_ ? static_cast<std::byte>(letters.size()) : std::byte{};
  return nothing_else && found.back() == wanted;
}

Arguments find_arguments(std::uint64_t words, std::uint64_t bytes, std::uint64_t found) {
  check_kernels::FindArgs args{};
  args.words = pointer_at<const std::uint64_t*>(words);
  args.words_of_group = bytes / FindLaunch::granule * FindLaunch::group_size;
  args.found = pointer_at<std::uint32_t*>(found);
  return bytes_of(args);
}

std::uint64_t sum_of_found(std::span<const std::byte> found) {
  std::vector<std::uint32_t> counts(found.size() / sizeof(std::uint32_t));
  std::memcpy(counts.data(), found.data(), counts.size() * sizeof(std::uint32_t));
  std::uint64_t sum = 0;
  for (const std::uint32_t count : counts) sum += count;
  return sum;
}

Arguments one_address(std::uint64_t address) { return bytes_of(address); }

std::uint64_t checksum(std::span<const std::byte> bytes) {
  std::uint64_t sum = 0xcbf29ce484222325;
  for (const std::byte byte : bytes) sum = (sum ^ static_cast<std::uint8_t>(byte)) * 0x100000001b3;
  return sum;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace orchid::gpu_check
