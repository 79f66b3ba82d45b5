// Package knft has the methods of knftables.Interface (sigs.k8s.io/knftables) over the fake tool nft, so that a program that writes its
// rules by that library is tested without root and without a kernel, and packets walk the rules that it wrote.
//
// Each method runs nft with the arguments and the input that the library runs it with, and returns what the library returns: the same
// objects, and errors with the text of nft, which knftables.IsNotFound and knftables.IsAlreadyExists recognise. The library on the real nft
// is asked for the same in the tests.
//
// Two options of knftables.New are refused, EmulateDestroy and UseNetlink. nft 1.0.6 has no command destroy, so RequireDestroy fails as it
// does there.
package knft
