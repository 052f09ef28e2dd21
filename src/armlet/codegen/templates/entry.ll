;; entry
; Put the arguments in order, and pass them on where the option selects another entry.
; The code that follows finds the inputs at %slots and the arrays to write to in %out.
define ptr @entry(ptr %self, ptr %args, i64 %count, ptr %keywords) {
start:
%own = alloca [$places x ptr]
$memory
%counted = icmp eq i64 %count, $inputs
%plain = icmp eq ptr %keywords, null
%positional = and i1 %counted, %plain
br i1 %positional, label %$then, label %by_name
by_name:
%is_out = call i1 @only_out(ptr %self, ptr %keywords)
%just_out = and i1 %counted, %is_out
br i1 %just_out, label %out_only, label %arrange
out_only:
%just_out.at = getelementptr ptr, ptr %args, i64 $inputs
%just_out.value = load ptr, ptr %just_out.at
%just_out.none = icmp eq ptr %just_out.value, @armlet_none
%just_out.array = select i1 %just_out.none, ptr null, ptr %just_out.value
br label %$then
arrange:
%arranged = call i1 @arrange(ptr %self, ptr %args, i64 %count, ptr %keywords, i64 $inputs, ptr %own)
br i1 %arranged, label %optional, label %slow
optional:
%own.out.at = getelementptr ptr, ptr %own, i64 $inputs
%own.out = load ptr, ptr %own.out.at
%option.at = getelementptr ptr, ptr %own.out.at, i64 1
%option = load ptr, ptr %option.at
%no_option = icmp eq ptr %option, null
br i1 %no_option, label %$then, label %other
other:
%chosen = call ptr @choose(ptr %self, ptr %option)
%none_chosen = icmp eq ptr %chosen, null
br i1 %none_chosen, label %slow, label %pass_on
pass_on:
%passed_on = call ptr @pass_on(ptr %self, ptr %chosen, ptr %own, i64 $inputs)
ret ptr %passed_on

;; slow
; The end of an entry: pass calls that it does not take on to the Python function.
slow:
%python = call ptr @PyTuple_GetItem(ptr %self, i64 FALLBACK)
%answer = call ptr @PyObject_Vectorcall(ptr %python, ptr %args, i64 %count, ptr %keywords)
ret ptr %answer
}

;; vectorcall
; The entry of a callable object, which holds the tuple until the garbage collector clears it.
define ptr @vectorcall(ptr %callable, ptr %args, i64 %flagged, ptr %keywords) {
start:
%self.at = getelementptr i8, ptr %callable, i64 SLOT
%self = load ptr, ptr %self.at
%dead = icmp eq ptr %self, null
br i1 %dead, label %refuse, label %call
call:
%count = and i64 %flagged, 9223372036854775807
%answer = tail call ptr @entry(ptr %self, ptr %args, i64 %count, ptr %keywords)
ret ptr %answer
refuse:
call void @PyErr_SetNone(ptr @armlet_dead)
ret ptr null
}

;; one_state
; Check whether every input is a contiguous array of one state, as in most calls. @fits makes the
; same check in more instructions.
states:
%slots = phi ptr [ %args, %start ], [ %args, %out_only ], [ %own, %optional ]
%out = phi ptr [ null, %start ], [ %just_out.array, %out_only ], [ %own.out, %optional ]
br label %plain0
$checks
plain$last:
br label %inputs

;; check
plain$k:
%p$k.slot = getelementptr ptr, ptr %slots, i64 $k
%p$k = load ptr, ptr %p$k.slot
%p$k.type = field type of %p$k
%p$k.is_array = icmp eq ptr %p$k.type, @armlet_array_type
br i1 %p$k.is_array, label %array$k, label %several
array$k:
%p$k.rank = field rank of %p$k
%p$k.descriptor = field descriptor of %p$k
%p$k.flags = field flags of %p$k
%p$k.ranked = icmp eq i32 %p$k.rank, $rank
%p$k.typed = icmp eq ptr %p$k.descriptor, @armlet_dtype
%p$k.has = and i32 %p$k.flags, READABLE
%p$k.flagged = icmp eq i32 %p$k.has, READABLE
%p$k.both = and i1 %p$k.ranked, %p$k.typed
%p$k.all = and i1 %p$k.both, %p$k.flagged
br i1 %p$k.all, label %sizes$k, label %several
sizes$k:
%p$k.sizes = field dimensions of %p$k
$sizes
%p$k.data = field data of %p$k
br i1 $right, label %plain$next, label %several

;; size
%p$k.size$d.at = getelementptr i64, ptr %p$k.sizes, i64 $d
%p$k.size$d = load i64, ptr %p$k.size$d.at
%p$k.same$d = icmp eq i64 %p$k.size$d, $size
%p$k.right$d = and i1 $before, %p$k.same$d

;; batch
; Find the number of rows, if the arguments are a batch, and the shape of every array.
several:
%first = load ptr, ptr %slots
%s.rows = call i64 @rows_of(ptr %first, i32 $rank)
%s.batch = icmp sge i64 %s.rows, 0
%axes = zext i1 %s.batch to i32
%unused = select i1 %s.batch, i64 0, i64 1
%s.count = select i1 %s.batch, i64 %s.rows, i64 1
$shapes
%too_many = icmp sgt i64 %s.rows, $most
%not_few = icmp sge i64 %s.rows, $few
%s.many = load ptr, ptr @many_states
%no_many = icmp eq ptr %s.many, null
%not_yet = and i1 %not_few, %no_many
%elsewhere = or i1 %too_many, %not_yet
br i1 %elsewhere, label %slow, label %input0

;; axis
%s.$name.axis$d = getelementptr i64, ptr %$name.axes, i64 $d
store i64 $size, ptr %s.$name.axis$d

