// Package syntax has the elements of the language of nft: the types of data, the headers of protocols, expressions, statements and
// commands, with the places where they were written. It has no behaviour but to look up names: package parse reads text into it, json reads
// and writes JSON, check finds its mistakes and types, compile makes the kernel's expressions of it, decompile makes it of those again, and
// print writes it as nft lists it.
package syntax
