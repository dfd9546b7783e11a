// Kernels that orchid/kernel.h would not have made.
#include <orchid/function.h>

ORCHID_EXPORT const uint32_t orchid_kernel_layout_no_function[4] = {16, 8, 0, 0};
ORCHID_EXPORT void orchid_kernel_no_layout(const void* args, uint64_t begin, uint64_t end) {}
ORCHID_EXPORT const uint32_t orchid_kernel_layout_wrong_type[4] = {16, 8, 0, 0};
ORCHID_EXPORT int orchid_kernel_wrong_type(const void* args) { return args != 0; }
ORCHID_EXPORT const uint32_t orchid_kernel_layout_short_layout[3] = {16, 8, 0};
ORCHID_EXPORT void orchid_kernel_short_layout(const void* args, uint64_t begin, uint64_t end) {}
ORCHID_EXPORT const uint32_t orchid_kernel_layout_odd[4] = {16, 7, 0, 0};
ORCHID_EXPORT void orchid_kernel_odd(const void* args, uint64_t begin, uint64_t end) {}

ORCHID_ENTRY(first) { return ORCHID_OK; }
