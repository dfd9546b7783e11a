# What docs/guide/moving-code.md says of Julia: the mean of numbers, as LLVM's text on standard output. It needs nothing of Julia's
# runtime: `extern` with `llvmcall` is a plain call of a function that Orchid has.
using InteractiveUtils

function mean(call::Ptr{Cvoid}, values::Ptr{Float64}, size::UInt64)::Int32
    count = size >> 3
    total = 0.0
    for i in 1:count
        total += unsafe_load(values, i)
    end
    output = ccall("extern orchid_output", llvmcall, Ptr{Float64}, (Ptr{Cvoid}, UInt64), call, UInt64(8))
    unsafe_store!(output, count > 0 ? total / count : 0.0)
    return Int32(0)
end

text = sprint(io -> code_llvm(io, mean, (Ptr{Cvoid}, Ptr{Float64}, UInt64); optimize=true, raw=false, dump_module=true, debuginfo=:none))
print(replace(text, r"julia_mean_\d+" => "orchid_entry_mean"))
