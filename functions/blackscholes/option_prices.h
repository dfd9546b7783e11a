// blackscholes/option_prices.h: the function for programs that have it built in and have a native
// twin of it (orchid_add_functions), as functions/blackscholes/offload does.
#pragma once
#include <span>
#include <vector>

#include "kernel.h"
#include "orchid/embedded.h"
#include "orchid/values.h"

namespace blackscholes {
ORCHID_STRUCT(Option, spot, strike, rate, volatility, time, type, reserved)
}  // namespace blackscholes

/// One price for each option.
std::vector<double> option_prices(std::span<const blackscholes::Option> options);
ORCHID_DECLARE_FUNCTION(option_prices)
