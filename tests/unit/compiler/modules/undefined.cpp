// Symbols that nobody provides.
#include <orchid/function.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>

int lookup(const std::string& name, int key);
extern "C" double weights[];

ORCHID_ENTRY(undefined) {
  if (fork() == 0) return system("true");
  return lookup("key", static_cast<int>(weights[input_size])) +
         atoi(static_cast<const char*>(input));
}
