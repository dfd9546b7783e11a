// The same functions in another module.
#include "functions.cpp"

ORCHID_ENTRY(second) { return ORCHID_OK; }
