// compiler/processors.h: what tests of compiled code look for on the processor that they run on.
#pragma once
#include <string>

namespace orchid::test {

struct Processor {
  std::string architecture;  // as manifests and files of test bitcode name it
  std::string target;        // as `orchid build --target` does
  std::string triple;
  std::string generic;          // what clang names its processor when none is given
  std::string vector_feature;   // with it a processor has these registers:
  std::string vector_register;  // a part of their names
  std::string fused_feature;    // with it a processor multiplies and adds in one instruction:
  std::string fused_vector;     // of vectors
  std::string fused;            // of single values
  std::string multiplied;       // a multiplication of single values alone
  std::string page_probe;       // takes one page of stack
  std::string near_relocation;  // to what lies within some GiB, as a column of objdump's
  std::string rare_feature;     // what modules/foreign_instruction.c needs
};

inline const Processor x86_64{.architecture = "x86_64",
                              .target = "x86-64",
                              .triple = "x86_64-linux-gnu",
                              .generic = "x86-64",
                              .vector_feature = "avx2",
                              .vector_register = "%ymm",
                              .fused_feature = "fma",
                              .fused_vector = "vfmadd",
                              .fused = "vfmadd",
                              .multiplied = "vmulss",
                              .page_probe = "subq\t$0x1000, %rsp",
                              .near_relocation = "R_X86_64_PC32            ",
                              .rare_feature = "tbm"};
inline const Processor aarch64{.architecture = "aarch64",
                               .target = "aarch64",
                               .triple = "aarch64-linux-gnu",
                               .generic = "generic",
                               .vector_feature = "neon",
                               .vector_register = ".4s",
                               .fused_feature = "neon",
                               .fused_vector = "fmla",
                               .fused = "fmadd",
                               .multiplied = "fmul\ts",
                               .page_probe = "sub\tsp, sp, #0x1, lsl #12",
                               .near_relocation = "R_AARCH64_ADR_PREL_PG_HI21 ",
                               .rare_feature = "sve"};
#if defined(__x86_64__)
inline const Processor& own = x86_64;
inline const Processor& other = aarch64;
#elif defined(__aarch64__)
inline const Processor& own = aarch64;
inline const Processor& other = x86_64;
#endif

}  // namespace orchid::test
