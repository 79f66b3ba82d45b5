// Package page writes what became of packets as one self-contained HTML page: a trace, and by package report a run of scenarios or a
// search.
//
// A page loads nothing: style and script are in it, and its Content-Security-Policy forbids the rest. It can be read without its script,
// which only folds: every outcome is there, and what is folded by the browser itself can be opened by a key. What would make it too big to
// be opened is left out and said to be.
//
// Pages are made from stories (scenarios/explain/story), so that this package links neither scenarios nor Kubernetes. Everything in them
// was written by others, such as the names of Services and the comments of rules, so all of it goes through package dom.
package page
