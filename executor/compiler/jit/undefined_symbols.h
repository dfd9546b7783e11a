// jit/undefined_symbols.h: what code needs of the libraries and the worker where it will run.
#pragma once
#include <llvm/IR/Module.h>

#include <string>
#include <string_view>
#include <vector>

namespace orchid::executor {

struct UndefinedSymbols {
  std::vector<std::string> names;     // sorted
  std::vector<std::string> problems;  // of those that nobody will provide
};

/// After `drop_unused`. `architecture`: of the hosts that will run it. Of another one than this
/// host's the list of names decides, not the libraries of this process.
[[nodiscard]] UndefinedSymbols read_undefined_symbols(llvm::Module& code,
                                                      std::string_view architecture);

}  // namespace orchid::executor
