//! Functions of the table that always return an error: writing, and functions of netCDF-4.

use crate::code::{BAD_TYPE, NO_FILTER, NO_GROUP, NOT_NETCDF4, READ_ONLY};
use crate::table::NcDispatch;
use std::ffi::{c_char, c_float, c_int, c_longlong, c_uint, c_void};

macro_rules! refuse {
    ($code:ident: $($name:ident($($ty:ty),*);)+) => {$(
        pub(crate) extern "C" fn $name($(_: $ty),*) -> c_int {
            $code
        }
    )+};
}

// Functions that write: here archives are read-only.
refuse! { READ_ONLY:
    create(*const c_char, c_int, usize, c_int, *mut usize, *mut c_void, *const NcDispatch, c_int);
    redef(c_int);
    enddef(c_int, usize, usize, usize, usize);
    set_fill(c_int, c_int, *mut c_int);
    def_dim(c_int, *const c_char, usize, *mut c_int);
    rename_dim(c_int, c_int, *const c_char);
    rename_att(c_int, c_int, *const c_char, *const c_char);
    del_att(c_int, c_int, *const c_char);
    put_att(c_int, c_int, *const c_char, c_int, usize, *const c_void, c_int);
    def_var(c_int, *const c_char, c_int, c_int, *const c_int, *mut c_int);
    rename_var(c_int, c_int, *const c_char);
    put_vara(c_int, c_int, *const usize, *const usize, *const c_void, c_int);
    put_vars(c_int, c_int, *const usize, *const usize, *const isize, *const c_void, c_int);
    put_varm(c_int, c_int, *const usize, *const usize, *const isize, *const isize, *const c_void, c_int);
    def_var_fill(c_int, c_int, c_int, *const c_void);
}

// Functions of netCDF-4's data model.
refuse! { NOT_NETCDF4:
    var_par_access(c_int, c_int, c_int);
    def_grp(c_int, *const c_char, *mut c_int);
    rename_grp(c_int, *const c_char);
    def_compound(c_int, usize, *const c_char, *mut c_int);
    insert_compound(c_int, c_int, *const c_char, usize, c_int);
    insert_array_compound(c_int, c_int, *const c_char, usize, c_int, c_int, *const c_int);
    inq_compound_field(c_int, c_int, c_int, *mut c_char, *mut usize, *mut c_int, *mut c_int, *mut c_int);
    inq_compound_fieldindex(c_int, c_int, *const c_char, *mut c_int);
    def_vlen(c_int, *const c_char, c_int, *mut c_int);
    put_vlen_element(c_int, c_int, *mut c_void, usize, *const c_void);
    get_vlen_element(c_int, c_int, *const c_void, *mut usize, *mut c_void);
    def_enum(c_int, c_int, *const c_char, *mut c_int);
    insert_enum(c_int, c_int, *const c_char, *const c_void);
    inq_enum_member(c_int, c_int, c_int, *mut c_char, *mut c_void);
    inq_enum_ident(c_int, c_int, c_longlong, *mut c_char);
    def_opaque(c_int, usize, *const c_char, *mut c_int);
    def_var_deflate(c_int, c_int, c_int, c_int, c_int);
    def_var_fletcher32(c_int, c_int, c_int);
    def_var_chunking(c_int, c_int, c_int, *const usize);
    def_var_endian(c_int, c_int, c_int);
    def_var_filter(c_int, c_int, c_uint, usize, *const c_uint);
    set_var_chunk_cache(c_int, c_int, usize, usize, c_float);
    get_var_chunk_cache(c_int, c_int, *mut usize, *mut usize, *mut c_float);
    def_var_quantize(c_int, c_int, c_int, c_int);
}

// The root group has no parent.
refuse! { NO_GROUP:
    inq_grp_parent(c_int, *mut c_int);
}

// Classic files have no user-defined types.
refuse! { BAD_TYPE:
    inq_user_type(c_int, c_int, *mut c_char, *mut usize, *mut c_int, *mut usize, *mut c_int);
}

// The classic model has no filters.
refuse! { NO_FILTER:
    inq_var_filter_info(c_int, c_int, c_uint, *mut usize, *mut c_uint);
    inq_filter_avail(c_int, c_uint);
}
