"""The first half of an entry: put the arguments in order, or find another kernel for an option.

The functions are shared, as those of `objects.py`; `%self` is the tuple that is described there.
"""

from collections.abc import Iterable

from armlet.codegen.entry.objects import SHARED, declared, printed

ARRANGED = """
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
; one is missing, given twice or unknown. What is left out or None is null, but for inputs. Names of
; keywords are compared as objects, since those that stand in code are the same objects.
define i1 @arranged(
    ptr %self, ptr %args, i64 %count, ptr %keywords, i64 %inputs, ptr %to
) {
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
"""

CHOSEN = """
; The function for an option: for one given by name that of its name, for an array that under True.
; Null if there is none yet.
define ptr @chosen(ptr %self, ptr %option) {
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

; What that function returns for the arguments in order, with the option among them if it is an
; array; the arguments end with a free place.
define ptr @passed_on(ptr %self, ptr %function, ptr %args, i64 %inputs) {
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
"""

SLOW = (
    "slow:",
    "%python = call ptr @PyTuple_GetItem(ptr %self, i64 FALLBACK)",
    "%answer = call ptr @PyObject_Vectorcall(ptr %python, ptr %args, i64 %count, ptr %keywords)",
    "ret ptr %answer",
    "}",
)
"""The end of an entry: the Python function takes what it does not."""


def arrangement(inputs: int, then: str, memory: Iterable[str]) -> list[str]:
    """Find the arguments: in order as they come, or by name; another kernel may have to take them.

    Goes on with the inputs at %slots and the arrays to write to in %out.
    """
    return [
        "define ptr @entry(ptr %self, ptr %args, i64 %count, ptr %keywords) {",
        "start:",
        f"%own = alloca [{inputs + 2} x ptr]",
        *memory,
        f"%counted = icmp eq i64 %count, {inputs}",
        "%plain = icmp eq ptr %keywords, null",
        "%usual = and i1 %counted, %plain",
        f"br i1 %usual, label %{then}, label %unusual",
        "unusual:",
        "%is_out = call i1 @only_out(ptr %self, ptr %keywords)",
        "%just_out = and i1 %counted, %is_out",
        "br i1 %just_out, label %out_given, label %arrange",
        "out_given:",
        f"%just_out.at = getelementptr ptr, ptr %args, i64 {inputs}",
        "%just_out.value = load ptr, ptr %just_out.at",
        "%just_out.none = icmp eq ptr %just_out.value, @armlet_none",
        "%just_out.given = select i1 %just_out.none, ptr null, ptr %just_out.value",
        f"br label %{then}",
        "arrange:",
        "%arranged = call i1 @arranged(ptr %self, ptr %args, i64 %count, ptr %keywords, "
        f"i64 {inputs}, ptr %own)",
        "br i1 %arranged, label %optional, label %slow",
        "optional:",
        f"%own.out.at = getelementptr ptr, ptr %own, i64 {inputs}",
        "%own.out = load ptr, ptr %own.out.at",
        "%option.at = getelementptr ptr, ptr %own.out.at, i64 1",
        "%option = load ptr, ptr %option.at",
        "%no_option = icmp eq ptr %option, null",
        f"br i1 %no_option, label %{then}, label %other",
        "other:",
        "%chosen = call ptr @chosen(ptr %self, ptr %option)",
        "%none_chosen = icmp eq ptr %chosen, null",
        "br i1 %none_chosen, label %slow, label %pass_on",
        "pass_on:",
        f"%passed_on = call ptr @passed_on(ptr %self, ptr %chosen, ptr %own, i64 {inputs})",
        "ret ptr %passed_on",
    ]


def dispatcher(inputs: int) -> str:
    """The text of an @entry without a kernel, which calls others by the option given."""
    return printed([*declared(SHARED), *arrangement(inputs, "slow", ()), *SLOW], "float64")
