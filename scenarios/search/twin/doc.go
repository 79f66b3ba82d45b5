// Package twin makes of a case others that must come to the same: with its events in another order, with restarts in between, with the
// other variant of the tools, other names, addresses of the other family. Package trial plays both and compares what packets meet.
package twin
