// Hostile functions: each case performs one act beside a neighbour. What is expected of Orchid is
// in the cases; what is done is in acts/. The suite "slow" is left out of a test run. With
// --figures a table tells how long the neighbour's calls took.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>
#include <string_view>

#include "stage.h"

int main(int argc, char** argv) {
  using orchid::tests::Stage;
  bool figures = false;
  for (int i = 1; i < argc; ++i) figures = figures || std::string_view(argv[i]) == "--figures";
  doctest::Context context(argc, argv);
  const int status = context.run();
  if (figures && Stage::is_open()) std::fputs(Stage::get().figures().c_str(), stdout);
  Stage::close();
  return status;
}
