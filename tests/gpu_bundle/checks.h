// checks.h: what a real card is to show. Each adds its rows; what goes wrong is a row, too.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "bundle.h"
#include "device_under_check.h"
#include "foundation/result.h"
#include "results.h"

namespace orchid::gpu_check {

/// Modules, as the checks number them.
enum : std::uint32_t { checks_module = 0, idw_module = 1, md5_module = 2 };

/// Starts a device process that others go on with, with a lane and the checks' kernels; nothing: it
/// does not start, and the row says why.
[[nodiscard]] std::unique_ptr<DeviceUnderCheck> check_start(const Bundle& bundle, Results& results);
/// The same without a row. `slab_bytes`: of each slab of the call's lane.
[[nodiscard]] Result<std::unique_ptr<DeviceUnderCheck>> start_ready(const Bundle& bundle,
                                                                    std::uint64_t slab_bytes);
/// A lane of a process that has none, and the checks' kernels.
[[nodiscard]] Result<void> begin_checks(const Bundle& bundle, DeviceUnderCheck& device,
                                        std::uint64_t slab_bytes);
constexpr std::uint64_t small_slab = 1ULL << 20;

/// The card's device files that are there now.
[[nodiscard]] std::vector<std::filesystem::path> device_files_there(const Bundle& bundle);
/// Those that the driver has made since, when it was called outside of the sandbox: a device
/// process cannot make them. `before`: sorted, from before the first call.
void check_device_files(const Bundle& bundle, const std::vector<std::filesystem::path>& before,
                        Results& results);
/// Of a device process that has a context.
void check_sandbox(const Bundle& bundle, const DeviceUnderCheck& device, Results& results);
/// The files that the driver opens where nothing hinders it, against those that it may.
void check_opened_files(const Bundle& bundle, Results& results);

/// Several rounds with gpu-bare and a device process in turns, each with the card to itself:
/// copies, launches, IDW, MD5, and the times of contexts and modules.
void check_against_bare_driver(const Bundle& bundle, Results& results);

/// How soon a launch ends when its call is stopped.
void check_stop(DeviceUnderCheck& device, Results& results);
/// What a tenant has left in the card's memory, for the next lane, and for a program that does not
/// clear it. Ends the device process in the middle of a kernel that never ends, and says how long
/// that took.
void check_next_tenant(const Bundle& bundle, std::unique_ptr<DeviceUnderCheck> device,
                       Results& results);

}  // namespace orchid::gpu_check
