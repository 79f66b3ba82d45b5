// Package parse reads the language of nft 1.0.6: a text becomes commands, or mistakes in the words and at the places of nft.
//
// nft's parser is made of tables: it takes tokens one by one, and it says what it expected only if that is one of at most four tokens. It
// also looks words up by what stands before them ("protocol" is a keyword behind "ip" and a name elsewhere). The parser here descends by
// hand and keeps to both: a function asks for the next token only where nft's does, and names what it expected where nft's does.
package parse
