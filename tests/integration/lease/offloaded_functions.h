// Functions that offload_test.cpp runs on workers and on its own threads.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "orchid/embedded.h"

double slow_root(double value);

/// Some 100 ns for each.
std::vector<double> slow_roots(std::span<const double> values);
ORCHID_DECLARE_FUNCTION(slow_roots)

/// The values, but in a process other than `home` an exception, or a crash.
std::vector<double> fails_in_a_worker(std::span<const double> values, bool crashes,
                                      std::int32_t home);
ORCHID_DECLARE_FUNCTION(fails_in_a_worker)
