#include "code/code_key.h"

#include <doctest/doctest.h>

#include <set>
#include <string>

namespace orchid::executor {

TEST_CASE("the key is another one for whatever the code depends on") {
  const CompilerReady usual{.triple = "x86_64-pc-linux-gnu",
                            .cpu = "znver4",
                            .features = "+avx512f",
                            .llvm = "19.1.7",
                            .pipeline = "o3"};
  const auto other = [&usual](std::string CompilerReady::* what) {
    CompilerReady changed = usual;
    changed.*what += "x";
    return make_code_key({7, "sha256:1"}, changed, CompileTier::o3).name();
  };
  const std::string name = make_code_key({7, "sha256:1"}, usual, CompileTier::o3).name();
  CHECK(name == make_code_key({7, "sha256:1"}, usual, CompileTier::o3).name());
  const std::set<std::string> names{
      name,
      make_code_key({7, "sha256:2"}, usual, CompileTier::o3).name(),
      make_code_key({7, "sha256:1"}, usual, CompileTier::quick).name(),
      make_code_key({8, "sha256:1"}, usual, CompileTier::o3).name(),
      make_code_key({7, "sha256:1", "sm_80"}, usual, CompileTier::o3).name(),
      make_code_key({7, "sha256:1", "sm_90"}, usual, CompileTier::o3).name(),
      other(&CompilerReady::triple),
      other(&CompilerReady::cpu),
      other(&CompilerReady::features),
      other(&CompilerReady::llvm),
      other(&CompilerReady::pipeline)};
  CHECK(names.size() == 11);
}

}  // namespace orchid::executor
