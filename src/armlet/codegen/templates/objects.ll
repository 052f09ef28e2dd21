;; declarations
; Objects and functions of CPython and NumPy, looked up by name when the code is loaded.
@armlet_array_type = external global i8
@armlet_float64 = external global i8
@armlet_float32 = external global i8
@armlet_str = external global i8
@armlet_list = external global i8
@armlet_tuple = external global i8
@armlet_float = external global i8
@armlet_int = external global i8
@armlet_none = external global i8
@armlet_true = external global i8
@armlet_dead = external global i8
declare ptr @armlet_new_array(ptr, ptr, i32, ptr, ptr, ptr, i32, ptr)
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare ptr @PyDict_GetItem(ptr, ptr)
declare void @PyErr_Clear()
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare ptr @PyErr_Occurred()
declare void @PyErr_SetNone(ptr)
declare double @PyFloat_AsDouble(ptr)
declare ptr @PyList_GetItem(ptr, i64)
declare i32 @PyList_SetItem(ptr, i64, ptr)
declare i64 @PyList_Size(ptr)
declare i64 @PyLong_AsLongLong(ptr)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare ptr @PyTuple_GetItem(ptr, i64)
declare ptr @PyTuple_New(i64)
declare i32 @PyTuple_SetItem(ptr, i64, ptr)
declare i64 @PyTuple_Size(ptr)
declare ptr @PyType_GenericAlloc(ptr, i64)

;; functions
; Functions that look at Python objects, which the entries of all kernels of a dtype share.
; They read NumPy arrays where they lie in memory and leave the rest to functions of CPython.
; Short forms are expanded by armlet.codegen.entry.objects: fields of arrays, the dtype, and words in
; capitals for flags and for the places of the tuple that an entry has as self.

; Whether an object is an array of the kernel's dtype, with these flags and of this shape.
define i1 @fits(ptr %a, i32 %flags, i32 %rank, ptr %shape) {
start:
%type = field type of %a
%is_array = icmp eq ptr %type, @armlet_array_type
br i1 %is_array, label %array, label %no
array:
%found.rank = field rank of %a
%found.descriptor = field descriptor of %a
%found.flags = field flags of %a
%ranked = icmp eq i32 %found.rank, %rank
%typed = icmp eq ptr %found.descriptor, @armlet_dtype
%has = and i32 %found.flags, %flags
%flagged = icmp eq i32 %has, %flags
%both = and i1 %ranked, %typed
%all = and i1 %both, %flagged
%sizes = field dimensions of %a
br i1 %all, label %axis, label %no
axis:
%k = phi i32 [ 0, %array ], [ %next, %compare ]
%next = add i32 %k, 1
%last = icmp eq i32 %k, %rank
br i1 %last, label %yes, label %compare
compare:
%found.at = getelementptr i64, ptr %sizes, i32 %k
%found = load i64, ptr %found.at
%wanted.at = getelementptr i64, ptr %shape, i32 %k
%wanted = load i64, ptr %wanted.at
%same = icmp eq i64 %found, %wanted
br i1 %same, label %axis, label %no
yes:
ret i1 true
no:
ret i1 false
}

; The number of rows of an array with one axis more than that of a state; -1 for anything else.
define i64 @rows_of(ptr %a, i32 %rank) {
start:
%type = field type of %a
%is_array = icmp eq ptr %type, @armlet_array_type
br i1 %is_array, label %array, label %no
array:
%found = field rank of %a
%one_more = add i32 %rank, 1
%batch = icmp eq i32 %found, %one_more
br i1 %batch, label %yes, label %no
yes:
%sizes = field dimensions of %a
%rows = load i64, ptr %sizes
ret i64 %rows
no:
ret i64 -1
}

; Whether two blocks of memory, with their sizes in bytes, do not overlap.
define i1 @apart(ptr %a, i64 %a.bytes, ptr %b, i64 %b.bytes) {
%a.end = getelementptr i8, ptr %a, i64 %a.bytes
%b.end = getelementptr i8, ptr %b, i64 %b.bytes
%before = icmp ule ptr %a.end, %b
%after = icmp ule ptr %b.end, %a
%apart = or i1 %before, %after
ret i1 %apart
}

