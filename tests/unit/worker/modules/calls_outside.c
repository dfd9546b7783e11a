/* Compiled with -fno-plt: what is not in here is reached through a table of addresses (GOT), by
 * instructions that a linker may replace by shorter ones (R_X86_64_GOTPCRELX). */
int callee(int value);
__attribute__((weak)) int absent(int value);

int entry_calls(int value) { return callee(value) + 1; }
int entry_jumps(int value) { return callee(value); }
int (*entry_takes(int value))(int) { return value == 0 ? 0 : callee; }
int entry_asks(int value) { return absent ? absent(value) + 1 : -value; }
