// protocol/limits.h: bounds that both ends of a protocol check. What a site may change is in the
// processes' configurations.
#pragma once
#include <chrono>
#include <cstddef>

#include "foundation/units.h"

namespace orchid::limits {

constexpr ByteCount module_size = 64_MiB;
constexpr ByteCount code_size = 256_MiB;  // of a module's code and data, compiled
constexpr ByteCount input_size = 64_MiB;  // of a call over HTTP
constexpr ByteCount output_size = 64_MiB;
constexpr ByteCount direct_size = 1_GiB;   // input or output of a call over a client's own lane
constexpr ByteCount chunk_size = 32_MiB;   // of a stream's input or output
constexpr ByteCount log_size = 1_MiB;      // of one invocation; what follows is cut, and marked
constexpr ByteCount message_size = 4_KiB;  // a function's error message
constexpr unsigned threads_per_worker = 256;
constexpr std::size_t entries_per_module = 256;
constexpr std::size_t function_name_length = 64;
constexpr std::size_t images_per_module = 32;
constexpr std::size_t kernels_per_module = 256;
constexpr std::size_t data_per_call = 64;  // objects that a call is given, or an attach names
/// Objects of one executor, rooms counted: its hello, which names them, fits into a frame.
constexpr std::size_t data_per_executor = 1024;
constexpr std::uint32_t data_copies = 64;  // of an object, that somebody may want
constexpr ByteCount control_frame = 1_MiB;
constexpr std::chrono::seconds default_deadline{60};
constexpr std::chrono::hours longest_deadline{24};
constexpr std::chrono::seconds lease_claim{10};
/// A batch job's grant lasts so long without a gateway, unless its owner says otherwise: direct
/// calls on it are to outlive an outage of five minutes.
constexpr std::chrono::seconds gateway_grace{600};
constexpr std::chrono::milliseconds cancel_grace{100};
/// Linking and static initialisers of a module, when no call says until when it waits for them.
constexpr std::chrono::seconds load_time{5};
/// The same while other functions wait for their worker.
constexpr std::chrono::milliseconds load_time_before_others{1000};

}  // namespace orchid::limits
