#include "lane/host_copy.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace orchid::executor {
namespace {

constexpr std::size_t staging_bytes = 8ULL << 20;

}  // namespace

DriverResult<CopyResources> CopyResources::make(Driver& driver) {
  std::vector<std::byte> staging(staging_bytes);
  // It works without, at the driver's own pace.
  static_cast<void>(driver.pin(staging));
  const auto mark = driver.make_mark();
  if (!mark) return std::unexpected(mark.error());
  return CopyResources(std::move(staging), *mark);
}

DriverResult<bool> HostCopy::advance() {
  if (piece_ != 0) {
    const auto ended = piece_ended();
    if (!ended || !*ended) return ended;
  }
  if (done_ == job_.host.size()) return true;
  if (auto begun = begin_piece(); !begun) return std::unexpected(std::move(begun.error()));
  return false;
}

DriverResult<bool> HostCopy::piece_ended() {
  const auto passed = driver_.is_passed(resources_.mark());
  if (!passed || !*passed) return passed;
  if (staged_ && job_.direction == Direction::to_host)
    std::memcpy(job_.host.data() + done_, resources_.staging().data(), piece_);
  done_ += std::exchange(piece_, 0);
  return true;
}

DriverResult<void> HostCopy::begin_piece() {
  const auto rest = job_.host.subspan(done_);
  std::uint64_t reach = 0;
  if (job_.ranges != nullptr) {
    const auto direct = job_.ranges->reach(job_.offset + done_, rest.size());
    if (!direct) return std::unexpected(direct.error());
    reach = *direct;
  }
  staged_ = reach == 0;
  const std::size_t length = staged_ ? std::min(rest.size(), resources_.staging().size())
                                     : static_cast<std::size_t>(reach);
  std::byte* const host = staged_ ? resources_.staging().data() : rest.data();
  const std::uint64_t address = job_.address + done_;
  if (staged_ && job_.direction == Direction::to_device) std::memcpy(host, rest.data(), length);
  auto given = job_.direction == Direction::to_device
                   ? driver_.copy_to_device(address, {host, length})
                   : driver_.copy_to_host({host, length}, address);
  if (given) given = driver_.place(resources_.mark());
  if (given) piece_ = length;
  return given;
}

}  // namespace orchid::executor
