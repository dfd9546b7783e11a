#include "data_settings.h"

#include <unistd.h>

#include <utility>

namespace orchid::gateway {
namespace {

/// An executor dials again after 2 s at most, and then says what data it has.
constexpr std::chrono::milliseconds data_comes_back_within{5'000};
constexpr std::chrono::milliseconds no_time{0};

}  // namespace

DataService::Options data_options(const Config& config, std::uint64_t epoch,
                                  std::function<ByteCount(uid_t)> leased) {
  return {.limits = {.versions = config.data_versions, .per_tenant = config.data_per_user},
          .unnamed_for = config.data_unnamed_for,
          .owner = ::geteuid(),
          // On a new state directory there is nobody who could come back.
          .executors_back_within = epoch > 1 ? data_comes_back_within : no_time,
          .epoch = epoch,
          .leased = std::move(leased)};
}

MemoryLeases::Options memory_options(const Config& config) {
  return {.per_tenant = config.data_per_user, .owner = ::geteuid()};
}

}  // namespace orchid::gateway
