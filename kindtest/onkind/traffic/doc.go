// Package traffic changes a cluster while connections go on, and says which of them suffered: a Deployment that is updated, an endpoint
// that goes, a proxier that is replaced, rules that somebody flushes, a node that moves to another zone.
//
// Agents of package probe make the connections without a pause, from before the change until after it. The doc comment of each change says
// what must hold. Nothing is retried: if a connection fails, the change fails.
package traffic
