// Package twin makes variants of a case that must behave like it: with its events in another order, with restarts in between, with the
// other variant of the tools, other names, or addresses of the other family. Package trial runs both and compares the fates of packets.
package twin
