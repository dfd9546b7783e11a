/* sdk/c_program.h: a program that uses the C API, as a user would write it. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the line that failed, or 0. The gateway grants leases of a worker that echoes, and of a
 * function "f". */
int run_c_program(const char* gateway);
/* The same of a lease of two workers with every constraint that there is. */
int constrain_c_lease(const char* gateway);
/* The same of a lease "l-1-1" that is released while its worker answers nothing more, which it does
 * once `stop_answering(context)` was called. */
int release_c_lease(const char* gateway, void (*stop_answering)(void*), void* context);

#ifdef __cplusplus
}
#endif
