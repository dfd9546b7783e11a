// Leaves a global locale of its own: numbers would have decimal commas and groups from then on.
#include <locale>

#include "../act.h"

namespace {

struct Commas : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
  std::string do_truename() const override { return "wahr"; }
};

}  // namespace

ACT(sets_global_locale) {
  std::locale::global(std::locale(std::locale::classic(), new Commas));
  return say(call, "done");
}
