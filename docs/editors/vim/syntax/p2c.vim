" Vim syntax file of definitions of collectives (*.p2c); the grammar is in docs/languages.md.
if exists("b:current_syntax")
  finish
endif

syntax case match
syntax iskeyword @,48-57,_

syntax match p2cComment "#.*$" contains=@Spell
syntax region p2cText start=+"+ end=+"+ oneline contains=@Spell
syntax match p2cNumber "\<\d\+\>"
syntax match p2cOperator "!=\|<=\|>=\|[<>=+*/%-]"
syntax match p2cDelimiter "[(),:]"

syntax keyword p2cClause collective let ensure measure traffic of
syntax keyword p2cClause require nextgroup=p2cPremise skipwhite
syntax match p2cPremise "\h[A-Za-z0-9_-]*" contained
syntax keyword p2cQuantifier forall exists count sum in
syntax keyword p2cDomain group chunks contributors
syntax keyword p2cLogic iff implies or and not
syntax keyword p2cConstant true false n k
syntax match p2cState "\<s\>'\="

highlight default link p2cComment Comment
highlight default link p2cText String
highlight default link p2cNumber Number
highlight default link p2cOperator Operator
highlight default link p2cDelimiter Delimiter
highlight default link p2cClause Keyword
highlight default link p2cPremise Label
highlight default link p2cQuantifier Statement
highlight default link p2cDomain Type
highlight default link p2cLogic Operator
highlight default link p2cConstant Constant
highlight default link p2cState Function

let b:current_syntax = "p2c"
