// Package traffic changes a cluster while connections go on, and says which of them suffered: a Deployment that is updated, an endpoint
// that goes, a proxier that is replaced, rules that somebody flushes, a node that moves to another zone.
//
// Agents of package probe make the connections without a pause, from before the change until after it. What has to hold is in
// the doc comment of each change. Nothing is retried: a connection that fails fails the change.
package traffic
