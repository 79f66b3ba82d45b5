// Package diagram has decision diagrams whose leaves are distributions: functions from points of a space to how likely each of some
// atoms is.
//
// A node decides one variable by intervals of its values. Variables are decided in the order of their numbers, neighbours that lead to
// the same
// node are one interval, and each node and leaf of a Store exists once. So two functions are the same if and only if their numbers are.
package diagram
