// Package kerneltest is what tests on the real kernel share: the question whether they may, and a network namespace of their own. It is for
// tests only.
//
// They may if CHAINWALK_KERNEL is 1. Then nothing is skipped: who is not root, or lacks a tool, gets a failure that says what to install.
// Without the variable, or with an empty one, the tests are skipped. Any other value is a failure, since nobody
// can tell what it is to mean.
package kerneltest
