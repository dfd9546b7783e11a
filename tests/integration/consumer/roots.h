// Functions of this program that workers also run; `halve` is a kernel.
#pragma once
#include <span>
#include <vector>

#include "orchid/embedded.h"

std::vector<double> roots(std::span<const double> values);
ORCHID_DECLARE_FUNCTION(roots)
ORCHID_DECLARE_ENTRY(halve)
