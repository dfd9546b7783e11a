/* sdk/c_program.h: a program that uses the C API, as a user would write it. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the line that failed, or 0. The gateway grants leases of a worker that echoes, and of a
 * function "f". */
int run_c_program(const char* gateway);

#ifdef __cplusplus
}
#endif
