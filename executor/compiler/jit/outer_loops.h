// jit/outer_loops.h: the loop over a kernel's items becomes vector code also where the body of an
// item has a loop of its own.
#pragma once
#include <llvm/Passes/PassBuilder.h>

namespace orchid::executor {

/// LLVM's vectoriser of outer loops (VPlan's native path) does what a loop asks for, and checks
/// little: it believes that a wish for vector code is a promise that iterations are independent,
/// lets all lanes share what an iteration has on the stack, makes wrong code of atomics, and ends
/// the compiler at a call. So this lets it see only the loops of which all that is known: those
/// that promise independence (`assume_safety`, as the loops of orchid/kernel.h), and hold nothing
/// but what it translates. Other outer loops stay scalar, as without it.
///
/// The vectoriser of inner loops, too, believes the promise also of what an item has on the stack,
/// which inlining has made one for all items. Where an item writes there, it has to look for
/// itself.
void vectorise_outer_loops(llvm::PassBuilder& builder);

}  // namespace orchid::executor
