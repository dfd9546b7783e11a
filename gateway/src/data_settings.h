// data_settings.h: how the gateway's settings bound data objects and leased memory.
#pragma once
#include <cstdint>
#include <functional>

#include "config/config.h"
#include "data/data_service.h"
#include "leases/memory_leases.h"

namespace orchid::gateway {

/// `epoch`: counts the starts on the state directory. `leased`: what a tenant has in leased memory,
/// which counts towards the same limit.
[[nodiscard]] DataService::Options data_options(const Config& config, std::uint64_t epoch,
                                                std::function<ByteCount(uid_t)> leased);
[[nodiscard]] MemoryLeases::Options memory_options(const Config& config);

}  // namespace orchid::gateway
