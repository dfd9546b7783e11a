// system/system_lane.h: where the workers of the Orchid under test are: here, or on another host.
#pragma once
#include <filesystem>

namespace orchid::tests {

/// --lane=ucx: the executor is on another host (a network namespace), so that HTTP calls go through
/// orchid-dispatch over UCX, and so do the calls of leases.
[[nodiscard]] bool are_workers_elsewhere();

/// The folder whose `orchid up` starts such an Orchid.
[[nodiscard]] const std::filesystem::path& programs_under_test();

}  // namespace orchid::tests
