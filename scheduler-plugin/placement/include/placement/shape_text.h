// placement/shape_text.h: what a worker has, as people write it. Command lines, HTTP queries and
// what the gateway stores share this grammar:
//
//   shapes  SHAPE ("|" SHAPE)*          the best first: "1 gpu | 4 cores"
//   shape   PART ("," PART)*            each part at most once: "4 cores, 1 GPU a100, 2 GiB"
//   part    N "core" or "cores"         1 when it is left out
//           N "gpu" or "gpus" [MODEL]   any model when it is left out
//           SIZE ["memory"]             what the site gives a worker when it is left out
//
// Numbers and sizes are those of foundation/amounts.h. `core`, `gpu` and `memory` are read in any
// case, a model as it is.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/result.h"
#include "placement/worker_request.h"

namespace orchid::placement {

inline constexpr std::size_t most_alternatives = 8;
inline constexpr std::uint32_t most_cores_of_worker = 65'536;
inline constexpr std::uint32_t most_gpus_of_worker = 1'024;
inline constexpr ByteCount most_memory_of_worker{std::uint64_t{1} << 50};
inline constexpr std::size_t longest_gpu_model = 256;

/// Errors: `bad_request`, with what is wrong and what would be right.
[[nodiscard]] Result<std::vector<WorkerShape>> parse_shapes(std::string_view text);

/// "1 core, 1 GPU a100 | 4 cores, 2 GiB": `parse_shapes` makes the same shapes of it.
[[nodiscard]] std::string to_string(const std::vector<WorkerShape>& shapes);

}  // namespace orchid::placement
