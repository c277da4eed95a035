" Vim syntax file of p2 programs (*.p2); the grammar is in docs/languages.md.
if exists("b:current_syntax")
  finish
endif

syntax case match
syntax iskeyword @,48-57,_,-,.

syntax match p2Comment "#.*$" contains=@Spell
syntax match p2Number "\<\d\+\>"
syntax match p2Name "\<\h[A-Za-z0-9_-]*\ze\s*="
syntax match p2Delimiter "[;,=(){}]\|\[\|\]"

syntax keyword p2Header hierarchy axes reduce placement devices classes
syntax keyword p2Collective AllReduce ReduceScatter AllGather Reduce Broadcast
syntax keyword p2Form InsideGroup Parallel Master
syntax keyword p2Constant root skip

" Words with a meaning in one header only.
syntax match p2Choice "^\s*\%(synthesis-hierarchy\|dialect\|goal\)\s.*$" contains=p2ChoiceHeader,p2Kind,p2Comment
syntax keyword p2ChoiceHeader contained synthesis-hierarchy dialect goal
syntax keyword p2Kind contained a b c d collapsed lattice
syntax keyword p2Kind contained printed published
syntax keyword p2Kind contained allreduce reducescatter allgather reduce broadcast alltoall

highlight default link p2Comment Comment
highlight default link p2Number Number
highlight default link p2Name Type
highlight default link p2Delimiter Delimiter
highlight default link p2Header Keyword
highlight default link p2ChoiceHeader Keyword
highlight default link p2Collective Function
highlight default link p2Form StorageClass
highlight default link p2Constant Constant
highlight default link p2Kind Constant

let b:current_syntax = "p2"
