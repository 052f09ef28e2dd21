"""The shared LLVM function that copies numbers which a kernel cannot read where they are."""

CONVERTED = """
; Copy numbers from a list, a tuple or an array of other strides or precision; whether it was one.
; A batch, which has so many rows, must be an array; -1 rows are a vector.
define i1 @converted(ptr %a, i64 %rows, i64 %size, ptr %to) {
start:
%type = field type of %a
%is_array = icmp eq ptr %type, @armlet_array_type
%batch = icmp sge i64 %rows, 0
br i1 %is_array, label %array, label %sequence
sequence:
br i1 %batch, label %no, label %vector_of
vector_of:
%is_list = icmp eq ptr %type, @armlet_list
%is_tuple = icmp eq ptr %type, @armlet_tuple
%known = or i1 %is_list, %is_tuple
br i1 %known, label %counted, label %no
counted:
%size.of = select i1 %is_list, ptr @PyList_Size, ptr @PyTuple_Size
%get = select i1 %is_list, ptr @PyList_GetItem, ptr @PyTuple_GetItem
%found.size = call i64 %size.of(ptr %a)
%right = icmp eq i64 %found.size, %size
br i1 %right, label %item, label %no
item:
%k = phi i64 [ 0, %counted ], [ %k.next, %item.store ]
%k.next = add i64 %k, 1
%k.last = icmp eq i64 %k, %size
br i1 %k.last, label %yes, label %number
number:
%x = call ptr %get(ptr %a, i64 %k)
%x.type = field type of %x
%is_float = icmp eq ptr %x.type, @armlet_float
br i1 %is_float, label %float, label %maybe_int
float:
%x.float = call double @PyFloat_AsDouble(ptr %x)
br label %item.store
maybe_int:
%is_int = icmp eq ptr %x.type, @armlet_int
br i1 %is_int, label %int, label %no
int:
%x.int = call i64 @PyLong_AsLongLong(ptr %x)
%x.int.float = sitofp i64 %x.int to double
%error = call ptr @PyErr_Occurred()
%fine = icmp eq ptr %error, null
br i1 %fine, label %item.store, label %too_large
too_large:
call void @PyErr_Clear()
br label %no
item.store:
%x.value = phi double [ %x.float, %float ], [ %x.int.float, %int ]
%x.to = getelementptr @F, ptr %to, i64 %k
%x.stored = @narrow double %x.value to @F
store @F %x.stored, ptr %x.to
br label %item

array:
%rank = field rank of %a
%flags = field flags of %a
%descriptor = field descriptor of %a
%a.data = field data of %a
%a.shape = field dimensions of %a
%a.strides = field strides of %a
%more = zext i1 %batch to i32
%wanted.rank = add i32 %more, 1
%ranked = icmp eq i32 %rank, %wanted.rank
%aligned.bit = and i32 %flags, ALIGNED
%aligned = icmp ne i32 %aligned.bit, 0
%is_double = icmp eq ptr %descriptor, @armlet_float64
%is_single = icmp eq ptr %descriptor, @armlet_float32
%is_real = or i1 %is_double, %is_single
%both = and i1 %ranked, %aligned
%readable = and i1 %both, %is_real
br i1 %readable, label %lengths, label %no
lengths:
%size.at = getelementptr i64, ptr %a.shape, i32 %more
%a.size = load i64, ptr %size.at
%stride.at = getelementptr i64, ptr %a.strides, i32 %more
%a.stride = load i64, ptr %stride.at
%a.rows = load i64, ptr %a.shape
%a.step = load i64, ptr %a.strides
%long = icmp eq i64 %a.size, %size
%high = icmp eq i64 %a.rows, %rows
%one = xor i1 %batch, true
%high_or_one = or i1 %high, %one
%fitting = and i1 %long, %high_or_one
%count = select i1 %batch, i64 %rows, i64 1
%step = select i1 %batch, i64 %a.step, i64 0
br i1 %fitting, label %row, label %no
row:
%r = phi i64 [ 0, %lengths ], [ %r.next, %entry ]
%r.next = add i64 %r, 1
%r.last = icmp eq i64 %r, %count
%r.offset = mul i64 %r, %step
%r.data = getelementptr i8, ptr %a.data, i64 %r.offset
%r.first = mul i64 %r, %size
br i1 %r.last, label %yes, label %entry
entry:
%i = phi i64 [ 0, %row ], [ %i.next, %entry.store ]
%i.next = add i64 %i, 1
%i.last = icmp eq i64 %i, %size
br i1 %i.last, label %row, label %load
load:
%i.offset = mul i64 %i, %a.stride
%i.at = getelementptr i8, ptr %r.data, i64 %i.offset
br i1 %is_double, label %double, label %single
double:
%y.double = load double, ptr %i.at
br label %entry.store
single:
%y.single = load float, ptr %i.at
%y.wide = fpext float %y.single to double
br label %entry.store
entry.store:
%y = phi double [ %y.double, %double ], [ %y.wide, %single ]
%y.place = add i64 %r.first, %i
%y.to = getelementptr @F, ptr %to, i64 %y.place
%y.stored = @narrow double %y to @F
store @F %y.stored, ptr %y.to
br label %entry
yes:
ret i1 true
no:
ret i1 false
}
"""
