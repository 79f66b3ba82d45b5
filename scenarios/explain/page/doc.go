// Package page writes the fates of packets as one self-contained HTML page: a trace, and by package report a run of scenarios or a search.
//
// A page loads nothing: style and script are in it, and its Content-Security-Policy forbids the rest. It can be read without its script,
// which only folds: every outcome is there, and what is folded by the browser itself can be opened by a key. If a page would be too large
// to open, parts are left out, and it says so.
//
// Pages are made from stories (scenarios/explain/story), so that this package links neither scenarios nor Kubernetes. Their texts come from
// other people and programs, such as the names of Services and the comments of rules, so all of them go through package dom.
package page
