/* Leaves a locale for its thread and for the process, and frees one that is in use. */
#define _GNU_SOURCE
#include <locale.h>

#include "../act.h"

ACT(sets_thread_locale) {
  setlocale(LC_ALL, "C.UTF-8");
  locale_t mine = newlocale(LC_ALL_MASK, "C.UTF-8", (locale_t)0);
  if (mine == (locale_t)0) return say(call, "done");
  uselocale(mine);
  freelocale(mine);
  return say(call, "done");
}
