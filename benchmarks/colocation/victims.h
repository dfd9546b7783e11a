// colocation/victims.h: what a batch job does beside functions, in small: each runs alone on its
// core for about a seventh of a second.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "foundation/result.h"

namespace orchid::bench::colocation {

class Victim {
 public:
  Victim() = default;
  virtual ~Victim() = default;
  Victim(const Victim&) = delete;
  Victim& operator=(const Victim&) = delete;
  [[nodiscard]] virtual std::string name() const = 0;
  /// Its work once, always the same; milliseconds, or what `unit` says.
  [[nodiscard]] virtual Result<double> run() = 0;
  [[nodiscard]] virtual std::string unit() const { return "ms"; }
};

/// STREAM's triad over 3 x 64 MiB.
[[nodiscard]] std::unique_ptr<Victim> make_triad();
/// Jacobi's five points over 2 x 64 MiB.
[[nodiscard]] std::unique_ptr<Victim> make_stencil();
/// A product of two matrices of 512 x 512, in tiles that stay in the core's own cache, as libraries
/// do it.
[[nodiscard]] std::unique_ptr<Victim> make_gemm();
/// Two ranks on `core` send each other 8 bytes, with `program` under `mpirun`; microseconds there
/// and back.
[[nodiscard]] std::unique_ptr<Victim> make_ping_pong(std::string mpirun, std::string program,
                                                     int core);

}  // namespace orchid::bench::colocation