;; shape
$axes
%s.$name.shape = getelementptr i64, ptr %$name.axes, i64 %unused
%s.$name.rank = add i32 %axes, $rank
%s.$name.entries = mul i64 %s.count, $size
%s.$name.bytes = mul i64 %s.$name.entries, @BYTES

;; input
; Find the address of an input's numbers: in its array, or in a copy.
input$k:
%s.a$k.slot = getelementptr ptr, ptr %slots, i64 $k
%s.a$k = load ptr, ptr %s.a$k.slot
%s.a$k.fits = call i1 @fits(ptr %s.a$k, i32 READABLE, i32 %s.a$k.rank, ptr %s.a$k.shape)
br i1 %s.a$k.fits, label %direct$k, label %$otherwise
direct$k:
%s.a$k.own = field data of %s.a$k
br label %read$k
$copy
read$k:
%s.a$k.data = phi ptr [ %s.a$k.own, %direct$k ]$copied
br label %input$next

;; copy
indirect$k:
%s.a$k.long = icmp sgt i64 %s.rows, $most
br i1 %s.a$k.long, label %slow, label %copy$k
copy$k:
%s.a$k.copied = call i1 @convert(ptr %s.a$k, i64 %s.rows, i64 $size, ptr %a$k.copy)
br i1 %s.a$k.copied, label %read$k, label %slow

;; take
; Take an array of out=, if it can be written to and overlaps with no other array.
take$k:
%g$k = call ptr @item(ptr %out, i64 $k, i64 $outputs)
%g$k.none = icmp eq ptr %g$k, null
br i1 %g$k.none, label %slow, label %check$k
check$k:
%g$k.fits = call i1 @fits(ptr %g$k, i32 WRITEABLE, i32 %r$k.rank, ptr %r$k.shape)
br i1 %g$k.fits, label %fit$k, label %slow
fit$k:
%g$k.data = field data of %g$k
$others
br i1 $free, label %take$next, label %slow

;; apart
%g$k.apart$j = call i1 @apart(ptr %g$k.data, i64 %r$k.bytes, ptr %$data.data, i64 %$name.bytes)
%g$k.free$j = and i1 $before, %g$k.apart$j

;; single
; Find the array of the only result: that of out=, or a free one.
br label %run
have:
%m0 = call ptr @result(ptr %self, i32 %r0.rank, ptr %r0.shape, i1 %batch)
%m0.failed = icmp eq ptr %m0, null
br i1 %m0.failed, label %failed, label %run
failed:
ret ptr null
run:
%r0 = phi ptr [ %g0, %take1 ], [ %m0, %have ]
%returned = phi ptr [ %g0, %take1 ], [ %m0, %have ]

;; tuple
; Find several results and the tuple that holds them. A tuple that was returned before is used again
; as it is, if it and its arrays are free.
br label %pack
have:
br i1 %batch, label %make0, label %spare0
$spares
$makes
make$outputs:
%reusable = xor i1 %batch, true
br label %pack
pack:
$arrays
%keep = phi i1 [ false, %take$outputs ], [ %reusable, %make$outputs ]
%tuple = call ptr @new_tuple(ptr %self, i64 $outputs)
%tuple.failed = icmp eq ptr %tuple, null
br i1 %tuple.failed, label %failed$outputs, label %fill
failed$outputs:
$unused
ret ptr null
fill:
$set
br i1 %keep, label %keep_tuple, label %run
keep_tuple:
call void @keep(ptr %self, ptr %tuple)
br label %run
run:
$results

;; spare
spare$s:
%t$s = call ptr @spare(ptr %self, i64 $s)
%t$s.none = icmp eq ptr %t$s, null
br i1 %t$s.none, label %$other, label %item$s.0
$items
item$s.$outputs:
call void @Py_IncRef(ptr %t$s)
br label %run

;; item
item$s.$k:
%t$s.$k = call ptr @PyTuple_GetItem(ptr %t$s, i64 $k)
%t$s.$k.free = call i1 @is_free(ptr %t$s.$k, i32 %r$k.rank, ptr %r$k.shape)
br i1 %t$s.$k.free, label %item$s.$next, label %$other

;; make
make$k:
%m$k = call ptr @new_array(i32 %r$k.rank, ptr %r$k.shape)
%m$k.failed = icmp eq ptr %m$k, null
br i1 %m$k.failed, label %failed$k, label %make$next
failed$k:
$undo

;; run
; Run the kernel: on one state, on rows of states at once, or on one row after the other. Other threads
; may run Python meanwhile if there are many rows: the caller, the frame of this function and %self hold
; all that the kernel reads and writes.
$data
br i1 %batch, label %rows_of_states, label %one_state
one_state:
call void @one($pointers)
br label %done
rows_of_states:
%many = load ptr, ptr @many_states
%enough = icmp sge i64 %rows, $lanes
%compiled = icmp ne ptr %many, null
%at_once = and i1 %enough, %compiled
br i1 %at_once, label %all_rows, label %row
all_rows:
%long = icmp sgt i64 %rows, $held
br i1 %long, label %unlocked, label %locked
locked:
call void %many($pointers, i64 0, i64 %rows)
br label %done
unlocked:
%thread = call ptr @PyEval_SaveThread()
call void %many($pointers, i64 0, i64 %rows)
call void @PyEval_RestoreThread(ptr %thread)
br label %done
row:
%i = phi i64 [ 0, %rows_of_states ], [ %i.next, %this ]
%i.next = add i64 %i, 1
%i.more = icmp slt i64 %i, %rows
br i1 %i.more, label %this, label %done
this:
$places
call void @one($here)
br label %row
done:
ret ptr %returned

;; place
%$name.first = mul i64 %i, $size
%$name.here = getelementptr @F, ptr %$name.data, i64 %$name.first
