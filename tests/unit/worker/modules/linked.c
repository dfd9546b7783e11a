/* Two entries, a static initialiser, state, and two symbols that the host must provide. */
extern int host_add(int a, int b);
extern int host_twice(int a);

static int calls;
static volatile int initialised; /* not to be known at compile time */

__attribute__((constructor)) static void initialise(void) { initialised = 40; }

int orchid_entry_second(int a) { return host_twice(a) + initialised; }
int orchid_entry_first(int a, int b) { return host_add(a, b) + ++calls; }
