// Package kerneltest is what tests of package proxier on a real kernel share:
// a network namespace of their own, tools, and the loss of a privilege. It is
// for tests only.
package kerneltest
