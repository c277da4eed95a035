autocmd BufNewFile,BufRead *.p2 setfiletype p2
autocmd BufNewFile,BufRead *.p2c setfiletype p2c
