// Data of the host, which lies far from linked code.
#include <orchid/function.h>
#include <stdio.h>

#include <string>

static std::string kept = "kept until the process ends";

ORCHID_ENTRY(host_data) { return fputs(kept.c_str(), stdout) < 0 ? ORCHID_ERROR : ORCHID_OK; }