; Array %k of out=: an item of a tuple or list of %count arrays, or the only array by itself.
define ptr @item(ptr %out, i64 %k, i64 %count) {
start:
%type = field type of %out
%is_list = icmp eq ptr %type, @armlet_list
%is_tuple = icmp eq ptr %type, @armlet_tuple
%several = or i1 %is_list, %is_tuple
br i1 %several, label %counted, label %bare
counted:
%size.of = select i1 %is_list, ptr @PyList_Size, ptr @PyTuple_Size
%get = select i1 %is_list, ptr @PyList_GetItem, ptr @PyTuple_GetItem
%size = call i64 %size.of(ptr %out)
%right = icmp eq i64 %size, %count
br i1 %right, label %take, label %no
take:
%taken = call ptr %get(ptr %out, i64 %k)
ret ptr %taken
bare:
%alone = icmp eq i64 %count, 1
br i1 %alone, label %itself, label %no
itself:
ret ptr %out
no:
ret ptr null
}

; Copy numbers from a list, a tuple or an array of other strides or precision; return whether %a is
; one of these. A batch must be an array with %rows rows; for a vector %rows is -1.
define i1 @convert(ptr %a, i64 %rows, i64 %size, ptr %to) {
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

; Whether an array that was returned before may be written to again: only the caller refers to it,
; and its flags and shape are unchanged.
define i1 @is_free(ptr %a, i32 %rank, ptr %shape) {
start:
%references = field references of %a
%only = icmp eq i32 %references, 1
br i1 %only, label %fit, label %no
fit:
%fits = call i1 @fits(ptr %a, i32 OWNED, i32 %rank, ptr %shape)
br i1 %fits, label %unseen, label %no
unseen:
%weakrefs = field weakrefs of %a
%is_unseen = icmp eq ptr %weakrefs, null
ret i1 %is_unseen
no:
ret i1 false
}

; A new array to write to; null, with an exception, if there is no memory.
define ptr @new_array(i32 %rank, ptr %shape) {
call void @Py_IncRef(ptr @armlet_dtype)
%new = call ptr @armlet_new_array(ptr @armlet_array_type, ptr @armlet_dtype, i32 %rank, ptr %shape, ptr null, ptr null, i32 0, ptr null)
ret ptr %new
}

; Hold a result for reuse, in place of the older of the two results that are held.
define void @keep(ptr %self, ptr %new) {
%spares = call ptr @PyTuple_GetItem(ptr %self, i64 SPARE_RESULTS)
%newest = call ptr @PyList_GetItem(ptr %spares, i64 0)
call void @Py_IncRef(ptr %newest)
call void @Py_IncRef(ptr %new)
%set.first = call i32 @PyList_SetItem(ptr %spares, i64 0, ptr %new)
%set.second = call i32 @PyList_SetItem(ptr %spares, i64 1, ptr %newest)
ret void
}

; A new reference to the array of the only result: a free array, else a new one.
define ptr @result(ptr %self, i32 %rank, ptr %shape, i1 %batch) {
start:
%spares = call ptr @PyTuple_GetItem(ptr %self, i64 SPARE_RESULTS)
br i1 %batch, label %make, label %look
look:
%k = phi i64 [ 0, %start ], [ %next, %candidate ]
%next = add i64 %k, 1
%last = icmp eq i64 %k, SPARES
br i1 %last, label %make, label %candidate
candidate:
%a = call ptr @PyList_GetItem(ptr %spares, i64 %k)
%is_free = call i1 @is_free(ptr %a, i32 %rank, ptr %shape)
br i1 %is_free, label %take, label %look
take:
call void @Py_IncRef(ptr %a)
ret ptr %a
make:
%new = call ptr @new_array(i32 %rank, ptr %shape)
%failed = icmp eq ptr %new, null
%unkept = or i1 %failed, %batch
br i1 %unkept, label %done, label %kept
kept:
call void @keep(ptr %self, ptr %new)
br label %done
done:
ret ptr %new
}

; A tuple of several results that was returned before and that nobody else refers to, or null. The
; reference is borrowed, and its arrays may not be free.
define ptr @spare(ptr %self, i64 %k) {
start:
%spares = call ptr @PyTuple_GetItem(ptr %self, i64 SPARE_RESULTS)
%class = call ptr @PyTuple_GetItem(ptr %self, i64 RESULTS)
%tuple = call ptr @PyList_GetItem(ptr %spares, i64 %k)
%type = field type of %tuple
%references = field references of %tuple
%is_tuple = icmp eq ptr %type, %class
%only = icmp eq i32 %references, 1
%unused = and i1 %is_tuple, %only
%found = select i1 %unused, ptr %tuple, ptr null
ret ptr %found
}

; A new tuple for several results, of the class that they are returned in.
define ptr @new_tuple(ptr %self, i64 %count) {
start:
%class = call ptr @PyTuple_GetItem(ptr %self, i64 RESULTS)
%plain = icmp eq ptr %class, @armlet_tuple
br i1 %plain, label %tuple, label %named
tuple:
%new = call ptr @PyTuple_New(i64 %count)
ret ptr %new
named:
%new.named = call ptr @PyType_GenericAlloc(ptr %class, i64 %count)
ret ptr %new.named
}

; Whether the only keyword is out=, which need not be put in order.
define i1 @only_out(ptr %self, ptr %keywords) {
start:
%none = icmp eq ptr %keywords, null
br i1 %none, label %no, label %some
some:
%count = call i64 @PyTuple_Size(ptr %keywords)
%one = icmp eq i64 %count, 1
br i1 %one, label %compare, label %no
compare:
%word = call ptr @PyTuple_GetItem(ptr %keywords, i64 0)
%out = call ptr @PyTuple_GetItem(ptr %self, i64 OUT_NAME)
%name = call ptr @PyTuple_GetItem(ptr %out, i64 0)
%same = icmp eq ptr %word, %name
ret i1 %same
no:
ret i1 false
}

; Put arguments in the order of the names: the inputs, the results to write to, the option. False if
; one is missing, passed twice or unknown. The results and the option are null if they are left out
; or None. Names of keywords are compared by identity: names in code are interned.
define i1 @arrange(ptr %self, ptr %args, i64 %count, ptr %keywords, i64 %inputs, ptr %to) {
start:
%names = call ptr @PyTuple_GetItem(ptr %self, i64 NAMES)
%size = call i64 @PyTuple_Size(ptr %names)
%out = getelementptr ptr, ptr %to, i64 %inputs
%option = getelementptr ptr, ptr %out, i64 1
%without = add i64 %inputs, 1
%has_option = icmp sgt i64 %size, %without
%more = zext i1 %has_option to i64
%most = add i64 %inputs, %more
%too_many = icmp sgt i64 %count, %most
br i1 %too_many, label %no, label %place
place:
%p = phi i64 [ 0, %start ], [ %p.next, %placed ]
%p.next = add i64 %p, 1
%p.to = getelementptr ptr, ptr %to, i64 %p
%p.end = icmp sgt i64 %p, %without
br i1 %p.end, label %positional, label %place.here
place.here:
%p.input = icmp slt i64 %p, %inputs
%p.given = icmp slt i64 %p, %count
%p.here = and i1 %p.input, %p.given
br i1 %p.here, label %place.argument, label %place.nothing
place.argument:
%p.at = getelementptr ptr, ptr %args, i64 %p
%p.value = load ptr, ptr %p.at
store ptr %p.value, ptr %p.to
br label %placed
place.nothing:
store ptr null, ptr %p.to
br label %placed
placed:
br label %place
positional:
%is_more = icmp sgt i64 %count, %inputs
br i1 %is_more, label %last, label %named
last:
%last.at = getelementptr ptr, ptr %args, i64 %inputs
%last.value = load ptr, ptr %last.at
store ptr %last.value, ptr %option
br label %named
named:
%no_keywords = icmp eq ptr %keywords, null
br i1 %no_keywords, label %all, label %counted
counted:
%keyword.count = call i64 @PyTuple_Size(ptr %keywords)
br label %keyword
keyword:
%k = phi i64 [ 0, %counted ], [ %k.next, %match ]
%k.next = add i64 %k, 1
%k.end = icmp eq i64 %k, %keyword.count
br i1 %k.end, label %all, label %search
search:
%word = call ptr @PyTuple_GetItem(ptr %keywords, i64 %k)
br label %look
look:
%j = phi i64 [ 0, %search ], [ %j.next, %look.on ]
%j.next = add i64 %j, 1
%j.end = icmp eq i64 %j, %size
br i1 %j.end, label %no, label %look.at
look.at:
%name = call ptr @PyTuple_GetItem(ptr %names, i64 %j)
%found = icmp eq ptr %name, %word
br i1 %found, label %free, label %look.on
look.on:
br label %look
free:
%j.to = getelementptr ptr, ptr %to, i64 %j
%there = load ptr, ptr %j.to
%is_free = icmp eq ptr %there, null
br i1 %is_free, label %match, label %no
match:
%k.place = add i64 %count, %k
%k.at = getelementptr ptr, ptr %args, i64 %k.place
%k.value = load ptr, ptr %k.at
store ptr %k.value, ptr %j.to
br label %keyword
all:
%i = phi i64 [ 0, %named ], [ 0, %keyword ], [ %i.next, %filled ]
%i.next = add i64 %i, 1
%i.end = icmp eq i64 %i, %inputs
br i1 %i.end, label %nothing, label %filled
filled:
%i.at = getelementptr ptr, ptr %to, i64 %i
%i.value = load ptr, ptr %i.at
%i.null = icmp eq ptr %i.value, null
br i1 %i.null, label %no, label %all
nothing:
%out.value = load ptr, ptr %out
%out.none = icmp eq ptr %out.value, @armlet_none
%out.kept = select i1 %out.none, ptr null, ptr %out.value
store ptr %out.kept, ptr %out
%option.value = load ptr, ptr %option
%option.none = icmp eq ptr %option.value, @armlet_none
%option.kept = select i1 %option.none, ptr null, ptr %option.value
store ptr %option.kept, ptr %option
ret i1 true
no:
ret i1 false
}

; The function for an option: under its name if it is a string, under True if it is an array.
; Null if there is no such function yet.
define ptr @choose(ptr %self, ptr %option) {
start:
%others = call ptr @PyTuple_GetItem(ptr %self, i64 OTHERS)
%type = field type of %option
%is_name = icmp eq ptr %type, @armlet_str
%is_array = icmp eq ptr %type, @armlet_array_type
%known = or i1 %is_name, %is_array
br i1 %known, label %find, label %no
find:
%key = select i1 %is_name, ptr %option, ptr @armlet_true
%found = call ptr @PyDict_GetItem(ptr %others, ptr %key)
ret ptr %found
no:
ret ptr null
}

; Call the function of an option with the arguments in order and, if the option is an array, with it
; after the inputs; return the result. %args holds the inputs, out and the option.
define ptr @pass_on(ptr %self, ptr %function, ptr %args, i64 %inputs) {
start:
%out.at = getelementptr ptr, ptr %args, i64 %inputs
%out = load ptr, ptr %out.at
%option.at = getelementptr ptr, ptr %out.at, i64 1
%option = load ptr, ptr %option.at
%type = field type of %option
%is_array = icmp eq ptr %type, @armlet_array_type
%more = zext i1 %is_array to i64
%count = add i64 %inputs, %more
br i1 %is_array, label %insert, label %call
insert:
store ptr %option, ptr %out.at
store ptr %out, ptr %option.at
br label %call
call:
%no_out = icmp eq ptr %out, null
%out.name = call ptr @PyTuple_GetItem(ptr %self, i64 OUT_NAME)
%keywords = select i1 %no_out, ptr null, ptr %out.name
call void @Py_IncRef(ptr %function)
%answer = call ptr @PyObject_Vectorcall(ptr %function, ptr %args, i64 %count, ptr %keywords)
call void @Py_DecRef(ptr %function)
ret ptr %answer
}
