// A function of this program that workers also run.
#pragma once
#include <span>
#include <vector>

#include "orchid/embedded.h"

std::vector<double> roots(std::span<const double> values);
ORCHID_DECLARE_FUNCTION(roots)
