# libnc3z for Julia, by ccall. NOT TESTED: no Julia was at hand when it was written.
module Nc3z

const LIB = get(ENV, "NC3Z_LIBRARY", "libnc3z")
const DOUBLE = Int32(6)

function check(code::Int32)
    (code == 0 || code == -10) && return
    text = Vector{UInt8}(undef, 500)
    n = ccall((:nc3z_last_error, LIB), Csize_t, (Ptr{UInt8}, Csize_t), text, 500)
    error(String(text[1:min(n, 499)]))
end

"""
    read(path, name)

A variable as numbers, with Julia's dimensions: the fastest first, the reverse of the file's.
"""
function read(path::AbstractString, name::AbstractString)
    file = Ref{Ptr{Cvoid}}(C_NULL)
    check(ccall((:nc3z_open, LIB), Int32, (Cstring, Ptr{Cvoid}, Ref{Ptr{Cvoid}}), path, C_NULL, file))
    try
        id, rank = Ref{UInt32}(0), Ref{UInt32}(0)
        check(ccall((:nc3z_variable_id, LIB), Int32, (Ptr{Cvoid}, Cstring, Ref{UInt32}), file[], name, id))
        check(ccall((:nc3z_variable, LIB), Int32,
            (Ptr{Cvoid}, UInt32, Ptr{UInt8}, Csize_t, Ptr{Csize_t}, Ptr{Int32}, Ref{UInt32}, Ptr{UInt32}),
            file[], id[], C_NULL, 0, C_NULL, C_NULL, rank, C_NULL))
        shape = Vector{UInt64}(undef, rank[])
        check(ccall((:nc3z_variable_shape, LIB), Int32, (Ptr{Cvoid}, UInt32, UInt32, Ptr{UInt32}, Ptr{UInt64}),
            file[], id[], rank[], C_NULL, shape))
        out = Array{Float64}(undef, Int.(reverse(shape))...)
        check(ccall((:nc3z_read, LIB), Int32,
            (Ptr{Cvoid}, UInt32, UInt32, Ptr{UInt64}, Ptr{UInt64}, Ptr{Int64}, Int32, Ptr{Float64}, Csize_t),
            file[], id[], rank[], C_NULL, C_NULL, C_NULL, DOUBLE, out, sizeof(out)))
        return out
    finally
        ccall((:nc3z_close, LIB), Int32, (Ptr{Cvoid},), file[])
    end
end

end
