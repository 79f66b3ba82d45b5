// Package nftdiffer compares the tool nft of fakenft with the real one.
//
// A session is a sequence of runs of nft in one network namespace, and what is listed at its end: as text with handles, and as JSON. Both
// sides must give the same bytes on standard output and standard error, and the same exit status.
//
// The files in testdata/sessions are sessions of people: good ones, odd ones, broken ones. What stands there behind "----" is what the real
// tool has said (go test -rewrite with CHAINWALK_KERNEL=1 writes it), and every go test runs them on the fake. Random sessions come from a
// generator with a seed; one that the two do not agree on is shrunk and written as such a file (make kernel-nft). A third of them are
// sessions of people whose words were lost, doubled, exchanged, or replaced by words of others (gendamage.go). The calls that kube-proxy
// made (internal/dumps) are replayed too.
package nftdiffer
