// integral/slice_integrals.h: the function that a rank computes itself, or lets workers compute.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "orchid/embedded.h"

/// For each slice [left, left + width): the integral of 4 / (1 + x²) over it, by the midpoint rule
/// with so many points. Additions, multiplications and divisions only, which IEEE 754 rounds alike
/// everywhere: the result has the same bits on every host and from every compiler.
std::vector<double> slice_integrals(std::span<const double> lefts, double width,
                                    std::uint64_t points);
ORCHID_DECLARE_FUNCTION(slice_integrals)
