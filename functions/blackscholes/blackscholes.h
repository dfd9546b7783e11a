// blackscholes/blackscholes.h: the function for programs that have it built in
// (orchid_add_functions).
#pragma once
#include "orchid/function.h"

ORCHID_DECLARE_ENTRY(blackscholes)
